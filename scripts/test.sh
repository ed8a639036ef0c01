#!/usr/bin/env bash
# Builds what the tests need, then runs them: lit, GoogleTest, pytest, the installed package, the generated documents.
# The tests that need PyTorch, JAX or transformers run where scripts/setup.sh --frameworks has made an environment with them.
#   --quick        lit and GoogleTest alone, and builds what these need
#   --host=LEVEL   as on a processor of that level, x86-64-v2 or x86-64-v3 (test/lib/CappedProcessor)
# Other arguments go to ctest, as in `scripts/test.sh -R fuse`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

targets=(all)
host=
arguments=()
for argument in "$@"; do
  case "$argument" in
    --quick)
      targets=(attn_quick_tests)
      arguments+=(--label-regex '^quick$')
      ;;
    --host=x86-64-v[23]) host=${argument#--host=} ;;
    --host*)
      echo "error: expected --host=x86-64-v2 or --host=x86-64-v3, found '$argument'" >&2
      exit 2
      ;;
    *) arguments+=("$argument") ;;
  esac
done

scripts/setup.sh "${targets[@]}"
if ! [[ -x build/frameworks/bin/python ]]; then
  echo "tests: without build/frameworks the tests in test/frameworks (PyTorch, JAX, transformers) are left out;" \
    "scripts/setup.sh --frameworks makes it"
fi
if [[ -n $host ]]; then
  export LD_PRELOAD=$PWD/build/release/lib/libprocessor_$host.so
  env true # says why where cpuid does not trap
fi
exec ctest --preset release "${arguments[@]}"
