#!/usr/bin/env bash
# Builds what the tests need, then runs them: lit, GoogleTest, pytest, the installed package, the generated documents.
# The tests that need PyTorch, JAX or transformers run where scripts/setup.sh --frameworks has made an environment with them.
#   --quick        lit and GoogleTest alone, and builds what these need
#   --changed[=REF]  the tests that the difference to a commit needs, and builds what they need: to where main was left, or
#                  of the last commit (test/layers.txt); with --dry-run it only says so
#   --products     tests in Python with every combination of their parameters, instead of each value once (test/conftest.py)
#   --host=LEVEL   as on a processor of that level, x86-64-v2 or x86-64-v3 (test/lib/CappedProcessor)
# Other arguments go to ctest, as in `scripts/test.sh -R fuse`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

targets=(all)
host=
changed=
dry_run=false
arguments=()
for argument in "$@"; do
  case "$argument" in
    --quick)
      targets=(attn_quick_tests)
      arguments+=(--label-regex '^quick$')
      ;;
    --changed | --changed=?*) changed=$argument ;;
    --dry-run) dry_run=true ;;
    --products) export PYTEST_ADDOPTS="${PYTEST_ADDOPTS:-} --products" ;;
    --host=x86-64-v[23]) host=${argument#--host=} ;;
    --host*)
      echo "error: expected --host=x86-64-v2 or --host=x86-64-v3, found '$argument'" >&2
      exit 2
      ;;
    *) arguments+=("$argument") ;;
  esac
done

if [[ -n $changed ]]; then
  if ! [[ -f build/release/CTestTestfile.cmake ]]; then
    scripts/setup.sh attn_test_tools
  fi
  needed=$(if [[ $changed == *=* ]]; then scripts/changed.py "${changed#*=}"; else scripts/changed.py; fi)
  if [[ -z $needed ]]; then
    exit
  fi
  read -ra targets <<<"${needed%%$'\n'*}"
  arguments+=(-R "${needed#*$'\n'}")
fi
if $dry_run; then
  printf 'tests: ninja builds %s\n' "${targets[*]}"
  exec ctest --preset release -N "${arguments[@]}"
fi

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
