"""attn.linear_attention by its kernels beside the reference: ten families, gates of every size, packed sequences, slots
of a pool, steps of a few tokens, and what is refused.
"""

import numpy as np
import pytest

import attn
from attn.call import _running
from helpers import BF16, TYPES
from linear_families import FAMILIES, Sizes, draw_family
from test_reference_linear import DENSE, REFUSED, packed

INF, NAN = np.inf, np.nan
BOUNDS = {"f32": 1e-5, "f64": 1e-12, "bf16": 2**-8, "f16": 2**-11}  # of out; the state has that of its own type
SIZES = [Sizes(1, 1, 1, 1, 1, 1), Sizes(2, 2, 4, 7, 16, 24), Sizes(1, 1, 3, 70, 32, 16), Sizes(1, 2, 2, 113, 59, 20)]


def typed(options, dtype):
    """The arguments in a type, gates and state in that of the accumulation; and these numbers in float64."""
    wide = np.float64 if dtype == np.float64 else np.float32
    found = {
        name: x if not isinstance(x, np.ndarray) or x.dtype.kind in "iu"
        else x.astype(wide if name in ("decay", "beta", "state") else dtype)
        for name, x in options.items()
    }  # fmt: skip
    exact = {
        name: x.astype(np.float64) if isinstance(x, np.ndarray) and x.dtype.kind not in "iu" else x
        for name, x in found.items()
    }
    return found, exact


def assert_right(options, name="f32", **words):
    """Runs a call and its reference, and compares out and the state."""
    given, exact = typed(options, TYPES[name])
    expected = attn.reference.linear_attention(**exact, **words)
    state = given.get("state")
    out, new = attn.linear_attention(**given, **words, return_state=True)
    assert state is None or new is state
    assert out.dtype == TYPES[name]
    kinds = (name, "f64" if name == "f64" else "f32")
    for found, want, kind in zip(
        (out, new), expected if isinstance(expected, tuple) else (expected,), kinds, strict=False
    ):
        assert found.shape == want.shape
        finite = np.isfinite(want)
        np.testing.assert_array_equal(np.isnan(found.astype(np.float64)), np.isnan(want))
        error = np.abs(found.astype(np.float64) - want)[finite].max(initial=0)
        assert error <= BOUNDS[kind] * np.abs(want[finite]).max(initial=0)
    return out, new


@pytest.mark.parametrize("kind", BOUNDS)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", FAMILIES)
def test_families(name, sizes, kind):
    assert_right(draw_family(name, sizes).options, kind)


@pytest.mark.parametrize("name", ["GDN", "KDA", "Comba", "RWKV-7, DPLR"])
@pytest.mark.parametrize("tokens", [1, 2, 3, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 130])
def test_any_number_of_tokens(name, tokens):
    assert_right(draw_family(name, Sizes(1, 1, 2, tokens, 32, 32)).options)


GATES = {
    "slow": lambda g, rng: 0.02 * g,
    "spikes": lambda g, rng: np.where(rng.random(g.shape) < 0.1, -300, 0.02 * g),
    "resets": lambda g, rng: np.where(rng.random(g.shape) < 0.1, -INF, 0.02 * g),
    "all reset": lambda g, rng: np.full(g.shape, -INF),
    "fast": lambda g, rng: 30 * g,
    "none": lambda g, rng: 0 * g,
    "as it is": lambda g, rng: g,
}


@pytest.mark.parametrize("name", ["GLA", "GDN", "KDA", "Comba", "RWKV-7, DPLR"])
@pytest.mark.parametrize("gate", GATES)
def test_gates_of_every_size(name, gate, rng):
    options = draw_family(name, Sizes(1, 1, 2, 100, 32, 16)).options
    options["decay"] = GATES[gate](options["decay"], rng)
    if name.startswith("RWKV"):  # whose erased and written directions are free, and grow without a decay
        options |= {"erase": -0.3 * options["k"].repeat(2, 1), "write": options["k"].repeat(2, 1)}
    assert_right(options)


@pytest.mark.parametrize("name", ["GDN", "KDA"])
@pytest.mark.parametrize("beta", [1.0, 0.9, 1.9])
def test_a_token_that_repeats(name, beta):
    """Equal keys make the triangle of a chunk full: powers of it would be wrong by 1e9."""
    options = draw_family(name, Sizes(1, 1, 2, 96, 32, 16)).options
    options["k"][:] = options["k"][:, :, :1]
    options["decay"] *= 0.001
    options["beta"][:] = beta
    assert_right(options)


