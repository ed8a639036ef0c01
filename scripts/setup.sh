#!/usr/bin/env bash
# Installs what attn needs, makes build/venv, configures the release preset and builds in it what users run: tools,
# libraries, the plugin. `scripts/setup.sh TARGET…` builds these targets of ninja instead: `all` is everything.
#   --frameworks   makes build/frameworks too, an environment with PyTorch, JAX and transformers (4 minutes, 6 GB)
#   --sass         makes build/sass too: nvdisasm, which counts of machine code need (scripts/ptxas-table.py --counts; 6 MB)
#   --mpi          installs Open MPI too, for examples/mpi and the tests that start several processes with mpirun (60 MB)
#   --arm          installs a cross compiler and qemu-user too, and makes build/arm: what runs kernels for 64-bit Arm here
#   --riscv        the same for 64-bit RISC-V, in build/riscv
# Each step is skipped where it is done already, so a second run takes seconds and needs no network.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The compilers (g++ is the system's, for the examples), LLVM/MLIR with what find_package(MLIR) and find_package(LLD) ask
# for, and what the tests need.
packages=(
  cmake ninja-build g++ clang-22 lld-22 clang-format-22 libomp-22-dev libclang-rt-22-dev
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools liblld-22-dev zlib1g-dev libzstd-dev
  libdlpack-dev libgtest-dev libbenchmark-dev python3-dev python3-venv
)
# What --arm adds.
arm_packages=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross libgomp1-arm64-cross qemu-user)
# What --riscv adds.
riscv_packages=(gcc-riscv64-linux-gnu libc6-dev-riscv64-cross libgomp1-riscv64-cross qemu-user)
# What --mpi adds.
mpi_packages=(openmpi-bin libopenmpi-dev)
max_jobs=2

# Prints the packages that are not installed.
missing_packages() {
  local package
  for package in "${packages[@]}"; do
    if [[ $(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null) != "ii "* ]]; then
      echo "$package"
    fi
  done
}

install_packages() {
  local missing removed as_root=()
  if ! command -v dpkg-query >/dev/null; then
    echo "error: expected a Debian system, found no dpkg-query; install what these packages hold: ${packages[*]}" >&2
    exit 1
  fi
  mapfile -t missing < <(missing_packages)
  if [[ ${#missing[@]} -eq 0 ]]; then
    return
  fi
  if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
      echo "error: packages are missing, and neither root nor sudo is there to install them; run as root:" >&2
      echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  echo "setup: installing ${missing[*]}"
  # One unreachable source is no reason to stop: whether the packages are there, the next command says.
  "${as_root[@]}" apt-get update -q || true
  # Debian has one libomp-…-dev at a time, and apt-get -y takes another one away without a word.
  mapfile -t removed < <(apt-get install --simulate --no-install-recommends "${missing[@]}" | sed -n 's/^Remv \([^ ]*\).*/\1/p')
  if [[ ${#removed[@]} -ne 0 ]]; then
    echo "setup: removing ${removed[*]}, which Debian does not allow beside these"
  fi
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"; then
    echo "error: apt-get could not install ${missing[*]}; LLVM 22.1 is in Debian 12 (security) and later" >&2
    exit 1
  fi
}

# make_venv FOLDER GROUP…: an environment with the dependencies of pyproject.toml and of these of its groups. The
# requirements stand there alone; the copy in the environment says which of them are installed.
make_venv() {
  local folder=$1 python=$1/bin/python stamp=$1/requirements.txt wanted
  shift
  if ! [[ -x $python ]]; then
    python3 -m venv "$folder"
  fi
  wanted=$("$python" -c '
import sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
print(*project["dependencies"], *sum((project["optional-dependencies"][x] for x in sys.argv[1:]), []), sep="\n")' "$@")
  if [[ $wanted != "$(cat "$stamp" 2>/dev/null)" ]]; then
    echo "$wanted" >"$stamp.new"
    "$python" -m pip install --quiet --disable-pip-version-check --requirement "$stamp.new"
    mv "$stamp.new" "$stamp"
  fi
  echo "$PWD/python" >"$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/attn.pth"
}

build_release() {
  local jobs targets=("$@")
  jobs=$(nproc)
  if [[ ${#targets[@]} -eq 0 ]]; then
    targets=(attn_product)
  fi
  if ! [[ -f build/release/build.ninja ]]; then
    cmake --preset release
  fi
  ninja -C build/release -j "$((jobs < max_jobs ? jobs : max_jobs))" "${targets[@]}"
}

with_frameworks=false
with_sass=false
with_arm=false
with_riscv=false
with_mpi=false
targets=()
for argument in "$@"; do
  case "$argument" in
    --frameworks) with_frameworks=true ;;
    --sass) with_sass=true ;;
    --arm) with_arm=true ;;
    --riscv) with_riscv=true ;;
    --mpi) with_mpi=true ;;
    --*)
      echo "error: expected --frameworks, --sass, --arm, --riscv, --mpi or targets of ninja, found '$argument'" >&2
      exit 2
      ;;
    *) targets+=("$argument") ;;
  esac
done

if $with_arm; then
  packages+=("${arm_packages[@]}")
fi
if $with_riscv; then
  packages+=("${riscv_packages[@]}")
fi
if $with_mpi; then
  packages+=("${mpi_packages[@]}")
fi
install_packages
make_venv build/venv plot test wheel lint mlir
# Beside the build: pip is busy with one core for minutes.
frameworks_job=
if $with_frameworks; then
  make_venv build/frameworks frameworks &
  frameworks_job=$!
fi
if $with_sass; then
  make_venv build/sass sass
fi
if $with_arm; then
  scripts/build-runner.sh arm
fi
if $with_riscv; then
  scripts/build-runner.sh riscv
fi
build_release "${targets[@]}"
if [[ -n $frameworks_job ]]; then
  wait "$frameworks_job"
  # Configured before PyTorch's headers were there, a build has no target attn_torch.
  if grep -q '^TORCH_STABLE_INCLUDE_DIR:.*NOTFOUND' build/release/CMakeCache.txt; then
    cmake --preset release
    ninja -C build/release attn_torch
  fi
fi
