"""What the examples print: the largest error against the specification, and how long a call takes."""

import time
from collections.abc import Callable

import numpy as np

TOLERANCE = 1e-5
CALLS = 5


def report(call: Callable[[], np.ndarray], expected: np.ndarray) -> None:
    """Compares what the call returns with the expected array (float64), and times further calls of it.

    Raises:
      SystemExit: the error is more than 1e-5 of the largest expected number.
    """
    error = np.abs(call() - expected).max() / np.abs(expected).max()
    seconds = []
    for _ in range(CALLS):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    print(f"largest error {error:.1e} of the largest value, best time {min(seconds) * 1e3:.2f} ms")
    if not error <= TOLERANCE:
        raise SystemExit(f"expected an error of at most {TOLERANCE}, found {error}")
