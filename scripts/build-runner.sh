#!/usr/bin/env bash
# scripts/build-runner.sh arm|riscv: the runtime and attn-runner for 64-bit Arm or RISC-V Linux, by Debian's cross compiler,
# in build/arm or build/riscv:
#   libattn_runtime.a   what objects with a parallel loop link
#   attn-runner         what attnc run --runner calls under qemu-user
#   libattn_runtime.so  the same for libraries of --emit=shared, which look for it beside themselves
#   runner              attn-runner as a command: qemu-user with all instructions it has, or with what is in front
#   qemu                qemu-user itself: Debian 12's (7.2) has neither Zvfh nor riscv_hwprobe, so for RISC-V it is that of
#                       backports, unpacked
# and for Arm
#   count.so            a plugin of qemu-aarch64, for this machine
#   counting-runner     the runner on one thread; prints how many instructions the kernel has executed
# A second run compiles again what has changed. scripts/setup.sh --arm or --riscv installs the packages first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
kind=${1:-}
case $kind in
  arm) architecture=aarch64 ;;
  riscv) architecture=riscv64 ;;
  *)
    echo "error: expected arm or riscv, found '$kind'" >&2
    exit 2
    ;;
esac
compiler=$architecture-linux-gnu-gcc
for program in "$compiler" clang-22 "qemu-$architecture"; do
  if ! command -v "$program" >/dev/null; then
    echo "error: expected $program, found none; run scripts/setup.sh --$kind" >&2
    exit 1
  fi
done
folder=build/$kind
mkdir -p "$folder/include/dlpack"
cp /usr/include/dlpack/dlpack.h "$folder/include/dlpack/"

# The first version that has what kernels for RISC-V use.
needed_qemu=9
backports="deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm-backports main"

# By an apt of its own: the system's stays as it is.
unpack_qemu() {
  local apt=$PWD/$folder/apt
  local options=(-q -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State=$apt/state"
    -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root)
  mkdir -p "$apt"/{state/lists/partial,cache/archives/partial}
  echo "$backports" >"$apt/sources.list"
  : >"$apt/status"
  (cd "$apt" && apt-get "${options[@]}" update && apt-get "${options[@]}" download qemu-user)
  dpkg-deb --fsys-tarfile "$apt"/qemu-user_*.deb | tar --extract --directory "$apt" "./usr/bin/qemu-$architecture"
  mv "$apt/usr/bin/qemu-$architecture" "$folder/qemu"
  rm -rf "$apt"
}

qemu_version=$("qemu-$architecture" --version | sed -n '1s/.*version \([0-9]*\).*/\1/p')
if [[ $kind == arm || $qemu_version -ge $needed_qemu ]]; then
  ln -sf "$(command -v "qemu-$architecture")" "$folder/qemu"
elif ! [[ -x $folder/qemu ]]; then
  unpack_qemu
fi

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
"$architecture-linux-gnu-ar" rcs "$folder/libattn_runtime.a" "${objects[@]}"
# The kernels that it loads take the parallel loop and functions of libm from it.
"$compiler" "${flags[@]}" -rdynamic tools/attn-runner/attn-runner.c "${objects[@]}" -Wl,--no-as-needed -lm -ldl \
  -o "$folder/attn-runner"
"$compiler" -shared -fopenmp "${objects[@]}" -o "$folder/libattn_runtime.so"
# How qemu is called is a part of each script.
names=(runner)
if [[ $kind == arm ]]; then
  clang-22 -std=gnu11 -O2 -Wall -Wextra -shared -fPIC tools/attn-runner/count.c -o "$folder/count.so"
  names+=(counting-runner)
fi
for name in "${names[@]}"; do
  plugin=
  if [[ $name == counting-runner ]]; then
    plugin='-E OMP_NUM_THREADS=1 -plugin "$(dirname "$0")/count.so,library=$1" '
  fi
  cat >"$folder/$name" <<RUNNER
#!/bin/sh
# LIBRARY.so ENTRY CALL; QEMU_CPU says which processor it is (QEMU's own variable).
exec "\$(dirname "\$0")/qemu" -cpu "\${QEMU_CPU:-max}" $plugin-L /usr/$architecture-linux-gnu "\$(dirname "\$0")/attn-runner" "\$@"
RUNNER
  chmod +x "$folder/$name"
done
