"""Random functions of several ops: destinations shared or in use, values that are inputs of several ops and returned.

All matrices are of one type, so that each may be the destination of any op: whatever buffers the compiler gives them,
each result is what the same ops are in NumPy, in float64.
"""

import numpy as np
import pytest

import attn

SIZE = 8
T = f"tensor<{SIZE}x{SIZE}xf32>"
# Larger numbers would make softmax a maximum, and its error that of its input.
MAX_INPUT = 6


def softmax(x):
    weights = np.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def causal(x):
    return np.where(np.tri(SIZE, dtype=bool), x, -np.inf)


class Program:
    """The text of a random function, and the values of its results."""

    def __init__(self, seed: int) -> None:
        """Draws ops until there are enough."""
        self.rng = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.values = {f"%{name}": self.rng.standard_normal((SIZE, SIZE)) for name in "qkv"}
        self.inputs = dict(self.values)
        self.masked: set[str] = set()
        self.empties = [self._empty()]
        for _ in range(self.rng.integers(4, 12)):
            getattr(self, self.rng.choice([name for name in dir(self) if name.startswith("_add_")]))()
        self._add_sdpa()  # so that there is attention to compile
        computed = [name for name in self.values if name not in self.inputs]
        self.results = list(self.rng.choice(computed, min(len(computed), self.rng.integers(1, 5)), replace=False))

    def _empty(self) -> str:
        name = f"%e{len(self.lines)}"
        self.lines.append(f"{name} = tensor.empty() : {T}")
        return name

    def _pick(self) -> str:
        """A value that may be an input."""
        small = [name for name, x in self.values.items() if name not in self.masked and abs(x).max() < MAX_INPUT]
        return str(self.rng.choice(small))

    def _destination(self) -> str:
        """A new tensor.empty, an old one, or a value that may still be used; an input is no destination."""
        kind = self.rng.integers(3)
        if kind == 0:
            self.empties.append(self._empty())
            return self.empties[-1]
        computed = [name for name in self.values if name not in self.inputs]
        return str(self.rng.choice(computed if kind == 1 and computed else self.empties))

    def _append(self, text: str, value: np.ndarray) -> str:
        name = f"%x{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.values[name] = value
        return name

    def _add_scores(self) -> None:
        x, y = self._pick(), self._pick()
        text = f"attn.scores ins({x}, {y} : {T}, {T}) outs({self._destination()} : {T}) -> {T}"
        self._append(text, self.values[x] @ self.values[y].T)

    def _add_scale(self) -> None:
        x, factor = self._pick(), float(self.rng.choice([-0.5, 0.25, 1.5]))
        text = f"attn.scale ins({x} : {T}) outs({self._destination()} : {T}) {{scale = {factor} : f64}} -> {T}"
        self._append(text, self.values[x] * factor)

    def _add_softcap(self) -> None:
        x = self._pick()
        text = f"attn.softcap ins({x} : {T}) outs({self._destination()} : {T}) {{softcap = 2.0 : f64}} -> {T}"
        self._append(text, 2 * np.tanh(self.values[x] / 2))

    def _add_mask(self) -> None:
        x = self._pick()
        attributes = "{causal = #attn.causal<top_left>}"
        text = f"attn.mask ins({x} : {T}) outs({self._destination()} : {T}) {attributes} -> {T}"
        self.masked.add(self._append(text, causal(self.values[x])))

    def _add_softmax(self) -> None:
        x = str(self.rng.choice(sorted(self.masked))) if self.masked and self.rng.integers(2) else self._pick()
        text = f"attn.softmax ins({x} : {T}) outs({self._destination()} : {T}) -> {T}"
        self._append(text, softmax(self.values[x]))

    def _add_apply(self) -> None:
        x, y = self._pick(), self._pick()
        text = f"attn.apply ins({x}, {y} : {T}, {T}) outs({self._destination()} : {T}) -> {T}"
        self._append(text, self.values[x] @ self.values[y])

    def _add_sdpa(self) -> None:
        names = [self._pick() for _ in range(3)]
        is_causal = bool(self.rng.integers(2))
        attributes = "{causal = #attn.causal<top_left>}" if is_causal else ""
        text = (
            f"attn.sdpa ins({', '.join(names)} : {T}, {T}, {T}) outs({self._destination()} : {T}) {attributes} -> {T}"
        )
        q, k, v = (self.values[name] for name in names)
        scores = q @ k.T / SIZE**0.5
        self._append(text, softmax(causal(scores) if is_causal else scores) @ v)

    def _add_sum(self) -> None:
        x, y = self._pick(), self._pick()
        text = f"linalg.add ins({x}, {y} : {T}, {T}) outs({self._destination()} : {T}) -> {T}"
        self._append(text, self.values[x] + self.values[y])

    def _add_product(self) -> None:
        x, y = self._pick(), self._pick()
        zeros = f"%z{len(self.lines)}"
        self.lines.append(f"{zeros} = linalg.fill ins(%zero : f32) outs({self._destination()} : {T}) -> {T}")
        text = f"linalg.matmul ins({x}, {y} : {T}, {T}) outs({zeros} : {T}) -> {T}"
        self._append(text, self.values[x] @ self.values[y])

    def _add_sum_of_product(self) -> None:
        """x y added to a value, in its place where nobody else reads it."""
        x, y = self._pick(), self._pick()
        z = self._append(f"arith.addf {x}, {x} : {T}", 2 * self.values[x])  # an input in its place would be updated
        text = f"linalg.matmul ins({x}, {y} : {T}, {T}) outs({z} : {T}) -> {T}"
        self._append(text, self.values[z] + self.values[x] @ self.values[y])

    def text(self) -> str:
        """The function `f` of q, k and v."""
        arguments = ", ".join(f"{name}: {T}" for name in self.inputs)
        types = ", ".join([T] * len(self.results))
        body = "\n  ".join(["%zero = arith.constant 0.0 : f32", *self.lines])
        return (
            f"func.func @f({arguments}) -> ({types}) {{\n  {body}\n  return {', '.join(self.results)} : {types}\n}}\n"
        )


def check(seed: int, *, reference: bool) -> None:
    program = Program(seed)
    text = program.text()
    found = attn.compile(text, reference=reference)(*(x.astype("f4") for x in program.inputs.values()))
    for name, array in zip(program.results, found if isinstance(found, tuple) else (found,), strict=True):
        expected = program.values[name]
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(np.isfinite(array), finite, err_msg=text)
        largest = np.abs(expected[finite]).max()
        np.testing.assert_allclose(array[finite], expected[finite], rtol=0, atol=1e-4 * largest, err_msg=name + text)


@pytest.mark.parametrize("seeds", [range(i, i + 12) for i in range(0, 96, 12)])
def test_programs(seeds):
    for seed in seeds:
        check(seed, reference=False)


def test_programs_in_the_reference_pipeline():
    for seed in range(100, 112):
        check(seed, reference=True)
