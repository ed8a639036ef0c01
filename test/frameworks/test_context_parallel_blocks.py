"""ordered=True on 1, 2, 4 and 8 ranks, which are threads of this process: bits, of blocks of odd sizes."""

import threading

import numpy as np
import pytest
import torch

import attn
from attn.torch.parallel import _call, _group, _layout, _ordered

attn.set_cache(enabled=False)
ROWS, D, DV, BATCH, HQ, HKV, BLOCKS = 13, 59, 7, 3, 4, 2, 8  # rows of a block
S = ROWS * BLOCKS
MASKS = {
    "full": _layout.Mask(),
    "causal": _layout.Mask(is_causal=True),
    "window": _layout.Mask(left=17, right=30),
    "causal window": _layout.Mask(is_causal=True, left=29),
}
BACKWARDS = torch.arange(S).view(BLOCKS, ROWS).flip(0).flatten()  # blocks from the last to the first
LAYOUTS = {"contiguous": (2, 4, 8), "zigzag": (2, 4), "backwards": (1, 2, 8)}


class Threads(_group.Group):
    """A rank that is a thread: slots and a barrier are what all share."""

    def __init__(self, rank, size, slots, barrier):
        """Of shared slots."""
        self.rank, self.size, self._slots, self._barrier = rank, size, slots, barrier

    def _swap(self, value):
        self._slots[self.rank] = value
        self._barrier.wait(60)
        found = list(self._slots)
        self._barrier.wait(60)
        return found

    def start_shift(self, tensors):
        """As of a group."""
        found = self._swap([x.clone() for x in tensors])
        return _group.Pending([], found[self.rank - 1], [])

    def all_gather(self, x):
        """As of a group."""
        return [y.clone() for y in self._swap(x)]

    def exchange(self, sent, shapes):
        """As of a group."""
        found = [x[self.rank].clone() for x in self._swap(sent)]
        assert [tuple(x.shape) for x in found] == [tuple(x) for x in shapes]
        return found


def inputs():
    generator = torch.Generator().manual_seed(3)
    draw = lambda *shape: torch.randn(shape, generator=generator)  # noqa: E731
    rows = [draw(BATCH, HQ, S, D), draw(BATCH, HKV, S, D), draw(BATCH, HKV, S, DV)]
    return rows, draw(BATCH, HQ, S, DV), draw(BATCH, HQ, S), draw(HQ)


def run(mask, layout, ranks, method):
    """out, lse, dq, dk, dv and dsink of the whole."""
    whole, dout, dlse, sink = inputs()
    made = _layout.layout_of(BACKWARDS if layout == "backwards" else layout, S, ranks)
    made = _ordered.layout_of(made, BLOCKS)
    slots, barrier, found = [None] * ranks, threading.Barrier(ranks), [None] * ranks

    def on_rank(rank):
        torch.set_grad_enabled(True)
        plan = _call._Plan(
            Threads(rank, ranks, slots, barrier), made, method, BLOCKS, MASKS[mask], None, None, None, (), 0.0
        )
        leaves = [made.shard_of(x, rank, 2).requires_grad_() for x in whole] + [sink.clone().requires_grad_()]
        try:
            state, _ = results = _call._Sharded.forward(context := Context(), plan, None, *(x.detach() for x in leaves))
            assert state.shape[2] == S // ranks
            cotangents = [made.shard_of(x, rank, 2) for x in (dout, dlse)]
            found[rank] = [*results, *_call._Sharded.backward(context, *cotangents)[2:]]
        except BaseException:
            barrier.abort()
            raise

    threads = [threading.Thread(target=on_rank, args=(r,)) for r in range(ranks)]
    for x in threads:
        x.start()
    for x in threads:
        x.join()
    results = list(zip(*found, strict=True))
    return [made.to_whole(x, 2) for x in results[:5]] + [sum(results[5])]


class Context:
    """What autograd hands to a function."""

    def save_for_backward(self, *tensors):
        """Keeps them."""
        self.saved_tensors = tensors

    def set_materialize_grads(self, value):
        """Both cotangents are given."""


@pytest.fixture(scope="module")
def of_one():
    return {mask: run(mask, "contiguous", 1, "ring") for mask in MASKS}


@pytest.mark.parametrize("mask", MASKS)
def test_blocks_are_the_attention_of_the_whole(of_one, mask):
    (q, k, v), dout, dlse, sink = ([y.double().numpy() for y in x] if isinstance(x, list) else x for x in inputs())
    words = MASKS[mask]
    options = {"causal": "top_left"} if words.is_causal else {} if words.is_full else {"align": "top_left"}
    if (words.left, words.right) != (None, None):
        options["window"] = (words.left, words.right)
    options["sink"] = sink.double().numpy()
    out, lse = attn.reference.sdpa(q, k, v, **options, return_lse=True)
    cotangents = {"dlse": dlse.double().numpy(), "grad": ("q", "k", "v", "sink")}
    gradients = attn.reference.sdpa_backward(q, k, v, out, lse, dout.double().numpy(), **cotangents, **options)
    for x, y in zip(of_one[mask], (out, lse, *gradients.values()), strict=True):
        assert np.abs(x.double().numpy() - y).max() <= 2e-6 * np.abs(y).max()


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_bits_do_not_depend_on_the_ranks(of_one, mask, layout):
    for ranks in LAYOUTS[layout]:
        for method in ("ring", "allgather"):
            names = ("out", "lse", "dq", "dk", "dv", "dsink")
            for name, x, y in zip(names, run(mask, layout, ranks, method), of_one[mask], strict=True):
                assert torch.equal(x, y), f"{name}, {ranks} ranks, {method}"
