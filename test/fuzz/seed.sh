#!/usr/bin/env bash
# seed.sh FOLDER [onnx] fills FOLDER with what attnc_fuzzer starts from: each function of the tests and examples,
# without comments; or, for onnx_fuzzer, with the models of attnc-onnx.test and of ONNX's own tests.
set -euo pipefail
folder=$(realpath -m "${1:?expected a folder for the corpus}")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

mkdir -p "$folder"
if [[ ${2-} == onnx ]]; then
  build/venv/bin/python test/Tools/Inputs/onnx_models.py "$folder"
  for model in build/venv/lib/python3.*/site-packages/onnx/backend/test/data/node/test_attention_*/model.onnx; do
    cp "$model" "$folder/$(basename "$(dirname "$model")").onnx"
  done
  exit
fi
git ls-files 'test/*.mlir' 'examples/*.mlir' | while read -r file; do
  # Comments and whole-line check patterns only dilute the mutations; // ----- separates the cases of a file.
  awk -v prefix="$folder/$(tr '/.' '--' <<<"$file")" '
    /^\/\/ -----/ { part++; next }
    /^ *\/\// || /^ *$/ { next }
    { print > (prefix "-" part + 0) }' "$file"
done
