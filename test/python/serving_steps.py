"""Random steps of a serving engine against the reference: lengths, pages, strides, types, trees, prefixes, key sums.

    build/venv/bin/python test/python/serving_steps.py --count 1000
    PYTHONPATH=python build/frameworks/bin/python test/python/serving_steps.py --count 100 --compiled

Each run of STEPS_A_KERNEL steps is one kernel for any sizes; the steps differ in their sequences, pages and values.
With --eager and --compiled, attn.torch runs each step as well, with the same bits: by plans, and in graphs of
torch.compile without breaks.
"""

import argparse
import sys
import traceback

import ml_dtypes
import numpy as np

import attn
from attn import reference
from helpers import BF16, F16, compare

STEPS_A_KERNEL = 25
MASKS = {
    "full": {},
    "causal": dict(causal="bottom_right"),
    "window": dict(causal="bottom_right", window=(17, 0)),
    "chunk": dict(causal="bottom_right", chunk=32),
    "sink": dict(causal="bottom_right", sink=True),
    "softcap": dict(causal="bottom_right", softcap=5.0),
    "alibi": dict(causal="bottom_right", slopes=True),
    "alibi_slopes": dict(causal="bottom_right", alibi=True),
    "softcap, then alibi_slopes": dict(causal="bottom_right", alibi=True, softcap=5.0),
    "softcap, then alibi": dict(causal="bottom_right", slopes=True, softcap=5.0, softcap_first=True),
    "tree": dict(tree=True),
    "prefix": dict(causal="bottom_right", prefix_of_all=True),
}
CACHES = {"f32": np.float32, "f64": np.float64, "bf16": BF16, "f16": F16, "int8": np.int8}
CACHES |= {"fp8": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
LAYOUTS = ("nhd", "hnd")
SCALES = ("head", "page", "slot")
STRIDES = ("contiguous", "halves of all", "halves of a page")


class Steps:
    """Steps of one kind: the type of the cache, a page, a layout, strides, a mask, and sizes of heads."""

    def __init__(self, seed, other=None):
        """Draws the kind; `other` runs each step as well."""
        self.other = other
        self.random = np.random.default_rng(seed)
        self.cache = self.pick(CACHES)
        self.page = int(self.pick([1, 3, 16, 16, 64, 128, 256]))
        self.layout, self.strides, self.mask = self.pick(LAYOUTS), self.pick(STRIDES), self.pick(MASKS)
        self.size, self.columns = (int(self.pick([16, 40, 59, 64, 128])) for _ in range(2))
        if self.strides != "contiguous":
            self.columns = self.size
        self.kv_heads = int(self.random.integers(1, 4))
        self.heads = self.kv_heads * int(self.pick([1, 2, 4]))
        self.name = f"{self.cache} page {self.page} {self.layout} {self.strides} {self.mask} "
        self.name += f"hq{self.heads} hkv{self.kv_heads} d{self.size} dv{self.columns}"
        self.scales = self.pick(SCALES)
        self.name += f" a scale a {self.scales}" if self.is_quantised else ""
        self.has_sums = bool(self.random.random() < 0.5)
        self.name += " with sums of weights" if self.has_sums else ""

    @property
    def is_quantised(self):
        """Whether the caches go with scales."""
        return self.cache in ("int8", "fp8", "e5m2")

    def pick(self, values):
        """One of them."""
        return list(values)[self.random.integers(len(values))]

    def numbers(self, *shape):
        """Normal numbers, in the type of the cache."""
        values = self.random.standard_normal(shape)
        if self.cache == "int8":
            return np.clip(np.round(values * 40), -127, 127).astype(np.int8)
        return values.astype(CACHES[self.cache])

    def caches(self, pages):
        """Keys and values, as an engine lays them out."""
        inner = (self.page, self.kv_heads) if self.layout == "nhd" else (self.kv_heads, self.page)
        if self.strides == "halves of all":
            return tuple(self.numbers(2, pages, *inner, self.size))
        if self.strides == "halves of a page":
            both = self.numbers(pages, 2, *inner, self.size)
            return both[:, 0], both[:, 1]
        return self.numbers(pages, *inner, self.size), self.numbers(pages, *inner, self.columns)

    def draw(self):
        """The arguments of a step, and its options."""
        batch = int(self.random.integers(1, 8))
        queries = self.random.choice([0, 1, 1, 1, 2, 5, 33, 70], batch)
        lengths = self.random.integers(0, 200, batch) + (queries if self.random.random() < 0.8 else 0)
        used = -(-lengths // self.page)
        pages, width = int(used.sum()) + 2, int(used.max()) + int(self.random.integers(0, 3))
        table = np.full((batch, width), 1 << 30, np.int32)  # no page: never read
        free = self.random.permutation(pages)
        for b, count in enumerate(used):
            table[b, :count], free = free[:count], free[count:]
        q = self.random.standard_normal((int(queries.sum()), self.heads, self.size))
        q = q.astype(np.float32 if self.is_quantised else CACHES[self.cache])
        sums = np.concatenate([[0], np.cumsum(queries)]).astype(np.int32)
        options = dict(MASKS[self.mask], page_layout=self.layout, cu_seqlens_q=sums)
        if self.is_quantised:
            options |= {f"{x}_scale": self.scales_of(pages, free) for x in "kv"}
        if options.pop("sink", False):
            options["sink"] = self.random.standard_normal(self.heads)
        if options.pop("slopes", False):
            options["slopes"] = np.exp2(-np.arange(1, 9) / 2)
        if options.pop("alibi", False):
            shape = self.heads if self.random.random() < 0.5 else (batch, self.heads)
            options["alibi_slopes"] = self.random.uniform(0.01, 0.5, shape).astype("f4")
        if options.pop("tree", False):
            parents = self.random.random((batch, 80, 80)) < 0.5
            parents[:, np.arange(80), np.arange(80)] = True
            options["tree"] = (parents, (lengths - queries).astype(np.int32))
        return (q, *self.caches(pages), table, lengths.astype(np.int32)), options

    def scales_of(self, pages, free):
        """Scales of K or V; those of pages that no sequence has are NaN."""
        inner = (self.page, self.kv_heads) if self.layout == "nhd" else (self.kv_heads, self.page)
        shape = {"head": (self.kv_heads,), "page": (pages, self.kv_heads), "slot": (pages, *inner)}[self.scales]
        scales = self.random.uniform(0.01, 0.03, shape).astype("f4")
        if len(shape) > 1:
            scales[free] = np.nan
        return scales

    def check(self):
        """A step, against the reference."""
        arguments, options = self.draw()
        if options.pop("prefix_of_all", False):
            return self.check_prefix(arguments, options)
        options |= dict(return_key_sums=self.has_sums, return_lse=True)
        found = attn.paged_sdpa(*arguments, **with_functions(options), dynamic=True)
        if self.other is not None:
            self.other(arguments, options, found)
        options = self.in_order(with_functions(options), arguments[4])
        return compare(found, reference.paged_sdpa, *arguments, **options)

    @staticmethod
    def in_order(options, lengths):
        """The options as the reference has them: what stands behind or in front of a softcap is one function."""
        slopes, is_first = options.pop("alibi_slopes", None), options.pop("softcap_first", False)
        if slopes is None and not is_first:
            return options
        cap, given = options.pop("softcap", np.inf), options.pop("score_mod", None)
        offsets = lengths - np.diff(options["cu_seqlens_q"])

        def score(s, b, h, i, j):
            s = s if cap == np.inf else cap * attn.functions.tanh(s / cap)
            if slopes is None:
                return given(s, b, h, i, j)
            return s - (slopes[h] if slopes.ndim == 1 else slopes[b, h]) * abs(i + offsets[b] - j)

        return options | {"score_mod": score}

    def check_prefix(self, arguments, options):
        """All sequences share keys in front of their own: a call on these, one on the others, and their merge."""
        q, k, v, *_ = arguments
        sums = options.pop("cu_seqlens_q")
        shared = np.array([[0]], np.int32), np.array([min(self.page, 9)], np.int32)
        whole = dict(options, causal=None, cu_seqlens_q=np.array([0, len(q)], np.int32))
        first = attn.paged_sdpa(q, k, v, *shared, **whole, return_lse=True, dynamic=True)
        rest = attn.paged_sdpa(*arguments, **options, cu_seqlens_q=sums, return_lse=True, dynamic=True)
        out, lse = attn.merge(*first, *rest, lse_layout="hn")
        wide = [reference.paged_sdpa(q, k, v, *shared, **whole, return_lse=True)]
        wide += [reference.paged_sdpa(*arguments, **options, cu_seqlens_q=sums, return_lse=True)]
        (out1, lse1), (out2, lse2) = wide
        merged, total = reference.merge(out1, lse1.T, out2, lse2.T)
        error = 1e-5 if q.dtype.itemsize >= 4 else 2e-2
        np.testing.assert_allclose(out.astype(float), merged, atol=error)
        np.testing.assert_allclose(lse.T, total, atol=max(error, 1e-4))


def with_functions(options):
    """The options with functions in the place of the arrays that they read, of any library."""
    options = dict(options)
    slopes, tree = options.pop("slopes", None), options.pop("tree", None)
    if slopes is not None:
        options["score_mod"] = lambda s, b, h, i, j: s - slopes[h % 8] * (j - i)
    if tree is not None:
        parents, first = tree

        def mask(b, h, i, j):
            """Each token of a draft sees the cache, and of the draft itself what a random tree says."""
            k, row = j - first[b], attn.functions.clip(i, 0, 79)
            return (k < 0) | parents[b, row, attn.functions.clip(k, 0, 79)]

        options["mask_mod"] = mask
    return options


def by_torch(is_compiled):
    """What runs a step by attn.torch: it has the bits of NumPy's."""
    import torch

    import attn.torch

    def attend(arguments, options):
        return attn.torch.paged_sdpa(*arguments, **with_functions(options))

    def tensor(x):
        if not isinstance(x, np.ndarray):
            return tuple(map(tensor, x)) if isinstance(x, tuple) and isinstance(x[0], np.ndarray) else x
        kind = getattr(torch, x.dtype.name)
        return torch.from_numpy(x.view(f"i{x.itemsize}") if x.dtype.kind == "V" or "float8" in str(kind) else x).view(
            kind
        )

    torch._dynamo.reset()  # the last kind's graphs, which count for the limit
    torch._dynamo.config.recompile_limit = 64  # of the graph of a kind: sizes of 0 and 1 have some of their own
    attend = torch.compile(attend, fullgraph=True) if is_compiled else attend

    def other(arguments, options, found):
        options = {name: tensor(x) for name, x in options.items()}
        for x, y in zip(attend(tuple(map(tensor, arguments)), options), found, strict=True):
            assert torch.equal(x.nan_to_num(9.0), tensor(y).nan_to_num(9.0)), "expected the bits of attn.paged_sdpa"

    return other


def run(count, seed=0, other=lambda: None):
    """Runs so many steps; returns what failed, as texts. `other` makes what runs those of a kind as well."""
    failures = []
    for kind in range(-(-count // STEPS_A_KERNEL)):
        steps = Steps([seed, kind], other())
        for number in range(min(STEPS_A_KERNEL, count - kind * STEPS_A_KERNEL)):
            try:
                steps.check()
            except Exception:  # whatever it is, it is a failure of this step
                failures.append(f"kind {kind}, step {number}: {steps.name}\n{traceback.format_exc(limit=-3)}")
                break
    return failures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--eager", action="store_true", help="by attn.torch as well")
    parser.add_argument("--compiled", action="store_true", help="the same by torch.compile")
    chosen = parser.parse_args()
    is_other = chosen.eager or chosen.compiled
    wrong = run(chosen.count, chosen.seed, (lambda: by_torch(chosen.compiled)) if is_other else lambda: None)
    print("\n".join(wrong[:5]))
    print(f"{chosen.count} steps, {len(wrong)} kinds wrong")
    sys.exit(bool(wrong))
