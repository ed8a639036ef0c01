"""Sizes of results that follow from those of the inputs, as the manifest writes them: "b s * 1 +", in postfix order."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

MAX_SIZE = 2**63 - 1
OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda x, y: (abs(x) // y if x >= 0 else -(abs(x) // y)) if y > 0 else 0,  # rounded towards 0
    "min": min,
    "max": max,
}


def evaluate(formula: str, sizes: Mapping[str, int]) -> int:
    """The value of a formula where a name is a size of `sizes`, 0 where it has none.

    Below 0 it is 0, and above 2^63 - 1 that: no array can be made of it, or the checked entry refuses it.
    """
    stack: list[int] = []
    for word in formula.split():
        if word in OPERATORS:
            right, left = stack.pop(), stack.pop()
            stack.append(OPERATORS[word](left, right))
        else:
            stack.append(sizes.get(word, 0) if word.isidentifier() else int(word))
    (value,) = stack
    return min(max(value, 0), MAX_SIZE)
