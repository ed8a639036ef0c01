"""The reference of linear attention beside the recurrence of each family as its paper has it, one head at a time; its
gradients beside central differences; packed sequences, slots, snapshots, and what is refused.
"""

import numpy as np
import pytest

from attn import reference
from linear_families import FAMILIES, Sizes, draw_family

INF, NAN = np.inf, np.nan
SIZES = Sizes(b=2, hk=2, hv=4, t=13, dk=5, dv=3)


def close(found, expected, bound=1e-13):
    """Relative to the largest number."""
    assert found.shape == expected.shape
    assert np.abs(found - expected).max(initial=0) <= bound * np.abs(expected).max(initial=0)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("sizes", [SIZES, Sizes(1, 1, 1, 1, 1, 1), Sizes(1, 1, 3, 37, 6, 7), Sizes(2, 3, 3, 0, 4, 2)])
def test_each_family_is_its_own_recurrence(name, sizes):
    case = draw_family(name, sizes)
    out, state = reference.linear_attention(**case.options)
    close(out, case.out)
    close(state, case.state)


def test_without_a_state_it_starts_from_zero(rng):
    options = draw_family("GDN", SIZES).options
    shape = options.pop("state").shape
    out, state = reference.linear_attention(**options, return_state=True)
    expected = reference.linear_attention(**options, state=np.zeros(shape))
    np.testing.assert_array_equal(out, expected[0])
    np.testing.assert_array_equal(state, expected[1])
    np.testing.assert_array_equal(reference.linear_attention(**options), out)


def test_normalised_rows(rng):
    options = draw_family("GDN", SIZES).options
    rows = {x: options[x] / np.sqrt((options[x] ** 2).sum(-1, keepdims=True) + 1e-6) for x in ("q", "k")}
    expected = reference.linear_attention(**options | rows)
    for found, want in zip(reference.linear_attention(**options, normalize=True), expected, strict=True):
        close(found, want)


@pytest.mark.parametrize("of", [(), (Ellipsis, None)], ids=["a head", "a channel"])
def test_a_decay_of_minus_infinity_forgets(of):
    options = draw_family("KDA" if of else "GDN", SIZES).options
    options["decay"][:, :, 6] = -INF
    tail = {name: x if name in ("scale", "before") else x[:, :, 6:] for name, x in options.items() if name != "state"}
    out, state = reference.linear_attention(**options)
    expected = reference.linear_attention(**tail, return_state=True)
    close(out[:, :, 6:], expected[0])
    close(state, expected[1])


def test_large_decays_underflow_and_never_overflow():
    options = draw_family("GDN", SIZES).options
    options["decay"][:, :, ::3] = -1e30
    assert all(np.isfinite(x).all() for x in reference.linear_attention(**options))


def packed(options, lengths):
    """The first tokens of each sequence, one after the other; and the prefix sums."""
    rows = {
        name: np.concatenate([x[b, :, :n].swapaxes(0, 1) for b, n in enumerate(lengths)])
        for name, x in options.items()
        if name not in ("scale", "before", "state")
    }
    return options | rows | {"cu_seqlens": np.cumsum([0, *lengths])}


