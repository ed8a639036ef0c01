#!/usr/bin/env bash
# Builds what benchmarks/gpu/run.py needs on the machine with the GPU, where neither LLVM nor attn is: a folder with a
# library for each problem line (kernels as cubin and PTX, and the launcher in it), its manifest, and the scripts.
#
#   benchmarks/gpu/build.sh FOLDER [TARGET [PROBLEMS]]     sm_90, benchmarks/problems/gpu.txt
#   tar -C FOLDER -c . | ssh HOST 'mkdir -p gpu && tar -C gpu -x && python3 gpu/run.py'
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
folder=${1:?expected a folder to write}
target=${2:-sm_90}
problems=${3:-$root/benchmarks/problems/gpu.txt}
attnc=${ATTNC:-$root/build/release/bin/attnc}
launcher=${LAUNCHER:-$root/build/release/lib/libattn_runtime.a}

mkdir -p "$folder/kernels"
rm -f "$folder"/kernels/*
cp "$here"/*.py "$root/python/attn/reference/_philox.py" "$folder"
number=0
while IFS='#' read -r line label; do
  line=$(xargs <<<"$line")
  [ -n "$line" ] || continue
  stem=$folder/kernels/$(printf '%03d' $number)
  number=$((number + 1))
  "$attnc" --problem="$line" --target="$target" --fail-on-fallback -o "$stem.o" --manifest="$stem.json"
  ${CC:-cc} -shared -fPIC "$stem.o" "$launcher" -ldl -lm -o "$stem.so"
  rm "$stem.o"
  printf '%s\n%s\n' "$line" "$(xargs <<<"$label")" >"$stem.txt"
done <"$problems"
echo "$number kernels for $target in $folder; on the machine with the GPU: python3 run.py"
