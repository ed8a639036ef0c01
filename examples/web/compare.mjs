// node compare.mjs MODULE.wasm…: what the page shows, in node.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { setFlagsFromString } from "node:v8";
import { compare, problem } from "./attention.mjs";

// Node 20 has relaxed vectors behind a flag.
if (parseFloat(process.versions.v8) < 11.4) setFlagsFromString("--experimental-wasm-relaxed-simd");

const modules = Object.fromEntries(process.argv.slice(2).map((path) => [basename(path, ".wasm"), readFileSync(path)]));
console.log(`${problem}, f32, one thread`);
for (const { name, best, median, speed, difference } of compare(modules, 5))
  console.log(
    `${name}: best ${best.toFixed(2)} ms, median ${median.toFixed(2)} ms, ${speed.toFixed(1)} x JavaScript, ` +
      `difference ${difference.toExponential(1)}`,
  );
