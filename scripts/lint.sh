#!/usr/bin/env bash
# Checks format (clang-format-22) and lint (ruff) without a build, in seconds. The tests run it too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

git ls-files -z '*.c' '*.cpp' '*.h' | xargs -0 -r clang-format-22 --dry-run --Werror
build/venv/bin/ruff check
build/venv/bin/ruff format --check
