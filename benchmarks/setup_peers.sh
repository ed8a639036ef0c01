#!/usr/bin/env bash
# Makes build/peers, the virtual environment of benchmarks/compare.py. PyPI's torch brings CUDA's libraries along, without
# which it cannot be imported: about 7 GB in all.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=build/peers/bin/python
if ! [[ -x $python ]]; then
  python3 -m venv build/peers
fi
grep -v '^#' benchmarks/peers/requirements.txt | while read -r package; do
  if ! "$python" -m pip install --quiet --disable-pip-version-check "$package"; then
    echo "setup_peers: without $package, which pip could not install" >&2
  fi
done
