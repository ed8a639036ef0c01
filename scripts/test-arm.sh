#!/usr/bin/env bash
# test-arm.sh [ARGUMENT…]: the Python package on 64-bit Arm, by qemu-aarch64. Makes the wheel for Arm (scripts/wheel.sh --arm),
# installs it in build/arm64/site beside NumPy and pytest of aarch64, and runs attnc, kernels and tests that start no
# program with it; or `pytest ARGUMENT…`. There is no CMake in it: what is built runs there, what builds it runs here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$PWD/build/arm64
site=$folder/site
tests=(backward_captures dynamic foreign nesting positions scale strided unfused weights wide_results)

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

# Runs Python there. -I and an environment would name this machine's packages.
arm_python() {
  qemu-aarch64 -cpu max -L "$folder/root" -E PYTHONPATH="$site" -E PYTHONDONTWRITEBYTECODE=1 "$folder/root/usr/bin/python3" "$@"
}
if [[ $# -eq 0 ]]; then
  arm_python -m attn --version
  arm_python -m attn run --problem="b2 hq4 sq33 d16 causal=top_left" --check
  arm_python test/package/use_wheel.py "$site"
  set -- "${tests[@]/#/test/python/test_}"
  set -- "${@/%/.py}"
fi
arm_python -m pytest -q -p no:cacheprovider --override-ini=pythonpath=test/python "$@"
