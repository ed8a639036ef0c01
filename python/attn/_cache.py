"""Kernels by problem: each compiled once, also where several threads ask for it at the same time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future

from attn._kernel import Kernel

# A long-running process that sees ever new lengths must not keep the code of all of them.
MAX_KERNELS = 512


class KernelCache:
    """A map from key to kernel, least recently used first out."""

    def __init__(self, size: int = MAX_KERNELS) -> None:
        """An empty cache that holds at most `size` kernels."""
        self._lock = threading.Lock()
        self._size = size
        self._kernels: OrderedDict[Hashable, Future[Kernel]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Kernel]) -> Kernel:
        """The kernel of this key. One caller makes it, outside the lock; the others wait for it and share its error.

        An error is not remembered.
        """
        with self._lock:
            future = self._kernels.get(key)
            mine = future is None
            if future is None:
                future = self._kernels[key] = Future()
                while len(self._kernels) > self._size:
                    self._kernels.popitem(last=False)
            else:
                self._kernels.move_to_end(key)
        if mine:
            try:
                future.set_result(make())
            except BaseException as error:
                with self._lock:
                    if self._kernels.get(key) is future:
                        del self._kernels[key]
                future.set_exception(error)
        return future.result()

    def __len__(self) -> int:
        """How many kernels it holds."""
        return len(self._kernels)

    def clear(self) -> None:
        """Forgets all kernels; those that are running stay alive until they return."""
        with self._lock:
            self._kernels.clear()
