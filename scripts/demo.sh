#!/usr/bin/env bash
# The main job on a real input: an IR file to an object and its header, checked against the reference and timed
# against the same chain unfused.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

kernel=examples/chain.mlir
# The same sizes, as attnc bench takes them.
problem="b1 hq8 sq1024 d64 f32 causal=top_left"
attnc=build/release/bin/attnc
folder=build/demo

scripts/setup.sh
mkdir -p "$folder"

printf '\n== The input: %s\n' "$kernel"
grep -v -E '^// ?(RUN:|CHECK|$)' "$kernel"

printf '\n== The kernel\n'
"$attnc" "$kernel" -o "$folder/attention.o" --header="$folder/attention.h" --manifest="$folder/attention.json"
for file in "$folder"/attention.{o,h,json}; do
  printf '%s  %s bytes\n' "$file" "$(stat -c %s "$file")"
done

printf '\n== Against the reference in f64, on random inputs\n'
"$attnc" run "$kernel" --check

printf '\n== Against the unfused chain, one thread\n'
"$attnc" bench --problem="$problem" --unfused --threads=1
