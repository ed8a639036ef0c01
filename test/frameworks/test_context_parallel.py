"""Attention of one sequence on 1, 2 and 4 ranks of gloo: numbers by the gathered tensors in float64, and bits."""

import itertools

import numpy as np
import pytest
import ranks
import torch

import attn
import attn.torch
from attn.torch.parallel import _group, _layout

S, D, DV = 128, 16, 24
STARTS = [0, 19, 20, 75, 90, S]
NUMBERS = (1, 2, 4)
LAYOUTS = ("contiguous", "zigzag")
SCHEMES = {
    "allgather": {"method": "allgather"},
    "ring": {"method": "ring"},
    "ulysses": {"method": "ulysses"},
    "ordered ring": {"method": "ring", "ordered": True},
    "ordered allgather": {"method": "allgather", "ordered": True},
}
ALL, SOME = tuple(SCHEMES), ("allgather", "ring", "ulysses", "ordered ring")
# Options of the call, heads, batch, type, and what runs; sinks and cotangents of lse are drawn where they are named.
# Each form of a kernel is compiled, which is most of the time of this file.
CASES = {
    "causal": ({"is_causal": True}, 8, 2, 2, "float32", ALL, LAYOUTS),
    "window": (
        {"is_causal": True, "window": (37, None), "softcap": 5.0, "sink": True, "lse": True},
        *(8, 4, 1, "float32", ("allgather", "ring"), LAYOUTS[1:]),
    ),
    "packed": ({"is_causal": True, "cu_seqlens": STARTS, "sink": True}, 8, 2, 1, "float32", SOME, LAYOUTS[1:]),
    "full": ({}, 8, 2, 1, "float32", ("ring",), LAYOUTS[1:]),
    "bf16": ({"is_causal": True}, 8, 2, 1, "bfloat16", ("ring", "ordered ring"), LAYOUTS[1:]),
}
# Of one rank only what others are compared with bit by bit.
OF_ONE = ("ordered ring", "ulysses")
OF_TWO = ("causal", "full")


def runs_of(case, count):
    """The layouts and schemes of a case."""
    schemes, layouts = CASES[case][5:]
    if count == 2 and case not in OF_TWO:
        return []
    return [(x, y) for x in layouts for y in schemes if count > 1 or y in OF_ONE]


def inputs(case):
    options, hq, hkv, batch, dtype = CASES[case][:5]
    generator = torch.Generator().manual_seed(7)
    draw = lambda *shape: torch.randn(shape, generator=generator).to(getattr(torch, dtype))  # noqa: E731
    given = {"q": draw(batch, hq, S, D), "k": draw(batch, hkv, S, D), "v": draw(batch, hkv, S, DV)}
    given["dout"] = draw(batch, hq, S, DV)
    if "sink" in options:
        given["sink"] = torch.randn(hq, generator=generator)
    if "lse" in options:
        given["dlse"] = torch.randn(batch, hq, S, generator=generator)
    return given


def on_ranks(rank, count):
    torch.set_grad_enabled(True)
    found = {}
    for case in CASES:
        options = {x: y for x, y in CASES[case][0].items() if x not in ("sink", "lse")}
        whole = inputs(case)
        for layout, name in runs_of(case, count):
            scheme = SCHEMES[name]
            segments = _layout.layout_of(layout, S, count)
            given = {x: y if x == "sink" else segments.shard_of(y, rank, 2) for x, y in whole.items()}
            leaves = {x: given[x].clone().requires_grad_() for x in ("q", "k", "v", "sink") if x in given}
            out, lse = attn.torch.sharded_sdpa(
                *(leaves[x] for x in "qkv"),
                sink=leaves.get("sink"),
                layout=layout,
                enable_gqa=True,
                return_lse=True,
                **scheme,
                **options,
            )
            cotangents = [given["dout"], given.get("dlse")]
            torch.autograd.backward([out, lse][: 2 if "dlse" in given else 1], [x for x in cotangents if x is not None])
            results = [out, lse, *(leaves[x].grad for x in "qkv")]
            made = [attn.torch.unshard(x, 2, layout=layout) for x in results]
            if "sink" in leaves:
                total = leaves["sink"].grad.clone()
                torch.distributed.all_reduce(total)
                made.append(total)
            found[case, layout, name] = made
    return found if rank == 0 else None


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    return {n: ranks.run(on_ranks, n, folder=folder)[0] for n in NUMBERS}


def reference(case):
    options = {x: y for x, y in CASES[case][0].items() if x not in ("sink", "lse", "is_causal", "cu_seqlens")}
    wide = {x: y.double().numpy() for x, y in inputs(case).items()}
    if CASES[case][0].get("is_causal"):
        options["causal"] = "top_left"
    elif "window" in options:
        options["align"] = "top_left"
    if "cu_seqlens" in CASES[case][0]:
        documents = np.searchsorted(STARTS, np.arange(S), side="right")
        options["mask"] = (documents[:, None] == documents[None])[None, None]
    if "sink" in wide:
        options["sink"] = wide["sink"]
    q, k, v = (wide[x] for x in "qkv")
    out, lse = attn.reference.sdpa(q, k, v, **options, return_lse=True)
    grad = tuple("qkv") + (("sink",) if "sink" in wide else ())
    found = attn.reference.sdpa_backward(q, k, v, out, lse, wide["dout"], dlse=wide.get("dlse"), grad=grad, **options)
    return [out, lse, *found.values()]


@pytest.mark.parametrize("case", CASES)
def test_ranks_compute_the_attention_of_the_whole(found, case):
    wanted = reference(case)
    bound = 2e-6 if CASES[case][4] == "float32" else 2e-2
    for n in NUMBERS:
        for layout, name in runs_of(case, n):
            for x, y in zip(found[n][case, layout, name], wanted, strict=True):
                error = np.abs(x.double().numpy() - y).max() / np.abs(y).max()
                assert error <= bound, f"{n} ranks, {layout}, {name}: {error:.1e}"


