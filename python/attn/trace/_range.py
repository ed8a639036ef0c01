"""Interval arithmetic on integers of 64 bits: which values a traced index may take.

A kernel's index wraps at 2^64, and so does NumPy's int64. An interval that may leave int64 says nothing about what the
number has become: it is the whole of int64.
"""

from __future__ import annotations

from typing import NamedTuple

LOWEST, LARGEST = -(2**63), 2**63 - 1


class Range(NamedTuple):
    """The integers lo … hi that an index may be, within int64. It may be too wide, never too narrow."""

    lo: int = LOWEST
    hi: int = LARGEST

    def __neg__(self) -> Range:
        """The range of −x."""
        return _hull(-self.lo, -self.hi)

    def plus(self, other: Range) -> Range:
        """The range of x + y."""
        return _hull(self.lo + other.lo, self.hi + other.hi)

    def minus(self, other: Range) -> Range:
        """The range of x − y."""
        return _hull(self.lo - other.hi, self.hi - other.lo)

    def times(self, other: Range) -> Range:
        """The range of x·y."""
        return _hull(*(a * b for a in self for b in other))

    def floordiv(self, other: Range) -> Range:
        """The range of x // y, which is 0 for y = 0; |x // y| ≤ |x| for any y."""
        if other.lo < 1:
            largest = max(abs(self.lo), abs(self.hi))
            return _hull(-largest, largest)
        return _hull(*(a // b for a in self for b in other))

    def modulo(self, other: Range) -> Range:
        """The range of x % y: between 0 and y, without y, and 0 for y = 0."""
        if self.lo >= 0 and other.lo >= 0:
            return Range(0, min(max(other.hi - 1, 0), self.hi))
        return Range(min(other.lo + 1, 0), max(other.hi - 1, 0))

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


def _hull(*numbers: int) -> Range:
    """The range of numbers between these; any number where one of them wraps."""
    lo, hi = min(numbers), max(numbers)
    return Range(lo, hi) if lo >= LOWEST and hi <= LARGEST else Range()


def wrapped(number: int) -> int:
    """The number of int64 that is the same modulo 2^64."""
    return (number - LOWEST) % 2**64 + LOWEST
