#!/usr/bin/env bash
# scripts/build-arm-runner.sh: the runtime and attn-runner for 64-bit Arm Linux, by Debian's cross compiler, in build/arm:
#   libattn_runtime.a   what objects with a parallel loop link
#   attn-runner         what attnc run --runner calls under qemu-aarch64
#   count.so            a plugin of qemu-aarch64, for this machine
#   libattn_runtime.so  the same for libraries of --emit=shared, which look for it beside themselves
#   runner              attn-runner as a command: qemu-aarch64 with all instructions it has, or with what is in front
#   counting-runner     the same on one thread; prints how many instructions the kernel has executed
# A second run compiles again what has changed. scripts/setup.sh --arm installs the packages first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
compiler=aarch64-linux-gnu-gcc
for program in "$compiler" clang-22 qemu-aarch64; do
  if ! command -v "$program" >/dev/null; then
    echo "error: expected $program, found none; run scripts/setup.sh --arm" >&2
    exit 1
  fi
done
folder=build/arm
mkdir -p "$folder/include/dlpack"
cp /usr/include/dlpack/dlpack.h "$folder/include/dlpack/"
# Not those for GPUs: what attnc of this machine makes for one has this machine's architecture as its host.
sources=(CheckArguments Library ParallelFor ProcessThreads Processor)
flags=(-std=gnu11 -O2 -fPIC -fopenmp -Wall -Wextra -Iinclude "-I$folder/include")
objects=()
for source in "${sources[@]}"; do
  object=$folder/$source.o
  objects+=("$object")
  "$compiler" "${flags[@]}" -c "runtime/$source.c" -o "$object"
done
rm -f "$folder/libattn_runtime.a"
aarch64-linux-gnu-ar rcs "$folder/libattn_runtime.a" "${objects[@]}"
# The kernels that it loads take the parallel loop and functions of libm from it.
"$compiler" "${flags[@]}" -rdynamic tools/attn-runner/attn-runner.c "${objects[@]}" -Wl,--no-as-needed -lm -ldl \
  -o "$folder/attn-runner"
"$compiler" -shared -fopenmp "${objects[@]}" -o "$folder/libattn_runtime.so"
clang-22 -std=gnu11 -O2 -Wall -Wextra -shared -fPIC tools/attn-runner/count.c -o "$folder/count.so"
# Two scripts: how qemu-aarch64 is called is a part of each.
for name in runner counting-runner; do
  plugin=
  if [[ $name == counting-runner ]]; then
    plugin='-E OMP_NUM_THREADS=1 -plugin "$(dirname "$0")/count.so,library=$1" '
  fi
  cat >"$folder/$name" <<RUNNER
#!/bin/sh
# LIBRARY.so ENTRY CALL; QEMU_CPU says which processor it is (QEMU's own variable).
exec qemu-aarch64 -cpu "\${QEMU_CPU:-max}" $plugin-L /usr/aarch64-linux-gnu "\$(dirname "\$0")/attn-runner" "\$@"
RUNNER
  chmod +x "$folder/$name"
done
