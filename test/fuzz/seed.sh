#!/usr/bin/env bash
# Fills FOLDER with what attnc_fuzzer starts from: each function of the tests and examples, without comments.
set -euo pipefail
folder=$(realpath -m "${1:?expected a folder for the corpus}")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

mkdir -p "$folder"
git ls-files 'test/*.mlir' 'examples/*.mlir' | while read -r file; do
  # Comments and whole-line check patterns only dilute the mutations; // ----- separates the cases of a file.
  awk -v prefix="$folder/$(tr '/.' '--' <<<"$file")" '
    /^\/\/ -----/ { part++; next }
    /^ *\/\// || /^ *$/ { next }
    { print > (prefix "-" part + 0) }' "$file"
done
