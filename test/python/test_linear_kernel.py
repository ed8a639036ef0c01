"""Kernels of linear attention beside the recurrence in f64, token by token."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import attn

TYPES = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
TOLERANCE = {"f32": 3e-6, "f64": 1e-13, "bf16": 2e-2, "f16": 3e-3}

FORMS = {
    "linear": "",
    "decay": "decay=head",
    "gates": "decay=channel",
    "delta": "beta normalize",
    "gdn": "decay=head beta normalize",
    "kda": "decay=channel beta normalize=1e-5 scale=0.5",
    "erase": "decay=channel erase",
    "comba": "decay=head erase before",
    "two": "decay=head erase write",
    "rwkv": "decay=channel erase write before scale=1",
}


def recur(q, k, v, state, *, decay=None, beta=None, erase=None, write=None, before=False, normalize=None, scale=None):
    """One sequence and head of f64: q, k (T, D), v (T, Dv), state (D, Dv)."""
    if normalize is not None:
        q, k = (x / np.sqrt((x * x).sum(-1, keepdims=True) + normalize) for x in (q, k))
    out = np.zeros(v.shape)
    for t in range(len(v)):
        old = state
        if decay is not None:
            state = np.exp(np.broadcast_to(decay[t], k.shape[1]))[:, None] * state
        value = v[t] if beta is None else beta[t] * v[t]
        new = state + np.outer(k[t], value)
        a = -beta[t] * k[t] if beta is not None else None if erase is None else erase[t]
        if a is not None:
            new = new + np.outer(k[t] if write is None else write[t], (old if before else state).T @ a)
        state = new
        out[t] = (k.shape[1] ** -0.5 if scale is None else scale) * state.T @ q[t]
    return out, state


def draw(rng, b, hq, hkv, sq, d, dv, dtype, form):
    """The arguments of a line, with rows in the order (batch, head, token), of which the recurrence reads f64."""
    kind, wide = TYPES[dtype], np.float64 if dtype == "f64" else np.float32
    words = form.split()
    normal = lambda *shape: rng.standard_normal(shape)  # noqa: E731
    args = {"q": normal(b, hkv, sq, d), "k": normal(b, hkv, sq, d) / d**0.5, "v": normal(b, hq, sq, dv)}
    args = {name: x.astype(kind) for name, x in args.items()}
    if "decay=head" in words:
        args["decay"] = -np.abs(normal(b, hq, sq)).astype(wide)
    if "decay=channel" in words:
        args["decay"] = -np.abs(normal(b, hq, sq, d)).astype(wide)
    if "beta" in words:
        args["beta"] = (1 / (1 + np.exp(-normal(b, hq, sq)))).astype(wide)
    if "erase" in words:
        args["erase"] = (-normal(b, hq, sq, d) / d**0.5 / 2).astype(kind)
    if "write" in words:
        args["write"] = (normal(b, hq, sq, d) / d**0.5 / 2).astype(kind)
    return args, normal(b, hq, d, dv).astype(wide)


def options(form):
    words = dict(word.split("=") if "=" in word else (word, None) for word in form.split())
    return {
        "before": "before" in words,
        "normalize": float(words["normalize"] or 1e-6) if "normalize" in words else None,
        "scale": float(words["scale"]) if "scale" in words else None,
    }


def expect(args, state, form):
    """What the recurrence makes of them."""
    b, hq, sq, dv = args["v"].shape
    group = hq // args["q"].shape[1] if args["q"].shape[1] else 1
    out, new = np.zeros((b, hq, sq, dv)), state.astype(np.float64)
    for i, h in itertools.product(range(b), range(hq)):
        own = {x: args[x][i, h].astype(np.float64) for x in ("decay", "beta", "erase", "write") if x in args}
        q, k = (args[x][i, h // group].astype(np.float64) for x in "qk")
        out[i, h], new[i, h] = recur(q, k, args["v"][i, h].astype(np.float64), new[i, h], **own, **options(form))
    return out, new


def same(found, expected, dtype, name):
    scale = max(np.abs(expected).max(), 1e-30) if expected.size else 1
    error = np.abs(found.astype(np.float64) - expected).max() / scale if expected.size else 0
    assert error <= TOLERANCE[dtype], f"{name}: {error:.2g}"


def run(line, args, state, out=None):
    kernel = attn.compile(line)
    own = state.copy()
    found, _ = kernel(*args.values(), out=(out, own))
    return found, own


def check(seed, sizes, dtype, form, line_words=""):
    args, state = draw(np.random.default_rng(seed), *sizes, dtype, form)
    b, hq, hkv, sq, d, dv = sizes
    out, new = run(f"linear b{b} hq{hq} hkv{hkv} sq{sq} d{d} dv{dv} {dtype} {form} {line_words}", args, state)
    expected, last = expect(args, state, form)
    same(out, expected, dtype, "out")
    same(new, last, "f64" if dtype == "f64" else "f32", "state")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16"])
def test_form(form, dtype):
    check(1, (2, 4, 2, 67, 24, 20), dtype, FORMS[form])


@pytest.mark.parametrize("form", ["gdn", "kda", "linear"])
@pytest.mark.parametrize("sq", [1, 2, 7, 16, 31, 32, 33, 113, 0])
def test_tokens(form, sq):
    check(2, (1, 4, 2, sq, 59, 48), "f32", FORMS[form])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sq", [1, 5])
def test_few_tokens(form, sq):
    check(3, (2, 2, 1, sq, 128, 59), "f32", FORMS[form])


@pytest.mark.parametrize("form", ["decay", "gdn", "comba", "two", "kda"])
@pytest.mark.parametrize(("d", "dv"), [(40, 64), (32, 128)])
def test_one_token_of_f64(form, d, dv):
    """The kernel in place had wrong products of query and key with AVX-512."""
    check(18, (1, 2, 2, 1, d, dv), "f64", FORMS[form])


@pytest.mark.parametrize(("d", "dv"), [(128, 128), (64, 64), (1, 1), (59, 111), (256, 40)])
def test_head_sizes(d, dv):
    check(4, (1, 4, 2, 70, d, dv), "f32", FORMS["gdn"])


@pytest.mark.parametrize("form", ["gdn", "kda", "two"])
@pytest.mark.parametrize(("hq", "hkv"), [(3, 3), (6, 2), (5, 1)])
def test_groups(form, hq, hkv):
    check(5, (1, hq, hkv, 40, 16, 8), "f32", FORMS[form])


@pytest.mark.parametrize("form", ["gdn", "kda", "rwkv"])
def test_rows_first(form):
    """layout=bshd: (batch, token, head, column)."""
    args, state = draw(np.random.default_rng(6), 2, 4, 2, 45, 24, 16, "f32", FORMS[form])
    swapped = {name: np.ascontiguousarray(x.swapaxes(1, 2)) for name, x in args.items()}
    out, new = run(f"linear b2 hq4 hkv2 sq45 d24 dv16 f32 {FORMS[form]} layout=bshd", swapped, state)
    expected, last = expect(args, state, FORMS[form])
    same(out.swapaxes(1, 2), expected, "f32", "out")
    same(new, last, "f32", "state")


@pytest.mark.parametrize("form", ["gdn", "kda", "two"])
@pytest.mark.parametrize("sq", [1, 9, 70])
def test_open_sizes(form, sq):
    args, state = draw(np.random.default_rng(7), 2, 4, 2, sq, 32, 32, "f32", FORMS[form])
    out, new = run(f"linear b? hq4 hkv2 sq? d32 f32 {FORMS[form]}", args, state)
    expected, last = expect(args, state, FORMS[form])
    same(out, expected, "f32", "out")
    same(new, last, "f32", "state")


def pack(args, lengths):
    """Rows of a batch index as (token, head, column), of each its first tokens; what lies behind them is not passed."""
    packed = {}
    for name, x in args.items():
        rows = [x[i, :, :length].swapaxes(0, 1) for i, length in enumerate(lengths)]
        packed[name] = np.ascontiguousarray(np.concatenate(rows))
    return packed


@pytest.mark.parametrize("form", FORMS)
def test_packed_sequences(form):
    lengths = [0, 33, 1, 64, 5]
    args, state = draw(np.random.default_rng(8), 5, 4, 2, 64, 24, 16, "f32", FORMS[form])
    sums = np.cumsum([0, *lengths]).astype(np.int32)
    line = f"linear b5 hq4 hkv2 sq{sums[-1]} d24 dv16 f32 {FORMS[form]} layout=varlen"
    out, new = run(line, {**pack(args, lengths), "cu_seqlens": sums}, state)
    for i, length in enumerate(lengths):
        own = {name: x[i : i + 1, :, :length] for name, x in args.items()}
        expected, last = expect(own, state[i : i + 1], FORMS[form])
        same(out[sums[i] : sums[i + 1]].swapaxes(0, 1)[None], expected, "f32", "out")
        same(new[i : i + 1], last, "f32", "state")


@pytest.mark.parametrize("sq", [1, 6, 40])
def test_slots(sq):
    form = FORMS["gdn"]
    args, states = draw(np.random.default_rng(9), 3, 4, 2, sq, 24, 16, "f32", form)
    pool = np.random.default_rng(10).standard_normal((7, 4, 24, 16)).astype(np.float32)
    slots = np.array([5, -1, 2], np.int32)
    out, new = run(f"linear b3 hq4 hkv2 sq{sq} d24 dv16 f32 {form} slots=?", {**args, "slots": slots}, pool)
    states = np.stack([pool[5], np.zeros_like(pool[0]), pool[2]])
    expected, last = expect(args, states, form)
    same(out, expected, "f32", "out")
    same(new[[5, 2]], last[[0, 2]], "f32", "state")
    untouched = [0, 1, 3, 4, 6]
    np.testing.assert_array_equal(new[untouched], pool[untouched])


@pytest.mark.parametrize("decay", ["head", "channel"])
@pytest.mark.parametrize("gates", ["reset", "large", "mixed"])
def test_gates(decay, gates):
    """Resets, gates far below what an exponential holds, and both beside gates near 0 (N1 to N3)."""
    form = f"decay={decay} beta normalize"
    rng = np.random.default_rng(11)
    args, state = draw(rng, 1, 2, 1, 75, 32, 32, "f32", form)
    g = args["decay"]
    rare = rng.random(g.shape) < 0.1
    if gates == "large":
        g *= 80
    else:
        g *= 0.01
        g[rare] = -np.inf if gates == "reset" else -300
    out, new = run(f"linear b1 hq2 hkv1 sq75 d32 f32 {form}", args, state)
    expected, last = expect(args, state, form)
    same(out, expected, "f32", "out")
    same(new, last, "f32", "state")


@pytest.mark.parametrize("decay", ["head", "channel"])
def test_one_token_repeated(decay):
    """L of equal keys and beta 1 has no small norm: only a substitution is exact (N4)."""
    form = f"decay={decay} beta normalize"
    args, state = draw(np.random.default_rng(12), 1, 2, 1, 96, 32, 32, "f32", form)
    args["k"][:] = args["k"][:, :, :1]
    args["beta"][:] = 1
    args["decay"] *= 0
    out, new = run(f"linear b1 hq2 hkv1 sq96 d32 f32 {form}", args, state)
    expected, last = expect(args, state, form)
    same(out, expected, "f32", "out")
    same(new, last, "f32", "state")


def test_what_lies_behind_a_sequence_is_not_read():
    form = FORMS["gdn"]
    lengths = [3, 20]
    args, state = draw(np.random.default_rng(13), 2, 2, 1, 20, 16, 16, "f32", form)
    packed = pack(args, lengths)
    sums = np.array([0, 3, 23], np.int32)
    line = f"linear b2 hq2 hkv1 sq23 d16 f32 {form} layout=varlen"
    clean, after = run(line, {**packed, "cu_seqlens": sums}, state)
    for x in packed.values():  # the other sequence
        x[3:] = np.nan
    out, new = run(line, {**packed, "cu_seqlens": sums}, state)
    np.testing.assert_array_equal(out[:3], clean[:3])
    np.testing.assert_array_equal(new[0], after[0])
    assert np.isnan(out[3:]).all()


@pytest.mark.parametrize("form", ["gdn", "kda"])
def test_bits_do_not_depend_on_threads(form):
    args, state = draw(np.random.default_rng(14), 2, 4, 2, 70, 64, 64, "f32", FORMS[form])
    line = f"linear b2 hq4 hkv2 sq70 d64 f32 {FORMS[form]}"
    results = []
    for threads in (1, 2, 7):
        attn.set_num_threads(threads)
        results.append(run(line, args, state))
    attn.set_num_threads(0)
    for out, new in results[1:]:
        np.testing.assert_array_equal(out, results[0][0])
        np.testing.assert_array_equal(new, results[0][1])


@pytest.mark.parametrize(
    ("name", "index", "value", "message"),
    [
        ("slots", 2, 5, "expected each slot once, found 5 at indices 0 and 2"),
        ("slots", 1, 7, "expected slots in 0 to 6, or -1 for none, found 7 at index 1"),
        ("slots", 1, -2, "expected slots in 0 to 6, or -1 for none, found -2 at index 1"),
        ("cu_seqlens", 3, 8, "expected prefix sums that end with 9, all rows, found 8 at index 3"),
        ("cu_seqlens", 2, 1, "expected prefix sums that never decrease, found 1 after 4 at index 2"),
    ],
)
def test_lists_are_checked(name, index, value, message):
    """The checked entry writes nothing then."""
    args, _ = draw(np.random.default_rng(15), 1, 2, 1, 9, 16, 16, "f32", "beta")
    pool = np.ones((7, 2, 16, 16), np.float32)
    lists = {"cu_seqlens": np.array([0, 4, 6, 9], np.int32), "slots": np.array([5, -1, 2], np.int32)}
    lists[name][index] = value
    kernel = attn.compile("linear b3 hq2 hkv1 sq9 d16 f32 beta layout=varlen slots=7")
    with pytest.raises(ValueError, match=message):
        kernel(*pack(args, [9]).values(), *lists.values(), out=(None, pool))
    np.testing.assert_array_equal(pool, 1)


def test_a_large_state_is_on_the_heap():
    check(16, (1, 1, 1, 40, 640, 640), "f32", FORMS["gdn"])


@pytest.mark.parametrize("line", ["linear sq40 d32 dv24 hq4 hkv2 {} decay=head beta normalize slots=3"])
@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16"])
def test_reference_lowering(line, dtype):
    """`attnc run --check` compares with it: the recurrence as linalg."""
    args, pool = draw(np.random.default_rng(17), 1, 4, 2, 40, 32, 24, dtype, FORMS["gdn"])
    pool = np.concatenate([pool] * 3)
    slots = np.array([1], np.int32)
    states = []
    for reference in (False, True):
        kernel = attn.compile(line.format(dtype), reference=reference)
        own = pool.copy()
        out, _ = kernel(*args.values(), slots, out=(None, own))
        states.append((out, own))
    same(states[0][0], states[1][0].astype(np.float64), dtype, "out")
    same(states[0][1], states[1][1].astype(np.float64), "f64" if dtype == "f64" else "f32", "state")