def test_normalised_rows(rng):
    options = draw_family("GDN", Sizes(2, 2, 4, 40, 24, 16)).options
    options["k"] *= np.exp(3 * rng.standard_normal((2, 2, 40, 1)))
    options["k"][:, :, 7] = 0
    assert_right(options, normalize=True)
    assert_right(options, normalize=0.1)
    assert_right(options, "bf16", normalize=True)


@pytest.mark.parametrize("scale", [1.0, -0.5, 0.0, None])
def test_scales(scale):
    assert_right(draw_family("GDN", Sizes(1, 1, 2, 20, 8, 8)).options | {"scale": scale})


@pytest.mark.parametrize("name", ["linear", "GDN", "KDA", "RWKV-7, DPLR"])
@pytest.mark.parametrize("lengths", [[13, 0, 70, 1], [5], [0, 0], [64, 64, 64]])
def test_packed_sequences(name, lengths):
    options = draw_family(name, Sizes(len(lengths), 2, 4, max(*lengths, 1), 16, 8)).options
    assert_right(packed(options, lengths))


def test_nothing_leaks_between_packed_sequences():
    options, _ = typed(packed(draw_family("GDN", Sizes(3, 1, 2, 40, 16, 8)).options, [40, 20, 40]), np.float32)
    expected = attn.linear_attention(**options | {"state": options["state"].copy()})
    for name in ("q", "k", "v", "decay", "beta"):
        options[name][40:60] = NAN
    options["state"][1] = NAN
    out, state = attn.linear_attention(**options)
    for of in (slice(0, 40), slice(60, 100)):
        np.testing.assert_array_equal(out[of], expected[0][of])
    np.testing.assert_array_equal(state[[0, 2]], expected[1][[0, 2]])


@pytest.mark.parametrize("tokens", [1, 3, 40])
@pytest.mark.parametrize("name", ["linear", "GDN", "RWKV-7, DPLR"])
def test_slots_of_a_pool(name, tokens):
    options = draw_family(name, Sizes(4, 1, 2, tokens, 16, 8)).options
    pool = np.full((9, 2, 16, 8), NAN, np.float32)
    pool[[7, 0, 3]] = options["state"][:3]
    before = pool.copy()
    _, state = assert_right(options | {"state": pool, "slots": np.array([7, 0, 3, -1])})
    assert np.isfinite(state[[7, 0, 3]]).all()
    np.testing.assert_array_equal(state[[1, 2, 4, 5, 6, 8]], before[[1, 2, 4, 5, 6, 8]])


def test_packed_steps_with_slots():
    options = packed(draw_family("KDA", Sizes(3, 1, 2, 9, 16, 8)).options, [1, 9, 4])
    pool = np.random.default_rng(5).standard_normal((6, 2, 16, 8))
    assert_right(options | {"state": pool, "slots": [5, -1, 2]})


def draw_call(seed):
    """Any words of a call beside one another, the type, and further words."""
    rng = np.random.default_rng(seed)
    pick = lambda *x: x[rng.integers(len(x))]  # noqa: E731
    heads = int(rng.integers(1, 4))
    b, group = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    tokens, dk, dv = pick(1, 2, 5, 8, 9, 33, 64, 100), pick(1, 8, 16, 24, 32, 59, 64), pick(1, 8, 16, 20, 64, 80)
    options = draw_family(pick(*FAMILIES), Sizes(b, heads, heads * group, tokens, dk, dv), seed=seed).options
    if "decay" in options:
        options["decay"] = GATES[pick("slow", "spikes", "resets", "none", "fast", "as it is")](options["decay"], rng)
    if rng.random() < 0.4:
        lengths = [int(x) for x in rng.integers(0, tokens + 1, b)]
        options = packed(options, lengths)
    if rng.random() < 0.3:
        pool = rng.standard_normal((b + 3, *options["state"].shape[1:]))
        slots = rng.permutation(b + 3)[:b]
        slots[rng.random(b) < 0.3] = -1
        options |= {"state": pool, "slots": slots}
    elif rng.random() < 0.2:
        del options["state"]
    words = {"normalize": pick(None, True, 0.01)}
    if rng.random() < 0.4:
        words["scale"] = float(rng.standard_normal())
    return options, pick("f32", "f32", "f64", "bf16", "f16"), words


