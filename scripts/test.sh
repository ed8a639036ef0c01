#!/usr/bin/env bash
# Builds, then runs every test: lit, GoogleTest, pytest, the installed package, the generated documents.
# Arguments go to ctest, as in `scripts/test.sh -R fuse`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh
exec ctest --preset release "$@"
