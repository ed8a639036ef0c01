#!/usr/bin/env bash
# The test suite under AddressSanitizer and UndefinedBehaviorSanitizer. Arguments go to ctest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh
if ! [[ -f build/asan/build.ninja ]]; then
  cmake --preset asan
fi
jobs=$(nproc)
ninja -C build/asan -j "$((jobs < 2 ? jobs : 2))"
exec ctest --preset asan "$@"
