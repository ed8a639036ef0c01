#!/usr/bin/env bash
# check_readme.sh FOLDER: in FOLDER, which stands for a fresh clone after scripts/demo.sh, runs the commands of README.md as
# they are there, with a prefix of its own for /opt/attn, by the system's compiler.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=$1
rm -rf "$folder"
mkdir -p "$folder/build"
cd "$folder"
for entry in "$root"/*; do
  if [[ ${entry##*/} != build ]]; then
    ln -s "$entry" .
  fi
done
ln -s "$root"/build/{release,venv} build
export XDG_CACHE_HOME=$folder/cache

# What README.md leaves to its reader: a model with a node NODE, a file of problem lines.
build/venv/bin/python -c '
from onnx import TensorProto, helper, save
types = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2, 9, 8]) for name in "QKVY"]
node = helper.make_node("Attention", ["Q", "K", "V"], ["Y"], name="NODE")
graph = helper.make_graph([node], "graph", types[:3], types[3:])
save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)]), "model.onnx")'
echo "hq2 sq9 d8" >lines.txt

# Without the scripts that build and test all, and with less time for what would take more of it.
sed -e '/^\$ scripts\/\(demo\|test\)\.sh/d' -e "s|/opt/attn|$folder/opt|" -e 's/--budget=30/--budget=1/' \
  README.md >page.md
build/venv/bin/python "$root/test/Tools/Inputs/run_page.py" page.md

# This build may have more than attn_product, which is what demo.sh makes: of that alone all that is installed must come.
names() { sed 's|.*/||' | sort -u; }
comm -12 <(find opt -type f | names) \
  <(ninja -C build/release -t targets all | grep -v -E ': (phony|RERUN_CMAKE)$' | cut -d: -f1 | names) >built.txt
left_out=$(ninja -C build/release -t commands attn_product | tr -s ' ' '\n' | names | comm -23 built.txt -)
if ! [[ -s built.txt && -z $left_out ]]; then
  printf 'error: expected attn_product to build all that is installed, found it without\n%s\n' "$left_out" >&2
  exit 1
fi

# Of a build that lacks a part, nothing is installed.
sed 's|set(files "|&missing.a;|' build/release/cmake_install.cmake >incomplete.cmake
if cmake -DCMAKE_INSTALL_PREFIX="$folder/half" -P incomplete.cmake >incomplete.txt 2>&1 || [[ -e half ]]; then
  echo "error: expected cmake --install of a build without missing.a to end before it copies anything, found half" >&2
  exit 1
fi
grep -F 'expected missing.a, found none' incomplete.txt
