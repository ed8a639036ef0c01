#!/usr/bin/env bash
# wheel.sh [--arm] [FOLDER]: makes the wheel in FOLDER (dist): LLVM, MLIR and lld linked in, libomp beside it, for any Python
# from 3.11 on and any Linux with this machine's glibc or a later one. Takes the objects of build/release: seconds where it
# is built. With --arm it is the wheel for 64-bit Arm, of scripts/cross-arm.sh's build.
set -euo pipefail
build=build/release root=
if [[ ${1:-} == --arm ]]; then
  build=build/arm64/cmake root=build/arm64/root
  shift
fi
output=$(realpath -m "${1:-$(dirname "${BASH_SOURCE[0]}")/../dist}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
max_bytes=$((150 * 1024 * 1024))

if ! [[ -x build/venv/bin/auditwheel && -f build/release/build.ninja ]]; then
  scripts/setup.sh
fi
if [[ -n $root ]]; then
  scripts/cross-arm.sh attn_python
  export _PYTHON_HOST_PLATFORM=linux-aarch64 # the wheel's tag
else
  ninja -C "$build" attn_python
fi

# A project of the package alone, whose native part is built already.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/project/python"
cp pyproject.toml LICENSE "$work/project"
cp -r python/attn "$work/project/python"
find "$work/project/python" -name __pycache__ -prune -exec rm -r {} +
# Also the licences of what is linked in and lies beside it, as the Debian packages of these files have them.
openmp=$(realpath "$(sed -n 's/^OpenMP_omp_LIBRARY:FILEPATH=//p' "$build/CMakeCache.txt")")
sed -i 's|^license-files = .*|license-files = ["LICENSE", "licences/*"]|' "$work/project/pyproject.toml"
mkdir "$work/project/licences"
# The packages of both architectures have the same files.
dlpack=$(sed -n 's/^DLPACK_INCLUDE_DIR:PATH=//p' "$build/CMakeCache.txt")/dlpack/dlpack.h
for file in "$(llvm-config-22 --libdir)/libLLVMCore.a" /usr/lib/*/libzstd.a "${openmp#"$PWD/$root"}" "${dlpack#"$PWD/$root"}"; do
  package=$(dpkg-query --search "$(realpath "$file")" | cut -d: -f1)
  cp "$root/usr/share/doc/$package/copyright" "$work/project/licences/$package.txt"
done
cmake --install "$build" --component python --prefix "$work/project/python" >/dev/null
build/venv/bin/python -m pip wheel "$work/project" --quiet --disable-pip-version-check --no-deps --no-build-isolation \
  --no-cache-dir --wheel-dir "$work" --config-settings wheel.cmake=false --config-settings wheel.platlib=true

# libomp ends a process in which it finds another one, by a name in shared memory: that of MKL or of conda's PyTorch. Each
# would do no harm to the other, as GNU's does none, and ours is not for others to share: the wheel's has its own name.
mkdir "$work/lib"
LC_ALL=C sed 's/__KMP_REGISTERED_LIB_/__KMP_REGISTERED_ATN_/' "$openmp" >"$work/lib/libomp.so.5"
if cmp --silent "$openmp" "$work/lib/libomp.so.5"; then
  echo "error: expected the name that $openmp registers itself by, found another; mend scripts/wheel.sh" >&2
  exit 1
fi

# What the policy does not let a wheel expect of a system, which is libomp, is copied into it; auditwheel finds the tag.
# PyTorch's library is the program's.
PATH=$PWD/build/venv/bin:$PATH LD_LIBRARY_PATH=$work/lib auditwheel repair "$work"/attn-*.whl --wheel-dir "$work/repaired" \
  --exclude libtorch_cpu.so
wheel=("$work"/repaired/attn-*manylinux*.whl)
bytes=$(stat -c %s "${wheel[0]}")
if ((bytes > max_bytes)); then
  echo "error: expected a wheel of at most $max_bytes bytes, found $bytes: ${wheel[0]##*/}" >&2
  exit 1
fi
mkdir -p "$output"
mv "${wheel[0]}" "$output"
echo "$output/${wheel[0]##*/}: $bytes bytes"