def test_narrow_results_are_rounded_once(found):
    """In bfloat16 the error of ranks is that of one call, in the root of mean squares; gradients' not above it."""
    wanted = reference("bf16")
    given = inputs("bf16")
    leaves = [given[x].requires_grad_() for x in "qkv"]
    out = attn.torch.sdpa(*leaves, is_causal=True, enable_gqa=True)
    out.backward(given["dout"])
    one = [out.detach(), None, *(x.grad for x in leaves)]
    rms = lambda x, y: float(np.sqrt(np.mean(np.square(x.double().numpy() - y))))  # noqa: E731
    for n in NUMBERS:
        for layout, name in runs_of("bf16", n):
            for index in (0, 2, 3, 4):
                error = rms(found[n]["bf16", layout, name][index], wanted[index])
                allowed = 1.02 * rms(one[index], wanted[index])
                assert error <= allowed, f"{n} ranks, {layout}, {name}, {index}: {error:.2e} > {allowed:.2e}"


@pytest.mark.parametrize("case", [x for x in CASES if "ordered ring" in CASES[x][5]])
def test_ordered_has_the_same_bits_on_any_number_of_ranks(found, case):
    for n in NUMBERS:
        for layout, name in runs_of(case, n):
            if name.startswith("ordered"):
                one = found[1][case, CASES[case][6][0], "ordered ring"]
                for x, y in zip(found[n][case, layout, name][:5], one, strict=False):
                    assert torch.equal(x, y), f"{n} ranks, {layout}, {name}"


@pytest.mark.parametrize("case", [x for x in CASES if "ulysses" in CASES[x][5]])
def test_heads_have_the_same_bits_on_any_number_of_ranks(found, case):
    """Where each rank has whole key heads, all that ulysses computes; always out, lse and dq."""
    for n in NUMBERS:
        for layout, name in runs_of(case, n):
            if name == "ulysses":
                results = zip(found[n][case, layout, name][:5], found[1][case, layout, name], strict=False)
                for x, y in list(results)[: 5 if n <= CASES[case][2] else 3]:
                    assert torch.equal(x, y), f"{n} ranks, {layout}"


def test_the_ring_sends_as_little_as_it_can():
    """K and V go n − 1 hops, dK and dV n."""
    sent = []

    class Counted(_group.Group):
        def __init__(self):
            self.rank, self.size, self.group = 0, 4, None

        def start_shift(self, tensors):
            sent.append(sum(x.numel() for x in tensors))
            return _group.Pending(list(tensors), list(tensors), [])

    from attn.torch.parallel import _keys

    layout = _layout.layout_of("contiguous", 4 * 8, 4)
    k = torch.zeros(1, 2, 8, 4)
    ring = _keys.Ring(Counted(), layout, k, k)
    for _, keys, values in ring:
        ring.add([keys, values])
    ring.gradients()
    assert sum(sent) == 2 * k.numel() * (3 + 4)


def kept_by_pieces(mask, rows, keys):
    """What the calls of a pair of segments keep, by the meaning of a kernel's words; each pair once."""
    found = np.zeros((rows[1], keys[1]), int)
    band = lambda i, j: (  # noqa: E731
        (not mask.is_causal or j <= i)
        and (mask.left is None or j >= i - mask.left)
        and (mask.right is None or j <= i + mask.right)
    )
    for piece in mask.pieces(rows, keys):
        i0, j0 = piece.rows.start, piece.keys.start
        sizes = (piece.rows.stop - i0, piece.keys.stop - j0)
        documents = [(0, sizes[0], 0, sizes[1])]
        if piece.sums is not None:
            assert (piece.sums[0][-1], piece.sums[1][-1]) == sizes
            q, k = piece.sums
            documents = [(*x, *y) for x, y in zip(itertools.pairwise(q), itertools.pairwise(k), strict=True)]
        for a, b, c, d in documents:
            offset = piece.offset if piece.sums is None else (d - c) - (b - a)  # bottom_right
            for i in range(b - a):
                for j in range(d - c):
                    found[i0 + a + i, j0 + c + j] += not piece.is_masked or band(i + offset, j)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_calls_of_all_pairs_of_segments_are_the_mask(seed):
    """Also where documents, windows and segments end anywhere."""
    rng = np.random.default_rng(seed)
    length = 40
    starts = None
    if seed % 2:
        starts = (0, *sorted(rng.integers(0, length, 4).tolist()), length)
    left, right = (None if rng.random() < 0.5 else int(rng.integers(0, 15)) for _ in "lr")
    mask = _layout.Mask(bool(seed % 3), left, right, starts)
    i, j = np.arange(length)[:, None], np.arange(length)
    expected = np.ones((length, length), bool)
    if mask.is_causal:
        expected &= j <= i
    if left is not None:
        expected &= j >= i - left
    if right is not None:
        expected &= j <= i + right
    if starts is not None:
        document = np.searchsorted(starts, np.arange(length), side="right")
        expected &= document[:, None] == document
    for layout in (*LAYOUTS, torch.from_numpy(np.concatenate([np.arange(30, 40), np.arange(0, 30)]))):
        shards = _layout.layout_of(layout, length, 2).segments
        segments = [x for shard in shards for x in shard]
        for rows in segments:
            for keys in [*segments, (0, length)]:
                part = expected[rows[0] : sum(rows), keys[0] : sum(keys)]
                assert np.array_equal(kept_by_pieces(mask, rows, keys), part), (mask, rows, keys)
