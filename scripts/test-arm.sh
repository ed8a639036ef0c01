#!/usr/bin/env bash
# test-arm.sh [ARGUMENT…]: attn on 64-bit Arm, by qemu-aarch64. Builds it (scripts/cross-arm.sh) and its wheel for Arm
# (scripts/wheel.sh --arm) and installs that in build/arm64/site beside NumPy and pytest of aarch64. Then it runs
# GoogleTest's tests; attnc, whose code is to be that of this machine's; kernels of the wheel; and those tests of pytest that
# start no program, GPU kernels on the emulated driver among them. With arguments it runs `pytest ARGUMENT…` alone.
# Half an hour on two cores, of which the first build is a third.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$PWD/build/arm64
site=$folder/site
host_attnc=$PWD/build/release/bin/attnc
tests=(backward_captures dynamic foreign nesting positions scale strided unfused wide_results)

scripts/cross-arm.sh attn_product attn_unit_tests attn_compiler_tests attn_capi_tests cuda_emulator
scripts/wheel.sh --arm "$folder/dist"
version=$(qemu-aarch64 -L "$folder/root" "$folder/root/usr/bin/python3" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
mapfile -t wanted < <(build/venv/bin/python -m pip freeze | grep -E '^(numpy|pytest|hypothesis|ml_dtypes|onnx)==')
install=(build/venv/bin/python -m pip install --quiet --disable-pip-version-check --target "$site" --python-version "$version"
  --only-binary=:all: --platform=manylinux_2_{17,27,28,34,36}_aarch64)
if [[ "${wanted[*]}" != "$(cat "$site/requirements.txt" 2>/dev/null)" ]]; then
  rm -rf "$site"
  "${install[@]}" "${wanted[@]}"
  echo "${wanted[*]}" >"$site/requirements.txt"
fi
"${install[@]}" --upgrade --no-deps "$folder"/dist/attn-*_aarch64.whl

# Tests look for the build in their checkout.
rm -rf "$folder/checkout"
mkdir -p "$folder/checkout/build"
cp -r pyproject.toml test "$folder/checkout"
ln -sfn "$folder/cmake" "$folder/checkout/build/release"
cd "$folder/checkout"

# Runs a program there, on a processor with all that qemu has.
arm() {
  qemu-aarch64 -cpu max -L "$folder/root" -E PYTHONPATH="$site" -E PYTHONDONTWRITEBYTECODE=1 "$@"
}
if [[ $# -eq 0 ]]; then
  for kind in unit capi compiler; do
    arm "build/release/bin/attn_${kind}_tests" --gtest_brief=1
  done
  # The code is that of attnc on this machine.
  for target in neoverse-v2 x86-64-v4 x86-64-v2,x86-64-v3 sm_90a; do
    options=(--problem="hq4 hkv2 sq113 sk203 d64 bf16 causal=bottom_right out=lse" --target="$target" --emit=obj)
    if [[ $target == sm_* ]]; then
      options[2]=--emit=ptx
    fi
    "$host_attnc" "${options[@]}" -o here
    arm build/release/bin/attnc "${options[@]}" -o there
    cmp here there
  done
  # Each kind of product has a ceiling there.
  arm build/release/bin/attnc bench --ceilings --threads=1 | tee ceilings
  grep -q '^bf16 dot, 1 thread: ' ceilings
  arm "$folder/root/usr/bin/python3" -m attn run --problem="b2 hq4 sq33 d16 causal=top_left" --check
  arm "$folder/root/usr/bin/python3" test/package/use_wheel.py "$site"
  set -- "${tests[@]/#/test/python/test_}"
  set -- "${@/%/.py}" test/python/test_cuda.py::test_{output_is_an_array_of_the_same_library,lse_and_dynamic_sizes}
fi
arm "$folder/root/usr/bin/python3" -m pytest -q -p no:cacheprovider --override-ini=pythonpath=test/python "$@"