@pytest.mark.parametrize("seed", [*range(40), *(pytest.param(x, marks=pytest.mark.nightly) for x in range(40, 1000))])
def test_random_calls(seed):
    options, kind, words = draw_call(seed)
    assert_right(options, kind, **words)


def test_parts_are_the_whole():
    """Tokens in parts, the state from call to call: prompts in pieces, then single tokens."""
    options, _ = typed(draw_family("GDN", Sizes(2, 1, 2, 75, 32, 16)).options, np.float32)
    whole = attn.linear_attention(**options | {"state": options["state"].copy()})
    state, outs = options.pop("state"), []
    for first, end in [(0, 32), (32, 70), (70, 71), (71, 72), (72, 75)]:
        part = {name: x[:, :, first:end] for name, x in options.items() if name != "scale"}
        outs.append(attn.linear_attention(**part, state=state)[0])
    for found, want in ((np.concatenate(outs, 2), whole[0]), (state, whole[1])):
        assert np.abs(found - want).max() <= 1e-5 * np.abs(want).max()


@pytest.mark.parametrize("every", [1, 3, 8, 20])
@pytest.mark.parametrize("kind", ["plain", "slots", "bshd", "new"])
def test_snapshots(kind, every):
    """To go back to the state behind the last token that is accepted."""
    options, exact = typed(draw_family("GDN", Sizes(3, 1, 2, 8, 16, 8)).options, np.float32)
    if kind == "slots":
        pool = np.random.default_rng(4).standard_normal((6, 2, 16, 8))
        options |= {"state": pool.astype(np.float32), "slots": [4, -1, 0]}
        exact |= {"state": options["state"].astype(np.float64), "slots": [4, -1, 0]}
    if kind == "new":
        del options["state"], exact["state"]
    expected = attn.reference.linear_attention(**exact, every=every)
    if kind == "bshd":
        turned = {x: np.ascontiguousarray(options[x].swapaxes(1, 2)) for x in ("q", "k", "v", "decay", "beta")}
        found = attn.linear_attention(**options | turned, every=every, layout="bshd")
        found = (found[0].swapaxes(1, 2), *found[1:])
    else:
        found = attn.linear_attention(**options, every=every)
    for x, y in zip(found, expected, strict=True):
        assert x.shape == y.shape
        assert np.abs(x - y).max(initial=0) <= 1e-5 * np.abs(y).max(initial=0)
    if kind != "new":
        assert found[1] is options["state"]


def test_without_a_state():
    options, exact = typed(draw_family("GDN", Sizes(2, 1, 2, 20, 8, 8)).options, np.float32)
    del options["state"], exact["state"]
    out = attn.linear_attention(**options)
    assert isinstance(out, np.ndarray)
    assert np.abs(out - attn.reference.linear_attention(**exact)).max() < 1e-5
    assert attn.linear_attention(**options, return_state=True)[1].shape == (2, 2, 8, 8)


@pytest.mark.parametrize("kind", ["bshd", "views"])
@pytest.mark.parametrize("name", ["GDN", "KDA", "RWKV-7, DPLR"])
def test_layouts(name, kind):
    options, exact = typed(draw_family(name, Sizes(2, 2, 4, 21, 16, 8)).options, np.float32)
    expected = attn.reference.linear_attention(**exact)
    rows = {x for x, y in options.items() if isinstance(y, np.ndarray) and x != "state"}
    swapped = {x: np.ascontiguousarray(options[x].swapaxes(1, 2)) for x in rows}
    if kind == "bshd":
        out, state = attn.linear_attention(**options | swapped, layout="bshd")
        out = out.swapaxes(1, 2)
    else:
        out, state = attn.linear_attention(**options | {x: y.swapaxes(1, 2) for x, y in swapped.items()})
    assert np.abs(out - expected[0]).max() < 1e-5
    assert np.abs(state - expected[1]).max() < 1e-5


@pytest.mark.parametrize("shape", [Sizes(2, 1, 2, 0, 4, 3), Sizes(0, 1, 2, 5, 4, 3)])
def test_no_tokens(shape):
    options, _ = typed(draw_family("GDN", shape).options, np.float32)
    before = options["state"].copy()
    out, state = attn.linear_attention(**options)
    assert out.shape == (shape.b, 2, shape.t, 3)
    np.testing.assert_array_equal(state, before)


