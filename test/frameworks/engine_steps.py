"""A step of a serving engine, ways to call what it writes, and its results by NumPy in float64."""

import math

import numpy as np
import torch

HQ, HKV, D, PAGE, PAGES = 4, 2, 59, 16, 24
LENGTHS, SUMS = [70, 33, 0, 1, 96], [0, 5, 6, 6, 7, 9]
GARBAGE = [-1, PAGES, 2**31 - 1, -(2**31)]
WAYS = {
    "eager": lambda f, *x: f(*x),
    "a graph": lambda f, *x: torch.compile(f, fullgraph=True, backend="aot_eager", dynamic=False)(*x),
    "inference": torch.inference_mode()(lambda f, *x: f(*x)),
}


def way(request):
    """A fixture: one of the ways."""
    torch._dynamo.reset()
    return WAYS[request.param]


def integers(values):
    """As engines have them."""
    return torch.tensor(values, dtype=torch.int32)


class Step:
    """A step: caches whose pages of no sequence are NaN, and a table with anything behind the lengths."""

    def __init__(self, size=D, seed=0):
        """Draws it."""
        torch.manual_seed(seed)
        self.q = torch.randn(SUMS[-1], HQ, size)
        self.caches = list(torch.randn(2, PAGES, PAGE, HKV, size))
        self.lengths, self.sums = integers(LENGTHS), integers(SUMS)
        self.table, pages = torch.zeros(5, 6, dtype=torch.int32), iter(torch.randperm(PAGES).tolist())
        for b, length in enumerate(LENGTHS):
            for n in range(6):
                self.table[b, n] = next(pages) if n * PAGE < length else GARBAGE[(b + n) % 4]
        for page in pages:
            for cache in self.caches:
                cache[page] = math.nan

    @property
    def given(self):
        """The operands of a call."""
        return self.q, *self.caches, self.table, self.lengths

    @property
    def causal(self):
        """What all calls say beside them."""
        return {"cu_seqlens_q": self.sums, "causal": "bottom_right"}

    def keys(self, b, scales=(1.0, 1.0)):
        """Keys and values of a sequence (length, Hkv, D)."""
        count, pages = LENGTHS[b], self.table[b, : -(-LENGTHS[b] // PAGE)].long()
        wide = [(c.double() * s)[pages] for c, s in zip(self.caches, scales, strict=True)]
        return [x.reshape(-1, HKV, x.shape[-1])[:count].numpy() for x in wide]

    def expected(self, scales=(1.0, 1.0), **options):
        """out (total, Hq, D) and lse (Hq, total), of the reference."""
        rows = [self.q[SUMS[b] : SUMS[b + 1]].detach().double().numpy() for b in range(len(LENGTHS))]
        parts = [attend(x, *self.keys(b, scales), **options) for b, x in enumerate(rows)]
        return np.concatenate([x for x, _ in parts]), np.concatenate([x for _, x in parts], 1)


def attend(q, k, v, causal=True, left=None, right=None, scale=None, sink=None):
    """Attention of the last queries of a sequence, (rows, Hq, D); row i stands at keys − rows + i."""
    i, j = np.arange(len(q))[:, None] + len(k) - len(q), np.arange(len(k))
    keep = j <= (i if causal else i + 10**6)
    keep &= (i - j <= (10**6 if left is None else left)) & (j - i <= (10**6 if right is None else right))
    group = q.shape[1] // k.shape[1]
    out, lse = np.zeros((*q.shape[:2], v.shape[2])), np.full(q.shape[1::-1], -np.inf)
    for h in range(q.shape[1]):
        s = np.where(keep, q[:, h] @ k[:, h // group].T * (scale or 1 / math.sqrt(q.shape[2])), -np.inf)
        with np.errstate(divide="ignore"):
            total = np.exp(s).sum(1) + (0 if sink is None else math.exp(sink[h]))
            lse[h] = np.log(total)
        out[:, h] = np.exp(s) @ v[:, h // group] / np.where(total, total, 1)[:, None]
    return out, lse


def close(found, wanted, atol=2e-6):
    """They agree, within the rounding of f32."""
    np.testing.assert_allclose(np.asarray(found.detach(), np.float64), wanted, atol=atol, rtol=1e-5)
