"""Which sizes a kernel leaves open: none for the first call of a form, those that change for further ones.

A form is a problem without batch and lengths. A generation, whose cache grows by one key a step, has one query in all
steps: its kernel keeps that size, by which the compiler splits the keys, and leaves the keys open.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

from attn.call._problem import Problem

SIZES = ("b", "sq", "sk")  # that may change from call to call
MAX_FORMS = 512

Pattern = tuple[int | None, ...]  # a size each, None where it is open


class SeenSizes:
    """The kernels that forms have, each as the sizes that it serves; least recently used forms go first."""

    def __init__(self) -> None:
        """No form has a kernel."""
        self._lock = threading.Lock()
        self._patterns: OrderedDict[Hashable, list[Pattern]] = OrderedDict()

    def serve(self, problem: Problem, target: str, regions: str) -> Problem:
        """The problem whose kernel serves a call: of a kernel that the form has, or of one more.

        Args:
          problem: with the sizes of the call.
          target, regions: what else the kernel is compiled for.
        """
        given = tuple(getattr(problem.sizes, name) for name in SIZES)
        form = (problem.with_open(SIZES), problem.sizes.sq == 1, target, regions)
        with self._lock:
            patterns = self._patterns.setdefault(form, [])
            self._patterns.move_to_end(form)
            while len(self._patterns) > MAX_FORMS:
                self._patterns.popitem(last=False)
            chosen = next((x for x in patterns if _serves(x, given)), None)
            if chosen is None:
                # What differs from the widest kernel joins what that leaves open: each size makes one kernel at most.
                widest = patterns[-1] if patterns else given
                chosen = tuple(x if x == size else None for x, size in zip(widest, given, strict=True))
                patterns.append(chosen)
        return problem.with_open([name for name, size in zip(SIZES, chosen, strict=True) if size is None])


def _serves(pattern: Pattern, sizes: tuple[int, ...]) -> bool:
    return all(x is None or x == size for x, size in zip(pattern, sizes, strict=True))


seen = SeenSizes()