@pytest.mark.parametrize("name", ["GDN", "KDA"])
def test_bits_do_not_depend_on_threads(name):
    options, _ = typed(draw_family(name, Sizes(1, 2, 4, 100, 64, 64)).options, np.float32)
    results = []
    try:
        for threads in (1, 2, 7):
            attn.set_num_threads(threads)
            results.append(attn.linear_attention(**options | {"state": options["state"].copy()}))
    finally:
        attn.set_num_threads(0)
    for found in results[1:]:
        for x, y in zip(found, results[0], strict=True):
            np.testing.assert_array_equal(x, y)


def test_one_kernel_serves_all_prompts():
    def run(batch, tokens):
        attn.linear_attention(**typed(draw_family("GDN", Sizes(batch, 1, 2, tokens, 8, 8)).options, np.float32)[0])

    run(1, 20)
    count = len(_running.kernels)
    for batch, tokens in ((1, 21), (3, 100)):
        run(batch, tokens)
    assert len(_running.kernels) == count


@pytest.mark.parametrize("steps", [[[3, 4, 5], [6, 0, 1, 9], [20, 20, 20]], [[1] * 5, [2] * 8]])
def test_a_few_kernels_serve_any_number_of_packed_sequences(steps):
    def run(lengths):
        assert_right(packed(draw_family("GDN", Sizes(len(lengths), 1, 2, 20, 8, 8)).options, lengths))
        return len(_running.kernels)

    counts = [run(lengths) for lengths in steps]
    assert counts == [counts[0]] * len(steps)


def test_narrow_gates_are_widened():
    options, _ = typed(draw_family("GDN", Sizes(1, 1, 2, 9, 8, 8)).options, np.float32)
    narrow = {name: options[name].astype(BF16) for name in ("decay", "beta")}
    exact = {name: x.astype(np.float32) for name, x in narrow.items()}
    copies = [{"state": options["state"].copy()} for _ in range(2)]
    results = [attn.linear_attention(**options | x | y) for x, y in zip((narrow, exact), copies, strict=True)]
    np.testing.assert_array_equal(results[0][0], results[1][0])


@pytest.mark.parametrize("what", REFUSED)
def test_mistakes(what):
    options, message = REFUSED[what]
    options, _ = typed(options, np.float32)
    with pytest.raises(ValueError, match=message):
        attn.linear_attention(**options)


def zeros(*shape, dtype=np.float32):
    """Zeros."""
    return np.zeros(shape, dtype)


OTHERS = {
    "wide gates": ({"beta": zeros(2, 4, 7, dtype=np.float64)}, TypeError, "beta in float32, .* write beta.astype"),
    "integer gates": ({"decay": zeros(2, 4, 7, dtype=np.int32)}, TypeError, "decay in float32, the type of the state"),
    "another type": ({"v": zeros(2, 4, 7, 3, dtype=np.float64)}, TypeError, "expected v to have the type of q"),
    "narrow state": ({"state": zeros(2, 4, 5, 3, dtype=np.float16)}, TypeError, "state in float32, found float16"),
    "state of strides": (
        {"state": zeros(2, 4, 3, 5).swapaxes(2, 3)}, ValueError, "state to be C-contiguous, as it is written in place"
    ),
    "layout": ({"layout": "bsd"}, ValueError, 'layout to be "bhsd" or "bshd"'),
    "snapshots of packed sequences": ({"every": 2, "cu_seqlens": [0, 7]}, ValueError, "every without cu_seqlens"),
    "tokens of snapshots": ({"every": 2, "v": zeros(2, 4, 6, 3)}, ValueError, "v to have the batch and tokens of k"),
    "a GPU": ({"target": "sm_80"}, ValueError, "expected a processor as target of linear_attention"),
}  # fmt: skip


@pytest.mark.parametrize("what", OTHERS)
def test_other_mistakes(what):
    options, error, message = OTHERS[what]
    with pytest.raises(error, match=message):
        attn.linear_attention(**typed(DENSE, np.float32)[0] | options)


def test_a_state_that_cannot_be_written():
    state = zeros(2, 4, 5, 3)
    state.flags.writeable = False
    with pytest.raises(ValueError, match="expected state to be writable, found a read-only array"):
        attn.linear_attention(**typed(DENSE, np.float32)[0], state=state)
