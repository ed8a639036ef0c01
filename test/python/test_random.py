"""Random problems: attn.sdpa against the reference. A failure shrinks, and prints a line for `attnc run --check`."""

import numpy as np
from hypothesis import given, note, settings
from hypothesis import strategies as st

from attn import _problem
from helpers import Shape, check, draw

MAX_EXAMPLES = 60
LENGTHS = st.one_of(st.integers(0, 40), st.sampled_from([63, 64, 65, 113, 127, 128, 129, 203, 257]))
HEAD_SIZES = st.one_of(st.integers(1, 40), st.sampled_from([59, 64, 80, 111, 128]))
SCALES = st.one_of(st.none(), st.sampled_from([0.0, -0.25, 1.0]), st.floats(-0.5, 0.5, width=16))


@st.composite
def cases(draw_from):
    """A shape, an element type, and the options of one call."""
    hkv, group = draw_from(st.integers(1, 3)), draw_from(st.integers(1, 3))
    sizes = {"sq": LENGTHS.filter(bool), "sk": LENGTHS, "d": HEAD_SIZES, "dv": HEAD_SIZES, "b": st.integers(1, 3)}
    shape = Shape(**{name: draw_from(strategy) for name, strategy in sizes.items()}, hq=hkv * group, hkv=hkv)
    options = {
        "scale": draw_from(SCALES),
        "causal": draw_from(st.sampled_from([None, "top_left", "bottom_right"])),
        "softcap": draw_from(st.sampled_from([None, 0.5, 20.0])),
    }
    seed = draw_from(st.integers(0, 2**16))
    dtype = draw_from(st.sampled_from([np.float32, np.float64]))
    rng = np.random.default_rng(seed)
    if draw_from(st.booleans()):
        options["bias"] = rng.standard_normal(draw_from(broadcasts(shape))).astype(dtype)
        options["bias"][rng.random(options["bias"].shape) < 0.1] = -np.inf
    if draw_from(st.booleans()):
        options["mask"] = rng.random(draw_from(broadcasts(shape))) < 0.7
    return shape, dtype, seed, options


def broadcasts(shape):
    """Shapes that broadcast to the scores."""
    return st.tuples(*(st.sampled_from([1, size]) for size in shape.scores))


@settings(max_examples=MAX_EXAMPLES)
@given(cases())
def test_random_problems(case):
    shape, dtype, seed, options = case
    q, k, v = draw(shape, dtype, seed)
    problem = _problem.of(q, k, v, **{"bias": None, "mask": None, **options}, return_lse=True)
    note(f'attnc run --check --problem="{problem.line()}"')
    check(q, k, v, **options)
