#!/usr/bin/env bash
# cross-arm.sh [TARGET…]: builds the project for 64-bit Arm Linux on this machine, in build/arm64:
#   root/   Debian's arm64 packages of LLVM, MLIR, OpenMP and Python (2.4 GB), unpacked, not installed
#   cmake/  the build, of attn_product or of these targets of ninja
# Each step is skipped where it is done already. scripts/setup.sh --arm installs what it needs beside the compilers: qemu.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$PWD/build/arm64
root=$folder/root
max_jobs=2
if ! command -v qemu-aarch64 >/dev/null; then
  echo "error: expected qemu-aarch64, found none; run scripts/setup.sh --arm" >&2
  exit 1
fi

# The libraries' own version of GCC's is the one of the C++ headers.
gcc=$(dpkg-query -W -f='${Version}' libstdc++6 | cut -d. -f1)
packages=(
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools liblld-22-dev libomp-22-dev libclang-rt-22-dev
  libc6-dev "libgcc-$gcc-dev" "libstdc++-$gcc-dev" zlib1g-dev libzstd-dev libxml2-dev libedit-dev libcurl4-openssl-dev
  libdlpack-dev libgtest-dev libgmock-dev libbenchmark-dev python3
)

# An apt of its own: the system's sources and keys, the other architecture, no state shared with the system's.
arm_apt() {
  apt-get -q -o "Dir::State=$folder/apt/state" -o "Dir::State::status=$folder/apt/status" -o "Dir::Cache=$folder/apt/cache" \
    -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Install-Recommends=0 -o APT::Sandbox::User=root "$@"
}

unpack_packages() {
  local package program
  mkdir -p "$folder"/apt/{state/lists/partial,cache/archives/partial}
  : >"$folder/apt/status"
  arm_apt update || true # one unreachable source is no reason to stop
  arm_apt install --yes --download-only "${packages[@]}"
  rm -rf "$root.new"
  mkdir -p "$root.new"
  for package in "$folder"/apt/cache/archives/*.deb; do
    dpkg-deb --extract "$package" "$root.new"
  done
  rm -rf "$folder/apt"
  # Links to absolute paths are to be within the root.
  find "$root.new" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
    ln -sfn --relative "$root.new$(readlink "$link")" "$link"
  done
  # What the build runs is this machine's.
  for program in mlir-tblgen llvm-tblgen; do
    ln -sf "$(llvm-config-22 --bindir)/$program" "$root.new/usr/lib/llvm-22/bin/$program"
  done
  rm -rf "$root"
  mv "$root.new" "$root"
}

if ! [[ -d $root ]]; then
  unpack_packages
fi

if ! [[ -f $folder/cmake/build.ninja ]]; then
  cmake -S . -B "$folder/cmake" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/DebianArm64.cmake"
fi
targets=("$@")
if [[ ${#targets[@]} -eq 0 ]]; then
  targets=(attn_product)
fi
jobs=$(nproc)
ninja -C "$folder/cmake" -j "$((jobs < max_jobs ? jobs : max_jobs))" "${targets[@]}"