@pytest.mark.parametrize("name", ["GDN", "KDA", "RWKV-7, DPLR"])
def test_packed_sequences_are_each_alone(name):
    options, lengths = draw_family(name, Sizes(3, 2, 4, 13, 5, 3)).options, [13, 0, 6]
    out, state, snapshots = reference.linear_attention(**packed(options, lengths), every=4)
    assert snapshots.shape == (3, 19 // 4, 4, 5, 3)
    first = 0
    for b, n in enumerate(lengths):
        mine = {x: y if x in ("scale", "before") else y[b : b + 1] for x, y in options.items()}
        mine = {x: y[:, :, :n] if x not in ("scale", "before", "state") else y for x, y in mine.items()}
        expected = reference.linear_attention(**mine, every=4)
        close(out[first : first + n].swapaxes(0, 1), expected[0][0])
        close(state[b], expected[1][0])
        close(snapshots[b, : n // 4], expected[2][0])
        assert (snapshots[b, n // 4 :] == 0).all()
        first += n


def test_slots_of_a_pool():
    options = draw_family("GDN", Sizes(3, 1, 2, 5, 4, 3)).options
    pool = np.full((6, 2, 4, 3), NAN)
    pool[[4, 1]] = options["state"][:2]
    out, state = reference.linear_attention(**options | {"state": pool, "slots": [4, 1, -1]})
    options["state"][2] = 0
    expected = reference.linear_attention(**options)
    close(out, expected[0])
    close(state[[4, 1]], expected[1][:2])
    assert np.isnan(state[[0, 2, 3, 5]]).all()
    assert np.isnan(pool[0]).all()


@pytest.mark.parametrize("every", [1, 4, 13, 14])
def test_snapshots_are_states_on_the_way(every):
    options = draw_family("GDN", SIZES).options
    snapshots = reference.linear_attention(**options, every=every)[2]
    assert snapshots.shape == (2, 13 // every, 4, 5, 3)
    for n in range(13 // every):
        end = (n + 1) * every
        part = {name: x if name in ("scale", "before", "state") else x[:, :, :end] for name, x in options.items()}
        close(snapshots[:, n], reference.linear_attention(**part)[1])


def gradients_agree(options, seed=0):
    """Compares <gradient, u> with differences of fourth order of the loss along random directions u."""
    rng = np.random.default_rng(seed)
    names = [name for name in ("q", "k", "v", "decay", "beta", "erase", "write", "state") if name in options]
    dout, dstate = (rng.standard_normal(x.shape) for x in reference.linear_attention(**options, return_state=True))
    found = reference.linear_attention_backward(**options, dout=dout, dstate=dstate, grad=names)
    assert list(found) == names

    def along(name, u, step):
        out, state = reference.linear_attention(**options | {name: options[name] + step * u}, return_state=True)
        return (out * dout).sum() + (state * dstate).sum()

    for name in names:
        assert found[name].shape == options[name].shape
        u = rng.standard_normal(options[name].shape)
        low, high = (along(name, u, s * 1e-4) - along(name, u, -s * 1e-4) for s in (1, 2))
        expected = (8 * low - high) / 12e-4
        np.testing.assert_allclose((found[name] * u).sum(), expected, rtol=1e-7, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("name", FAMILIES)
def test_gradients_of_each_family(name):
    options = draw_family(name, SIZES).options
    gradients_agree(options)
    gradients_agree(options | {"normalize": 0.3})
    del options["state"]
    gradients_agree(options)


def test_gradients_of_packed_sequences():
    options = packed(draw_family("RWKV-7, DPLR", Sizes(3, 2, 4, 6, 3, 2)).options, [6, 0, 3])
    gradients_agree(options)
    options = packed(draw_family("GDN", Sizes(3, 2, 4, 6, 3, 2)).options, [1, 5, 3])
    gradients_agree(options | {"state": np.random.default_rng(3).standard_normal((5, 4, 3, 2)), "slots": [3, -1, 0]})


def test_gradients_behind_a_reset():
    options = draw_family("KDA", Sizes(1, 1, 2, 5, 3, 2)).options
    options["decay"][:, :, 2] = -INF
    found = reference.linear_attention_backward(**options, dout=np.ones((1, 2, 5, 2)), grad=("decay", "state", "k"))
    assert all(np.isfinite(x).all() for x in found.values())
    assert (found["state"] != 0).any()
    assert (found["decay"][:, :, 2] == 0).all()


def array(*shape):
    """Zeros."""
    return np.zeros(shape)


DENSE = {"q": array(2, 2, 7, 5), "k": array(2, 2, 7, 5), "v": array(2, 4, 7, 3)}
PACKED = {"q": array(7, 2, 5), "k": array(7, 2, 5), "v": array(7, 4, 3), "cu_seqlens": [0, 3, 7]}
REFUSED = {
    "q of rank 3": (DENSE | {"q": array(2, 7, 5)}, r"expected q of rank 4, \(batch, heads, tokens, ·\), found"),
    "packed of rank 4": (PACKED | {"v": array(1, 7, 4, 3)}, "expected v of rank 3"),
    "q unlike k": (DENSE | {"q": array(2, 4, 7, 5)}, r"expected q of the shape of k, \(2, 2, 7, 5\), found \(2, 4"),
    "tokens of v": (DENSE | {"v": array(2, 4, 6, 3)}, "expected v to have the batch and tokens of k"),
    "packed tokens of v": (PACKED | {"v": array(6, 4, 3)}, "expected v to have the batch and tokens of k"),
    "heads": (
        DENSE | {"v": array(2, 3, 7, 3)},
        "multiple of the 2 key heads, found 3; value head h reads",
    ),
    "no channels": (DENSE | {"q": array(2, 2, 7, 0), "k": array(2, 2, 7, 0)}, "head size of q and k of at least 1"),
    "decay of key heads": (
        DENSE | {"decay": array(2, 2, 7)},
        r"\(2, 4, 7\) or \(2, 4, 7, 5\), one number",
    ),
    "decay by tokens": (DENSE | {"decay": array(2, 7, 4)}, r"found \(2, 7, 4\); write decay.swapaxes\(1, 2\)"),
    "packed decay by heads": (PACKED | {"decay": array(4, 7, 5)}, r"write decay.swapaxes\(0, 1\)"),
    "beta a channel": (
        DENSE | {"beta": array(2, 4, 7, 5)},
        r"beta of shape \(2, 4, 7\), one number a value head",
    ),
    "erase a head": (DENSE | {"erase": array(2, 4, 7)}, r"erase of shape \(2, 4, 7, 5\), a vector"),
    "beta and erase": (DENSE | {"beta": array(2, 4, 7), "erase": array(2, 4, 7, 5)}, "beta or erase, found both"),
    "write alone": (DENSE | {"write": array(2, 4, 7, 5)}, "expected erase beside write"),
    "before alone": (DENSE | {"before": True}, "expected erase beside before=True"),
    "state of values first": (DENSE | {"state": array(2, 4, 3, 5)}, r"write state.swapaxes\(2, 3\)"),
    "state of key heads": (
        DENSE | {"state": array(2, 2, 5, 3)},
        r"\(2, 4, 5, 3\), found \(2, 2, 5, 3\)",
    ),
    "pool without slots": (DENSE | {"state": array(9, 4, 5, 3)}, r"expected state of shape \(2, .*; write slots="),
    "slots without a pool": (DENSE | {"slots": [0, 1]}, "expected state, a pool, beside slots"),
    "a slot twice": (
        DENSE | {"state": array(9, 4, 5, 3), "slots": [8, 8]},
        "each slot once, found 8 of",
    ),
    "a slot outside": (
        DENSE | {"state": array(9, 4, 5, 3), "slots": [0, 9]},
        "in 0 to 8, or -1 for none, found 9",
    ),
    "slots of others": (DENSE | {"state": array(9, 4, 5, 3), "slots": [0]}, r"slots of shape \(2,\)"),
    "prefix sums": (PACKED | {"cu_seqlens": [0, 8]}, "expected cu_seqlens to go from 0 to the 7 packed rows"),
    "normalize": (DENSE | {"normalize": -1.0}, "expected normalize > 0"),
    "every": (DENSE | {"every": 0}, "expected every to be an integer >= 1"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_mistakes(what):
    options, message = REFUSED[what]
    with pytest.raises(ValueError, match=message):
        reference.linear_attention(**options)


def test_mistakes_of_gradients():
    with pytest.raises(ValueError, match="expected grad of q, k, v, what the call has, found 'beta'"):
        reference.linear_attention_backward(**DENSE, dout=array(2, 4, 7, 3), grad=("q", "beta"))
    with pytest.raises(ValueError, match=r"expected dout of shape \(2, 4, 7, 3\)"):
        reference.linear_attention_backward(**DENSE, dout=array(2, 4, 7, 2))
    with pytest.raises(TypeError, match="expected dout or dstate"):
        reference.linear_attention_backward(**DENSE, dout=None)
