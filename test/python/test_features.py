"""Random problems with any features at once. A failure shrinks, and prints what `attnc run --check` takes."""

from hypothesis import given, note, settings
from hypothesis import strategies as st

from attn.call import _call
from features import FEATURES, make
from helpers import TYPES, Shape, check

MAX_EXAMPLES = 72
LENGTHS = st.one_of(st.integers(0, 40), st.sampled_from([63, 64, 65, 113, 127, 128, 129, 203, 257]))
HEAD_SIZES = st.one_of(st.integers(1, 40), st.sampled_from([59, 64, 80, 111, 128]))


@st.composite
def shapes(draw_from):
    """Sizes with Sq ≥ 1."""
    hkv, group = draw_from(st.integers(1, 3)), draw_from(st.integers(1, 3))
    sizes = {"sq": LENGTHS.filter(bool), "sk": LENGTHS, "d": HEAD_SIZES, "dv": HEAD_SIZES, "b": st.integers(1, 3)}
    return Shape(**{name: draw_from(strategy) for name, strategy in sizes.items()}, hq=hkv * group, hkv=hkv)


def source(tensors, options):
    """The problem line, and below it the regions of traced functions, as attn.sdpa compiles it."""
    options = dict(options)
    dynamic, mods = options.pop("dynamic", False), [options.pop(name, None) for name in ("score_mod", "mask_mod")]
    problem, _ = _call.prepare(*tensors, _call.Given(**options, return_lse=True))
    return _call.Call(problem, problem.sizes.scores, [], "host").traced(*mods, dynamic=dynamic)[0]


@settings(max_examples=MAX_EXAMPLES)
@given(
    shapes(),
    st.sampled_from(list(TYPES.values())),
    st.sets(st.sampled_from(sorted(FEATURES)), max_size=6),
    st.integers(0, 2**16),
)
def test_random_features(shape, dtype, names, seed):
    tensors, options = make(shape, dtype, names, seed)
    note(f"attnc run --check --problem='{source(tensors, options)}'")
    check(*tensors, **options)
