//===- ExplainStyle.h - style and script of a page --------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_EXPLAINSTYLE_H
#define ATTN_TOOLS_ATTNC_EXPLAINSTYLE_H

#include "llvm/ADT/StringRef.h"

namespace attn::driver {

/// Light and dark by the reader's preference; columns of phases side by side where there is room. Printed, all is open.
constexpr llvm::StringLiteral kPageStyle = R"css(
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --paper: #ffffff; --card: #f5f7f9; --line: #d0d7de;
  --accent: #0b5cad; --full: #1f6fb2; --partial: #f2a65a; --skipped: #e8ebee; --new: #d9f2df; --missed: #a63b00; --hit: #fff3b0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #a3adb8; --paper: #0f141a; --card: #182029;
  --line: #35404b; --accent: #7ab8ff; --full: #4c9be0; --partial: #c97a2b; --skipped: #252e38; --new: #17402a;
  --missed: #ffab7a; --hit: #5a4d00; } }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
header, main, footer { max-width: 76rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1rem 0 .3rem; overflow-wrap: anywhere; }
a { color: var(--accent); } a:focus-visible, summary:focus-visible, [tabindex]:focus-visible { outline: 2px solid var(--accent); }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1rem; padding: 0; }
code, pre { font: .8rem/1.45 ui-monospace, monospace; }
pre { margin: 0; padding: .5rem; overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 4px; }
table { border-collapse: collapse; margin: .5rem 0; } .scroll { overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--soft); } td.number { text-align: right; font-variant-numeric: tabular-nums; }
td:last-child { overflow-wrap: anywhere; }
.note { color: var(--soft); } .missed { color: var(--missed); font-weight: 600; }
.refused { border-left: 4px solid var(--missed); padding-left: .8rem; }
svg { display: block; width: 100%; height: auto; margin: .5rem 0; }
.full { fill: var(--full); } .partial { fill: var(--partial); } .skipped { fill: var(--skipped); }
.grid { stroke: var(--paper); stroke-width: .5; fill: none; } .mask g:hover rect { stroke: var(--ink); stroke-width: 1; }
.key span { display: inline-block; width: .9rem; height: .9rem; margin: 0 .3rem 0 .8rem; vertical-align: -.1rem; }
.key .full { background: var(--full); } .key .partial { background: var(--partial); } .key .skipped { background: var(--skipped); }
.mix { height: 1rem; max-width: 40rem; } .mix .other { fill: var(--skipped); } .mix .fma, .mix .dot, .mix .product { fill: var(--full); }
.mix .load, .mix .store, .mix .shared, .mix .copy { fill: var(--partial); } .mix .shuffle, .mix .convert, .mix .float { fill: var(--soft); } .mix .call, .mix .function, .mix .branch { fill: var(--missed); }
.roofline { max-width: 36rem; } .roof { stroke: var(--ink); fill: none; stroke-width: 1.5; } .roofline circle { fill: var(--missed); }
.timeline { min-width: 32rem; max-width: 48rem; } .timeline .copy { fill: var(--partial); } .timeline .product { fill: var(--full); }
.timeline .softmax { fill: var(--soft); } .timeline g:hover rect { stroke: var(--ink); }
.graph { min-width: 34rem; max-width: 56rem; } .edge { stroke: var(--soft); fill: none; } .soft { fill: var(--soft); }
.graph text { font-size: 11px; fill: var(--ink); } .timeline text, .roofline text { font-size: 10px; fill: var(--soft); }
.phases { display: flex; overflow-x: auto; gap: .5rem; scroll-snap-type: x mandatory; }
.phases section { flex: 0 0 min(36rem, 92vw); scroll-snap-align: start; }
.phases pre { max-height: 34rem; overflow: auto; }
.ir span { display: block; white-space: pre; min-height: 1.45em; } .ir .new { background: var(--new); } .ir .hit { background: var(--hit); }
@media print { .phases { display: block; } .phases pre { max-height: none; white-space: pre-wrap; } nav { display: none; } }
)css";

/// Marks the lines of all phases that come from the line of the source under the cursor. The page is whole without it.
constexpr llvm::StringLiteral kPageScript = R"js(
document.querySelectorAll('.ir').forEach(pre => pre.addEventListener('mouseover', event => {
  const line = event.target.dataset && event.target.dataset.line;
  document.querySelectorAll('.ir .hit').forEach(found => found.classList.remove('hit'));
  if (line) document.querySelectorAll('.ir [data-line="' + line + '"]').forEach(found => found.classList.add('hit'));
}));
)js";

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_EXPLAINSTYLE_H
