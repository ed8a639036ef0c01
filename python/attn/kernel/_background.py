"""Long work of the library, done so that Ctrl-C ends the wait for it: in a thread of its own."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

# A signal wakes the main thread at once; where another thread was given it, this many seconds later.
WAKE_SECONDS = 0.1


def call(work: Callable[[], Result], abandon: Callable[[concurrent.futures.Future[Result]], object]) -> Result:
    """The result of work(), whose errors are raised here.

    Args:
      work: called once, in another thread. It does not depend on which.
      abandon: called if the wait ends by another exception, as KeyboardInterrupt is, with the future of the result: it
        asks the work to end, and frees what it gives nevertheless. The process ends after the work.
    """
    future: concurrent.futures.Future[Result] = concurrent.futures.Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    try:
        try:
            threading.Thread(target=run, name="attn").start()
        except RuntimeError:  # the process is ending, or may have no more threads
            if not future.done():
                run()
        while not concurrent.futures.wait([future], WAKE_SECONDS).done:
            pass
    except BaseException:
        abandon(future)
        raise
    return future.result()
