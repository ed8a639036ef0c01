#!/usr/bin/env bash
# seed.sh FOLDER [onnx] fills FOLDER with what attnc_fuzzer starts from: each function of the tests and examples,
# without comments; or, for onnx_fuzzer, with the models of attnc-onnx.test and of ONNX's own tests of operators.
set -euo pipefail
folder=$(realpath -m "${1:?expected a folder for the corpus}")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

mkdir -p "$folder"
if [[ ${2-} == onnx ]]; then
  build/venv/bin/python test/Tools/Inputs/onnx_models.py "$folder"
  build/venv/bin/python - "$folder" <<'END'
import sys, warnings
from onnx.backend.test.loader import load_model_tests
warnings.simplefilter("ignore")
for case in load_model_tests(kind="node"):
    if len(model := case.model.SerializeToString()) < 4096:
        open(f"{sys.argv[1]}/{case.name}.onnx", "wb").write(model)
END
  exit
fi
git ls-files 'test/*.mlir' 'examples/*.mlir' | while read -r file; do
  # Comments and whole-line check patterns only dilute the mutations; // ----- separates the cases of a file.
  awk -v prefix="$folder/$(tr '/.' '--' <<<"$file")" '
    /^\/\/ -----/ { part++; next }
    /^ *\/\// || /^ *$/ { next }
    { print > (prefix "-" part + 0) }' "$file"
done
