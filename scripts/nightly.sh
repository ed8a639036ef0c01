#!/usr/bin/env bash
# A minute of each small fuzzer, the tests with every combination of their parameters, words and faults that are planted,
# all problem lines of GPUs for sm_90a, then the test suite as on lesser processors, on 64-bit Arm and kernels for
# RISC-V where scripts/setup.sh --arm and --riscv have been, and under AddressSanitizer and UndefinedBehaviorSanitizer.
# Arguments go to ctest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh all
if ! [[ -f build/asan/build.ninja ]]; then
  cmake --preset asan
fi
jobs=$(nproc)
jobs=$((jobs < 2 ? jobs : 2))
cmake --preset release -B build/fuzzers -DATTN_BUILD_FUZZERS=ON
ninja -C build/fuzzers -j "$jobs" npy_fuzzer onnx_fuzzer problem_fuzzer
for fuzzer in npy onnx problem; do
  "build/fuzzers/bin/${fuzzer}_fuzzer" -max_total_time=60 -max_len=4096
done
ninja -C build/release -j "$jobs" attnc attn-ptx-run
if ! command -v chromium > /dev/null; then
  apt-get install -y chromium # for test_explain.py
fi
scripts/test.sh --products "$@"
scripts/planted.sh
scripts/plant-faults.py --target=sm_80 --sample=6
scripts/plant-faults.py --target=sm_90a --sample=4
if LD_PRELOAD=$PWD/build/release/lib/libprocessor_x86-64-v3.so env true; then
  scripts/test.sh --host=x86-64-v3 "$@"
  scripts/test.sh --host=x86-64-v2 "$@"
else
  echo "nightly: the suite does not run as on lesser processors"
fi
# run_matrix KIND COUNT TARGET PROCESSOR, as qemu names it: the length of its vectors is one of its own.
run_matrix() {
  QEMU_CPU=$4 scripts/matrix.py --runner="build/$1/runner" --jobs="$jobs" --count="$2" --target="$3"
}
if [[ -d build/arm ]]; then
  scripts/test-arm.sh
  run_matrix arm 2000 neoverse-v2+nosve max,sve=off
  run_matrix arm 500 neoverse-v2 max,sve128=on,sve256=off
  run_matrix arm 500 neoverse-v1+sve256 max,sve256=on,sve512=off
  run_matrix arm 500 armv8.2-a+sve512+bf16+i8mm max,sve512=on
fi
if [[ -d build/riscv ]]; then
  run_matrix riscv 500 rva23 rva23u64
  run_matrix riscv 250 rva23+zvl256b max,vlen=256
  run_matrix riscv 250 rv64gcv+zvfh+zvl512b max,vlen=512
fi
if command -v node >/dev/null; then
  for target in wasm32 wasm32+relaxed-simd; do
    scripts/matrix.py --runner=tools/attn-runner/attn-runner.mjs --jobs="$jobs" --count=250 --target="$target"
  done
fi
ninja -C build/asan -j "$jobs"
exec ctest --preset asan "$@"
