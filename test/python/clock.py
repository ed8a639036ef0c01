"""Time in tests: that of the processor, best of several tries, and beside that of a known work on this machine."""

import subprocess
import time
from collections.abc import Callable
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

TRIES = 5
NO_END = 600  # seconds after which a program is taken to hang
WORK_SECONDS = 0.045  # of `work` on the machine whose seconds the tests name: an idle Zen 4 of 2026


def child_seconds(*command: Any, **options: Any) -> float:
    """Processor time of a command that must not fail: what other processes do meanwhile does not count."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, check=True, **options)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def work() -> float:
    """Processor time of something that is not the project's, of memory and branches as a compiler is."""
    start = time.thread_time()
    {str(i): i for i in range(200_000)}
    return time.thread_time() - start


def slowness() -> float:
    """How many times longer this machine takes at the moment; at least 1."""
    return max(1.0, work() / WORK_SECONDS)


def ever(attempt: Callable[[], bool]) -> bool:
    """Whether one of several tries succeeds. Noise makes things slower, never faster."""
    return any(attempt() for _ in range(TRIES))
