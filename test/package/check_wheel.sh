#!/usr/bin/env bash
# check_wheel.sh FOLDER: makes the wheel, installs it into a fresh environment in FOLDER, hides the system's LLVM where mount
# namespaces are allowed, and runs kernels; then takes libomp away: `import attn` says so.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=$1
rm -rf "$folder"
mkdir -p "$folder"
"$root/scripts/wheel.sh" "$folder"
wheel=("$folder"/attn-*-py3-none-manylinux_*_x86_64.whl)
"$root/build/venv/bin/auditwheel" show "${wheel[0]}" | grep -F 'is consistent with'

python3 -m venv --without-pip "$folder/venv"
python=$folder/venv/bin/python
"$root/build/venv/bin/python" -m pip --python "$python" install --quiet --disable-pip-version-check --no-index --no-deps \
  "${wheel[0]}"
# NumPy without a network: behind this environment's own packages, that of build/venv, which has no attn of its own.
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$root/build/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$packages/numpy.pth"

# With its licence and those of what is inside.
for name in LICENSE licences/llvm licences/libomp licences/libzstd licences/libdlpack; do
  grep -q -i license "$packages"/attn-*.dist-info/licenses/$name*
done

# Runs its arguments where no file of LLVM, MLIR, lld or OpenMP can be opened.
hide_llvm() {
  unshare --map-root-user --mount bash -c '
    set -euo pipefail
    for folder in /usr/lib/llvm-*; do mount -t tmpfs none "$folder"; done
    for file in /usr/lib/*/lib{LLVM,MLIR,lld,omp,gomp,iomp5,z3}*.so*; do
      if [[ -f $file && ! -L $file ]]; then mount --bind /dev/null "$file"; fi
    done
    exec "$@"' hide_llvm "$@"
}
if hide_llvm true 2>/dev/null; then
  run=(hide_llvm)
else
  run=(env)
  echo "LLVM is not hidden: no mount namespace here; which libraries are loaded is checked all the same"
fi
cd "$folder"
"${run[@]}" "$python" -I "$here/use_wheel.py" "$folder/venv" | grep -Fx 'right; 6 kernels compiled'
"${run[@]}" "$python" -I "$here/use_wheel.py" "$folder/venv" | grep -Fx 'right; 0 kernels compiled'

# attnc, as a program and as the module: it compiles, runs, and links a shared library that Python loads.
attnc=$folder/venv/bin/attnc
"${run[@]}" "$attnc" --version | grep -Fx 'attnc 0.1.0'
"${run[@]}" "$python" -m attn | grep -F 'attnc [subcommand] [options]'
"${run[@]}" "$attnc" run --problem="b2 hq4 sq33 d16 causal=top_left" --check | grep -F 'ok'
if message=$("${run[@]}" "$attnc" --problem="sq33 causal" --stop-after=input 2>&1); then
  echo "error: expected exit code 1 of attnc for a wrong problem line, found 0" >&2
  exit 1
fi
echo "$message" | grep -F 'attnc: error: problem line'
echo "sq? d16 f32" >lines.txt
"${run[@]}" "$attnc" --problems=lines.txt --emit=shared -o libsmall.so --manifest=small.json
"${run[@]}" "$python" -I -c '
import numpy as np, attn
q = np.random.default_rng(3).standard_normal((1, 1, 40, 16), np.float32)
np.testing.assert_allclose(attn.load_library("small.json").sdpa(q, q, q), attn.sdpa(q, q, q), atol=1e-6)
'

# The operator of programs of PyTorch in C++, where PyTorch is: of the wheel's own libattn.so.
if [[ -x $root/build/frameworks/bin/python ]]; then
  "${run[@]}" "$root/build/frameworks/bin/python" -I "$here/use_torch_operator.py" "$packages/attn/libattn_torch.so" |
    grep -Fx 'attn::kernel is right'
fi

# What sessions of ONNX Runtime load, with the wheel's own libattn.so.
"${run[@]}" "$python" -I -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1]).RegisterCustomOps' "$packages/attn/libattn_ort.so"

# A kernel of it in C: the wheel has the headers and the library that this needs.
include=$("${run[@]}" "$python" -I -m attn --include)
[[ $include == "$packages/attn/include" ]]
"${run[@]}" "$attnc" "$root/examples/c/attention.mlir" -o attention.o --header=attention.h
gcc -I. -I"$include" "$root/examples/c/main.c" attention.o -L"$include/.." -lattn_runtime -Wl,-rpath,"$include/.." -o attention
"${run[@]}" ./attention | grep -F 'out = 0.673344 0.670061'
for header in "$include"/attn-c/*.h; do
  gcc -M -I"$include" "$header" | grep -F -e "$include/dlpack/dlpack.h" -e "$include/attn-c/attn_cuda.h"
done

# says PAGE TEXT BYTES: to 5 %, BYTES is the number of MB that stands behind TEXT in a page of ours.
says() {
  if ! sed -n "s/.*$2 \([0-9]*\) MB.*/\1/p" "$root/$1" |
    awk -v bytes="$3" '{ right = $1 * 0.95e6 < bytes && bytes < $1 * 1.05e6 } END { exit !right }'; then
    echo "error: expected '$2' in $1 to say $(($3 / 1000000)) MB" >&2
    exit 1
  fi
}
says README.md 'makes one of' "$(stat -c %s "${wheel[0]}")"
says docs/Using.md 'wheel has' "$(stat -c %s "${wheel[0]}")"
says docs/Using.md 'installed it has' "$(du --summarize --bytes "$packages" | cut -f1)"

# Beside another OpenMP of LLVM, which runs first or last.
for first in theirs ours; do
  "$python" -I - "$first" <<'PROGRAM'
import ctypes, sys
import numpy as np
import attn

def ours():
    q = np.ones((1, 8, 64, 64), np.float32)
    assert (attn.sdpa(q, q, q) == 1).all()

def theirs():
    assert ctypes.CDLL("libomp.so.5").omp_get_max_threads() > 0

attn.set_cache(enabled=False)
for run in (theirs, ours) if sys.argv[1] == "theirs" else (ours, theirs):
    run()
PROGRAM
done

rm "$packages"/attn.libs/libomp*
if message=$("${run[@]}" "$python" -I -c 'import attn' 2>&1); then
  echo "error: expected an ImportError without libomp, found none" >&2
  exit 1
fi
echo "$message" | grep -E 'ImportError: expected libomp\S*, which \S*libattn.so needs, found none; install attn again'
