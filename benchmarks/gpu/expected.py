"""Inputs of a problem line, and rows of its outputs in f64: what the device's are compared with.

A row of scores is computed at a time, so that a large problem can be checked by some of its rows.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from _philox import random_bits
from device import decode, encode

SEED, OFFSET = 1234, 5


def draw(arguments: list[dict[str, Any]], generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Inputs by name, as the device stores them."""
    shapes = {argument["name"]: argument["shape"] for argument in arguments}
    arrays: dict[str, np.ndarray] = {"seed": np.int64(SEED), "offset": np.int64(OFFSET)}
    for argument in arguments:
        name, dtype, shape = argument["name"], argument["dtype"], argument["shape"]
        if name.startswith("cu_seqlens"):  # sequences of one length
            total = shapes["q" if name == "cu_seqlens_q" else "k"][0]
            arrays[name] = np.linspace(0, total, shape[0]).astype(np.int32)
        elif argument["role"] == "output" or argument["passed_by"] == "value":
            continue
        elif name in ("q_lengths", "kv_lengths"):
            most = shapes["q" if name == "q_lengths" else "k"][2]
            if "block_table" in shapes and name == "kv_lengths":
                most = shapes["block_table"][1] * shapes["k"][1]
            arrays[name] = generator.integers(most // 2, most + 1, shape, np.int32)
        elif name == "block_table":
            arrays[name] = generator.permutation(shapes["k"][0])[: np.prod(shape)].astype(np.int32).reshape(shape)
        elif dtype == "bool":
            arrays[name] = generator.random(shape, np.float32) < 0.8
        elif dtype == "int8":
            arrays[name] = generator.integers(-127, 128, shape, np.int8)
        elif dtype in ("float8_e4m3fn", "float8_e5m2"):
            arrays[name] = generator.integers(0, 0x50, shape, np.uint8) | (
                generator.integers(0, 2, shape, np.uint8) << 7
            )
        elif name.endswith("_scale"):
            arrays[name] = generator.uniform(0.01, 0.02, shape).astype(np.float32)
        else:
            arrays[name] = encode(generator.standard_normal(shape, np.float32), dtype)
    return arrays


class Rows:
    """Computes rows of the outputs."""

    def __init__(self, line: str, arguments: list[dict[str, Any]], conventions: dict[str, Any], arrays: Any) -> None:
        """Of this problem line and these inputs."""
        self.words = dict(word.split("=", 1) for word in line.split() if "=" in word)
        self.types = {argument["name"]: argument["dtype"] for argument in arguments}
        self.conventions, self.arrays = conventions, arrays
        counts = dict(re.findall(r"\b(hq|hkv)(\d+)", line))
        self.heads = int(counts["hq"])
        self.key_heads = int(counts.get("hkv", counts["hq"]))
        self.layout = self.words.get("layout", "bhsd")
        self.paged = "block_table" in arrays
        starts = {name: arrays.get(f"cu_seqlens_{name[0]}") for name in "qkv"}
        starts["v"] = starts["k"]
        self.starts = {name: start for name, start in starts.items() if start is not None}
        self.sequences = len(self.starts["q"]) - 1 if self.starts else len(arrays["q"])
        if self.paged:
            self.most_keys = arrays["block_table"].shape[1] * arrays["k"].shape[1]
        else:
            self.most_keys = max(len(self.get_rows("k", b, 0)) for b in range(self.sequences))
        self.most_queries = max(len(self.get_rows("q", b, 0)) for b in range(self.sequences))

    def locate(self, name: str, b: int, h: int) -> tuple[Any, ...]:
        """The index of a head's rows, of shape (rows, D), in a tensor that is laid out as q, k, v and out are."""
        if name in self.starts:
            return slice(*self.starts[name][b : b + 2]), h
        if self.layout == "bsd":
            depth = self.arrays[name].shape[2] // (self.heads if name == "q" else self.key_heads)
            return b, slice(None), slice(h * depth, (h + 1) * depth)
        return b, h

    def get_rows(self, name: str, b: int, h: int) -> np.ndarray:
        """Rows of q, k or v of a head as they are stored; of pages those that the table names."""
        if self.paged and name != "q":
            pages = self.arrays[name][self.arrays["block_table"][b], :, h]
            return pages.reshape(-1, pages.shape[-1])
        return self.arrays[name][self.locate(name, b, h)]

    def get_output(self, out: np.ndarray, b: int, h: int) -> np.ndarray:
        """Rows of out of a head."""
        if self.layout == "bsd":
            return out[b].reshape(len(out[b]), self.heads, -1)[:, h]
        return out[self.locate("q", b, h)]

    def get_lse(self, lse: np.ndarray, b: int, h: int) -> np.ndarray:
        """Log-sum-exps of a head's rows."""
        return lse[h, slice(*self.starts["q"][b : b + 2])] if self.starts else lse[b, h]

    def count(self, b: int) -> tuple[int, int]:
        """Queries and keys of a batch index or sequence."""
        lengths = (self.arrays.get(f"{name}_lengths") for name in ("q", "kv"))
        keys = self.most_keys if self.paged else len(self.get_rows("k", b, 0))
        most = len(self.get_rows("q", b, 0)), keys
        queries, keys = (size if n is None else int(n[b]) for size, n in zip(most, lengths, strict=True))
        return queries, keys

    def get_keys(self, name: str, b: int, head: int, count: int) -> np.ndarray:
        """Rows of k or v of a head, scaled where they are quantised."""
        rows = decode(self.get_rows(name, b, head)[:count], self.types[name])
        scale = self.arrays.get(f"{name}_scale")
        if scale is not None:
            rows = rows * (scale[head] if scale.ndim == 1 else scale[b, head, :count, None]).astype(np.float64)
        return rows

    def pick(self, name: str, b: int, h: int, i: int, count: int) -> np.ndarray:
        """A row of bias or mask, which broadcast."""
        stored = self.arrays[name]
        place = [0 if size == 1 else at for size, at in zip(stored.shape, (b, h, i), strict=False)]
        return decode(stored[tuple(place)], self.types[name])[: count if stored.shape[3] > 1 else None]

    def compute(self, b: int, h: int, i: int) -> tuple[np.ndarray, float]:
        """Row (b, h, i) of out, and of lse."""
        queries, count = self.count(b)
        head = h // (self.heads // self.key_heads)
        v = self.get_keys("v", b, head, count)
        if i >= queries or count == 0:
            return np.zeros(v.shape[1]), -np.inf
        scores = self.get_keys("k", b, head, count) @ decode(self.get_rows("q", b, h)[i], self.types["q"])
        scores = scores * self.conventions["scale"]
        if self.conventions["softcap"]:
            scores = np.tanh(scores / self.conventions["softcap"]) * self.conventions["softcap"]
        if "bias" in self.arrays:
            scores = scores + self.pick("bias", b, h, i, count)
        align = self.conventions["causal"] or self.conventions["align"]
        distance = np.arange(count) - (i + (count - queries if align == "bottom_right" else 0))
        keep = distance <= 0 if self.conventions["causal"] else np.ones(count, bool)
        for side, sign in (("window_left", -1), ("window_right", 1)):
            if self.conventions[side] is not None:
                keep &= sign * distance <= self.conventions[side]
        if "mask" in self.arrays:
            keep &= self.pick("mask", b, h, i, count)
        scores = np.where(keep, scores, -np.inf)
        sink = float(self.arrays["sink"][h]) if "sink" in self.arrays else -np.inf
        top = max(scores.max(), sink)
        if top == -np.inf:
            return np.zeros(v.shape[1]), -np.inf
        weights = np.exp(scores - top)
        total = weights.sum() + np.exp(sink - top)
        return self.drop(weights, b, h, i) / total @ v, top + np.log(total)

    def drop(self, weights: np.ndarray, b: int, h: int, i: int) -> np.ndarray:
        """Dropout: a weight stays where its random word is above p (2³² - 1), and grows by 1 / (1 - p)."""
        p = float(self.words.get("dropout", 0))
        if p == 0:
            return weights
        first = ((b * self.heads + h) * self.most_queries + i) * self.most_keys
        bits = random_bits(SEED, OFFSET, np.arange(first, first + len(weights), dtype=np.uint64))
        return np.where(bits > p * (2.0**32 - 1), weights / (1 - p), 0)
