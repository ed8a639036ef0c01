#!/usr/bin/env bash
# Builds a copy of the sources with a mask word and a score function that attn does not have (test/planted/words.patch, by
# the recipes of CONTRIBUTING.md), and runs the tests of every word on it: each road must serve them or refuse them by
# name. A compilation of nearly all of attn.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

environments=$PWD/build copy=$PWD/build/planted
rm -rf "$copy"
mkdir -p "$copy"
git ls-files -z | tar --create --null --files-from=- | tar --extract --directory="$copy"
cd "$copy"
patch --strip=1 --quiet <test/planted/words.patch
"$environments/venv/bin/python" scripts/python-words.py >python/attn/words/_words.py
cmake --preset release
ninja -C build/release -j "$(($(nproc) < 2 ? 1 : 2))" attnc attn-opt attn-ptx-run attn_c
export PYTHONPATH=$copy/python
"$environments/venv/bin/python" -m pytest -q test/python/test_every_word.py
if [[ -d $environments/frameworks ]]; then
  "$environments/frameworks/bin/python" -m pytest -q test/frameworks/test_every_word_on_ranks.py
fi
