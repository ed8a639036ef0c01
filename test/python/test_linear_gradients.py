"""attn.linear_attention_backward beside the reference and finite differences."""

import ml_dtypes
import numpy as np
import pytest

import attn
from linear_families import FAMILIES, Sizes, draw_family
from test_reference_linear import packed

NAMES = ("q", "k", "v", "decay", "beta", "erase", "write", "state")


def draw(family, sizes, dtype=np.float64):
    """The arguments of a call, cotangents of its results, and the names of what has a gradient."""
    rng = np.random.default_rng(1)
    given = {
        name: x.astype(dtype) if isinstance(x, np.ndarray) else x
        for name, x in draw_family(family, Sizes(*sizes)).options.items()
    }
    given["dout"] = rng.standard_normal(given["v"].shape).astype(dtype)
    given["dstate"] = rng.standard_normal((sizes[0], *sizes[2:3], *sizes[4:])).astype(dtype)
    given["grad"] = [name for name in NAMES if name in given]
    return given


def check(given, tolerance):
    found = attn.linear_attention_backward(**given)
    assert list(found) == given["grad"]
    for name, want in attn.reference.linear_attention_backward(**given).items():
        error = np.abs(found[name].astype(np.float64) - want).max() / np.abs(want).max()
        assert error <= tolerance, f"{name}: {error:.2g}"
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_families(family):
    check(draw(family, (1, 1, 2, 37, 9, 12)), 1e-12)


@pytest.mark.parametrize("tokens", [1, 63, 65, 113])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tokens(tokens, dtype):
    check(draw("GDN", (2, 2, 4, tokens, 9, 12), dtype), 1e-5 if dtype == np.float32 else 1e-12)


def test_rows_of_16_bits_have_a_state_of_32():
    given = draw("GDN", (1, 1, 2, 40, 16, 16), np.float32)
    for name in ("q", "k", "v", "dout"):
        given[name] = given[name].astype(ml_dtypes.bfloat16)
    found = check(given, 2e-2)
    assert found["q"].dtype == ml_dtypes.bfloat16
    assert found["state"].dtype == np.float32


@pytest.mark.parametrize("family", ["GDN", "KDA"])
@pytest.mark.parametrize("value", [-np.inf, -300.0])
def test_forgetting_has_finite_gradients(family, value):
    given = draw(family, (1, 1, 2, 70, 6, 5))
    where = np.random.default_rng(2).random(given["decay"].shape) < 0.1
    given["decay"][where] = value
    found = check(given, 1e-12)
    assert value > -np.inf or not found["decay"][where].any()


def test_finite_differences():
    given = draw("GDN", (1, 1, 2, 35, 6, 5)) | {"normalize": 1e-3, "scale": 0.7}
    cotangents = [given.pop(x) for x in ("dout", "dstate")]
    names = given.pop("grad")
    found = attn.linear_attention_backward(**given, dout=cotangents[0], dstate=cotangents[1], grad=names)

    def loss(x):
        results = attn.linear_attention(**given | x | {"state": given["state"].copy()}, return_state=True)
        return sum((y * d).sum() for y, d in zip(results, cotangents, strict=True))

    rng, step = np.random.default_rng(3), 1e-6
    for name in [x for x in names if x != "state"]:
        direction = rng.standard_normal(given[name].shape)
        difference = loss({name: given[name] + step * direction}) - loss({name: given[name] - step * direction})
        np.testing.assert_allclose((found[name] * direction).sum(), difference / (2 * step), rtol=1e-6)


def test_layout_and_parts():
    given = draw("GDN", (2, 2, 4, 40, 9, 12))
    whole = attn.linear_attention_backward(**given)
    swapped = {x: y.swapaxes(1, 2).copy() for x, y in given.items() if isinstance(y, np.ndarray) and "state" not in x}
    found = attn.linear_attention_backward(**given | swapped, layout="bshd")
    for name, x in found.items():
        np.testing.assert_allclose(x if name == "state" else x.swapaxes(1, 2), whole[name], rtol=1e-12, atol=1e-14)
    some = attn.linear_attention_backward(**given | {"grad": ("beta", "q"), "dstate": None})
    want = attn.reference.linear_attention_backward(**given | {"grad": ("beta", "q"), "dstate": None})
    for name in want:
        np.testing.assert_allclose(some[name], want[name], rtol=1e-10, atol=1e-12)


# The last one has as many sequences as no kernel has, and one without tokens.
@pytest.mark.parametrize("lengths", [[37], [33, 5], [32, 0, 41]])
@pytest.mark.parametrize("family", ["GDN", "RWKV-7, DPLR"])
def test_packed_sequences(family, lengths):
    count = len(lengths)
    given = draw(family, (count, 1, 2, max(lengths), 9, 12))
    names = {x: given[x] for x in ("grad", "dstate")}
    check(packed({x: y for x, y in given.items() if x not in names}, lengths) | names, 1e-12)


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("slots", [[4, -1, 0], [1, 2, 0]])
def test_slots(is_packed, slots):
    given, rng = draw("KDA", (3, 1, 2, 37, 9, 12)), np.random.default_rng(1)
    pools = {x: rng.standard_normal((5, 2, 9, 12)) for x in ("state", "dstate")}
    names = {"grad": given.pop("grad"), "slots": np.array(slots), **pools}
    given = {x: y for x, y in given.items() if x not in names}
    found = check((packed(given, [9, 37, 33]) if is_packed else given) | names, 1e-12)
    np.testing.assert_array_equal(found["state"][3], pools["dstate"][3])


def test_bits_do_not_depend_on_threads():
    given = draw("GDN", (2, 2, 4, 65, 9, 12), np.float32)
    before, found = attn.get_num_threads(), []
    try:
        for threads in (1, 2, 7):
            attn.set_num_threads(threads)
            found.append(attn.linear_attention_backward(**given))
    finally:
        attn.set_num_threads(before)
    for other in found[1:]:
        assert all((other[name] == x).all() for name, x in found[0].items())


def test_what_is_not_there_is_refused():
    given = draw("GDN", (1, 1, 2, 12, 6, 5))
    with pytest.raises(ValueError, match=r"expected grad of q, k, v, .*, found 'erase'"):
        attn.linear_attention_backward(**given | {"grad": ("erase",)})
    with pytest.raises(ValueError, match=r"expected dout of shape \(1, 2, 12, 5\), as the result, found"):
        attn.linear_attention_backward(**given | {"dout": given["q"]})
    with pytest.raises(TypeError, match="expected dout or dstate"):
        attn.linear_attention_backward(**given | {"dout": None, "dstate": None})


def test_lines_say_what_has_no_gradient():
    with pytest.raises(attn.CompileError, match="expected grad of q, k, v, state, what the line has, found beta"):
        attn.compile("linear sq4 d8 f32 grad=beta")
