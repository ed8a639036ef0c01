"""Kernels by problem, each compiled once, also where several threads ask for it at the same time; plans by form."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any

from attn.kernel._kernel import Kernel

# A long-running process that sees ever new lengths must not keep the code of all of them.
MAX_KERNELS = 512
MAX_PLANS = 2048  # forms of calls


class _InterruptedElsewhereError(Exception):
    """To those that wait for a kernel: the thread that made it was interrupted, which is none of their errors."""


class KernelCache:
    """A map from key to kernel, least recently used first out."""

    def __init__(self, size: int = MAX_KERNELS) -> None:
        """An empty cache that holds at most `size` kernels."""
        self._lock = threading.Lock()
        self._size = size
        # A future while a caller makes the kernel, then the kernel itself.
        self._kernels: OrderedDict[Hashable, Future[Kernel] | Kernel] = OrderedDict()
        after_fork = weakref.WeakMethod(self._forget_other_threads)
        os.register_at_fork(after_in_child=lambda: (forget := after_fork()) and forget())

    def get(self, key: Hashable, make: Callable[[], Kernel]) -> Kernel:
        """The kernel of this key. One caller makes it, outside the lock; the others wait for it and share its error.

        An error is not remembered. Where the one that makes it is interrupted (KeyboardInterrupt), one of the others
        makes it.
        """
        with self._lock:
            entry = self._kernels.get(key)
            if entry is not None:
                self._kernels.move_to_end(key)
        while entry is None or isinstance(entry, Future):
            with contextlib.suppress(_InterruptedElsewhereError):
                entry = self._make(key, make)
        return entry

    def _make(self, key: Hashable, make: Callable[[], Kernel]) -> Kernel:
        """The same for a kernel that is not there yet."""
        mine: Future[Kernel] = Future()
        try:  # from here on a signal may come at any place
            with self._lock:
                entry = self._kernels.setdefault(key, mine)
                self._kernels.move_to_end(key)
                while len(self._kernels) > self._size:
                    self._kernels.popitem(last=False)
            if entry is not mine:
                return entry.result() if isinstance(entry, Future) else entry
            kernel = make()
            with self._lock:
                if self._kernels.get(key) is mine:
                    self._kernels[key] = kernel
            mine.set_result(kernel)
            return kernel
        except BaseException as error:
            with self._lock:
                if self._kernels.get(key) is mine:
                    del self._kernels[key]
            if not mine.done():
                mine.set_exception(error if isinstance(error, Exception) else _InterruptedElsewhereError())
            raise

    def _forget_other_threads(self) -> None:
        """In the child of a fork: no thread is there that makes what was in the making, or gives the lock back."""
        self._lock = threading.Lock()
        made = [(key, entry) for key, entry in self._kernels.items() if not isinstance(entry, Future)]
        self._kernels = OrderedDict(made)

    def __len__(self) -> int:
        """How many kernels it holds."""
        return len(self._kernels)

    def clear(self) -> None:
        """Forgets all kernels; those that are running stay alive until they return."""
        with self._lock:
            self._kernels.clear()


class Plans(OrderedDict[Hashable, Any]):
    """What runs calls, by their forms and constants; that which was made first goes first."""

    def keep(self, key: Hashable, made: Any) -> Any:
        """What was made, from now on here."""
        self[key] = made
        while len(self) > MAX_PLANS:
            self.popitem(last=False)
        return made


plans = Plans()
