"""Every pair of features that may go together, several pairs a problem: odd sizes and shared heads."""

import itertools

import pytest

from features import ALTERNATIVES, FEATURES, make
from helpers import NARROW, Shape, check

SHAPE = Shape(37, 75, 24, 20, b=2, hq=4, hkv=2)
FEATURES_OF_A_PROBLEM, FEATURES_OF_A_NARROW_ONE = 5, 8


def are_compatible(names) -> bool:
    return all(len(group & set(names)) < 2 for group in ALTERNATIVES)


def pairs_of(names):
    return {frozenset(pair) for pair in itertools.combinations(names, 2) if are_compatible(pair)}


def cover(size: int) -> list[tuple[str, ...]]:
    """Problems that have every compatible pair: each takes the features that add most of the pairs still missing."""
    missing, problems = pairs_of(FEATURES), []
    while missing:
        names: tuple[str, ...] = tuple(sorted(min(missing, key=sorted)))
        while len(names) < size:
            rest = [x for x in FEATURES if x not in names and are_compatible((*names, x))]
            names = (*names, max(rest, key=lambda x: len(pairs_of((*names, x)) & missing)))
        missing -= pairs_of(names)
        problems.append(names)
    return problems


@pytest.mark.parametrize("names", cover(FEATURES_OF_A_PROBLEM), ids="-".join)
def test_pairs(names):
    tensors, options = make(SHAPE, "f4", names)
    check(*tensors, **options)


@pytest.mark.parametrize("dtype", NARROW.values(), ids=NARROW)
@pytest.mark.parametrize("names", cover(FEATURES_OF_A_NARROW_ONE), ids="-".join)
def test_pairs_in_narrow_types(names, dtype):
    tensors, options = make(SHAPE, dtype, names)
    check(*tensors, **options)


def test_all_pairs_are_there():
    alternatives = sum(len(x) * (len(x) - 1) // 2 for x in ALTERNATIVES)
    for size in FEATURES_OF_A_PROBLEM, FEATURES_OF_A_NARROW_ONE:
        found = set().union(*map(pairs_of, cover(size)))
        assert len(found) == len(FEATURES) * (len(FEATURES) - 1) // 2 - alternatives
