"""Interval arithmetic on integers: which values a traced index may take."""

from __future__ import annotations

import math
from typing import NamedTuple


class Range(NamedTuple):
    """The integers lo … hi that an index may be; ±inf where unknown. It may be too wide, never too narrow."""

    lo: float = -math.inf
    hi: float = math.inf

    def __neg__(self) -> Range:
        """The range of −x."""
        return Range(-self.hi, -self.lo)

    def plus(self, other: Range) -> Range:
        """The range of x + y."""
        return Range(self.lo + other.lo, self.hi + other.hi)

    def minus(self, other: Range) -> Range:
        """The range of x − y."""
        return self.plus(-other)

    def times(self, other: Range) -> Range:
        """The range of x·y; here 0·inf is 0."""
        corners = [a * b if a and b else 0 for a in self for b in other]
        return Range(min(corners), max(corners))

    def floordiv(self, other: Range) -> Range:
        """The range of x // y; |x // y| ≤ |x| for any y."""
        if other.lo < 1:
            largest = max(abs(self.lo), abs(self.hi))
            return Range(-largest, largest)

        def quotient(a: float, b: float) -> float:
            if math.isinf(a):
                return a
            return a // b if math.isfinite(b) else (-1 if a < 0 else 0)

        corners = [quotient(a, b) for a in self for b in other]
        return Range(min(corners), max(corners))

    def modulo(self, other: Range) -> Range:
        """The range of x % y, which has the sign of y."""
        if other.lo < 1:
            return Range()
        return Range(0, min(other.hi - 1, self.hi) if self.lo >= 0 else other.hi - 1)

    def least(self, other: Range) -> Range:
        """The range of min(x, y)."""
        return Range(min(self.lo, other.lo), min(self.hi, other.hi))

    def most(self, other: Range) -> Range:
        """The range of max(x, y)."""
        return Range(max(self.lo, other.lo), max(self.hi, other.hi))

    def either(self, other: Range) -> Range:
        """The range of x or y."""
        return Range(min(self.lo, other.lo), max(self.hi, other.hi))

    def inside(self, size: int) -> bool:
        """Whether every value is a position in `size` elements."""
        return self.lo >= 0 and self.hi <= size - 1
