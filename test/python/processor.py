"""What this processor has, as the runtime finds it: names of features are LLVM's."""

import ctypes
import platform
from pathlib import Path

import pytest

RUNTIME = Path(__file__).parents[2] / "build" / "release" / "lib" / "libattn_runtime.so"
FEATURE_WORDS = 2  # ATTN_FEATURE_WORDS
# A feature that the processors before each level have not.
LEVELS = {"x86-64-v2": "sse4.2", "x86-64-v3": "avx2", "x86-64-v4": "avx512vl"}


def has(feature: str) -> bool:
    """True where programs may use it."""
    runtime = ctypes.CDLL(RUNTIME)
    bit = runtime.attn_find_feature(feature.encode())
    assert bit >= 0, f"expected a feature that the runtime knows, found {feature!r}"
    found = (ctypes.c_uint64 * FEATURE_WORDS)()
    runtime.attn_detect_features(found)
    return bool(found[bit // 64] >> bit % 64 & 1)


def skip_unless(*features: str) -> None:
    """Skips the test, by the names of those that are missing."""
    if missing := [feature for feature in features if not has(feature)]:
        pytest.skip(f"a processor without {', '.join(missing)}")


def skip_unless_it_runs(target: str) -> None:
    """Skips the test where this processor is below the level `target`, or another; "host" always runs."""
    if target.startswith("x86-64") and platform.machine() != "x86_64":
        pytest.skip(f"a processor of {platform.machine()}")
    if target in LEVELS:
        skip_unless(LEVELS[target])
