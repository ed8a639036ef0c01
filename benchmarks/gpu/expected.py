"""Inputs of a problem line, and rows of its outputs in f64: what the device's are compared with.

A row of scores is computed at a time, so that a large problem can be checked by some of its rows.
"""

from __future__ import annotations

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
        if argument["role"] == "output" or argument["passed_by"] == "value":
            continue
        if name in ("q_lengths", "kv_lengths"):
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
        elif dtype == "float8_e4m3fn":
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
        _, self.heads, self.queries, _ = arrays["q"].shape
        self.paged = "block_table" in arrays
        shape = arrays["k"].shape
        self.key_heads = shape[2] if self.paged else shape[1]
        self.keys = arrays["block_table"].shape[1] * shape[1] if self.paged else shape[2]

    def get_keys(self, name: str, b: int, head: int, count: int) -> np.ndarray:
        """Rows of k or v of a head, scaled where they are quantised."""
        stored = self.arrays[name]
        if self.paged:
            pages = stored[self.arrays["block_table"][b], :, head]
            stored = pages.reshape(-1, pages.shape[-1])[:count]
        else:
            stored = stored[b, head, :count]
        rows = decode(stored, self.types[name])
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
        lengths = {name: self.arrays.get(f"{name}_lengths") for name in ("q", "kv")}
        queries, count = (
            most if lengths[name] is None else int(lengths[name][b])
            for name, most in (("q", self.queries), ("kv", self.keys))
        )
        head = h // (self.heads // self.key_heads)
        v = self.get_keys("v", b, head, count)
        if i >= queries or count == 0:
            return np.zeros(v.shape[1]), -np.inf
        scores = self.get_keys("k", b, head, count) @ decode(self.arrays["q"][b, h, i], self.types["q"])
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
        first = ((b * self.heads + h) * self.queries + i) * self.keys
        bits = random_bits(SEED, OFFSET, np.arange(first, first + len(weights), dtype=np.uint64))
        return np.where(bits > p * (2.0**32 - 1), weights / (1 - p), 0)
