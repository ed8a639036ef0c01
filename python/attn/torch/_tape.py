"""Functions of scores on tensors, and their derivatives: the text of regions, evaluated by PyTorch's operators.

For gradients that no kernel has. The derivative is reverse mode, an operation at a time; at scores whose cotangent is 0
anything may stand, and the product is 0.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from typing import Any

import torch

Tensor = torch.Tensor


def tanh_slope(x: Tensor) -> Tensor:
    """The derivative of tanh, 4e / (1 + e)² with e = exp(−2|x|): 1 − tanh² without the difference, which ends at 0."""
    e = torch.exp(-2 * x.abs())
    return 4 * e / (1 + e) ** 2


LINE = re.compile(r"\s*%(\w+) = ([\w.]+) (.*?)(?: : ([\w<>]+)(?: to \w+)?)?$")
EXTRACT = re.compile(r"%(\w+)\[(.*)\]")
# Operation → its value, and of float operands the derivatives by each, from the operands and the value.
Local = Callable[..., tuple[Any, ...]]
FLOATS: dict[str, tuple[Callable[..., Tensor], Local]] = {
    "arith.addf": (torch.add, lambda x, y, z: (1, 1)),
    "arith.subf": (torch.sub, lambda x, y, z: (1, -1)),
    "arith.mulf": (torch.mul, lambda x, y, z: (y, x)),
    "arith.divf": (torch.div, lambda x, y, z: (1 / y, -z / y)),
    "arith.minimumf": (torch.minimum, lambda x, y, z: (x <= y, y < x)),
    "arith.maximumf": (torch.maximum, lambda x, y, z: (x >= y, y > x)),
    "arith.negf": (torch.neg, lambda x, z: (-1,)),
    "math.absf": (torch.abs, lambda x, z: (torch.sign(x),)),
    "math.tanh": (torch.tanh, lambda x, z: (tanh_slope(x),)),
    "math.exp": (torch.exp, lambda x, z: (z,)),
    "math.exp2": (torch.exp2, lambda x, z: (z * math.log(2),)),
    "math.log": (torch.log, lambda x, z: (1 / x,)),
    "math.log2": (torch.log2, lambda x, z: (1 / (x * math.log(2)),)),
    "math.log1p": (torch.log1p, lambda x, z: (1 / (1 + x),)),
    "math.sqrt": (torch.sqrt, lambda x, z: (0.5 / z,)),
    "math.sin": (torch.sin, lambda x, z: (torch.cos(x),)),
    "math.cos": (torch.cos, lambda x, z: (-torch.sin(x),)),
    "math.floor": (torch.floor, lambda x, z: (0,)),
    "math.ceil": (torch.ceil, lambda x, z: (0,)),
    "math.powf": (
        torch.pow,
        lambda x, y, z: (
            torch.where(y == 0, 0, y * torch.pow(x, y - 1)),
            torch.where((x == 0) & (y >= 0), 0, z * torch.log(x)),
        ),
    ),
}
COMPARISONS = {"lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge, "eq": torch.eq, "ne": torch.ne}
OTHERS: dict[str, Callable[..., Tensor]] = {
    "arith.addi": torch.add,
    "arith.subi": torch.sub,
    "arith.muli": torch.mul,
    "arith.remsi": torch.remainder,
    "arith.minsi": torch.minimum,
    "arith.maxsi": torch.maximum,
    "arith.andi": torch.logical_and,
    "arith.ori": torch.logical_or,
    "arith.xori": torch.logical_xor,
    # 0 where the divisor is 0
    "arith.floordivsi": lambda x, y: torch.where(
        y == 0, 0, torch.div(x, torch.where(y == 0, 1, y), rounding_mode="floor")
    ),
}


class Region:
    """One function, evaluated at all positions of a call."""

    def __init__(self, body: str, captures: dict[str, Tensor], indices: tuple[Tensor, ...], score: Tensor) -> None:
        """From its operations; a function of positions alone does not read the score.

        Args:
          body: the lines of the region.
          captures: the tensors that it reads, by name.
          indices: batch, head, query and key, each broadcasting to the scores.
          score: the scores; their type is that of all floats.
        """
        self._captures, self._score = captures, score
        self._indices = dict(zip(("batch", "head", "query", "key"), indices, strict=True))
        self._values: dict[str, Tensor] = {"score": score}
        # Each float operation: its name, those of its operands, and the derivatives by them.
        self._steps: list[tuple[str, tuple[str, ...], Callable[[], tuple[Any, ...]]]] = []
        self._reads: list[tuple[str, str, tuple[Tensor, ...]]] = []
        for line in body.splitlines():
            found = LINE.match(line)
            if found:
                self._values[found[1]] = self._evaluate(found[1], found[2], found[3], found[4] or "")
            elif "attn.yield" in line:
                self._result = re.findall(r"%(\w+)", line)[0]

    @property
    def value(self) -> Tensor:
        """What the function returns."""
        return self._values[self._result]

    def backward(self, d: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """From the cotangent of the value to those of the score and of the tensors that are read."""
        cotangents: dict[str, Tensor] = {self._result: d}
        sums = {name: torch.zeros_like(x, dtype=d.dtype) for name, x in self._captures.items()}
        reads = {name: (array, places) for name, array, places in self._reads}
        for name, operands, local in reversed(self._steps):
            of_value = cotangents.pop(name, None)
            if of_value is None:
                continue
            if name in reads:
                array, places = reads[name]
                if places:
                    full = tuple(x.expand(d.shape) for x in places)
                    sums[array].index_put_(full, of_value.expand(d.shape), accumulate=True)
                else:
                    sums[array] += of_value.expand(d.shape).sum()
                continue
            for operand, factor in zip(operands, local(), strict=True):
                part = torch.where(of_value == 0, 0, of_value * factor)
                cotangents[operand] = cotangents[operand] + part if operand in cotangents else part
        score = cotangents.get("score")
        return torch.zeros_like(self._score) if score is None else score.expand(self._score.shape), sums

    def _evaluate(self, name: str, op: str, text: str, kind: str) -> Tensor:
        if op == "arith.constant":
            return self._constant(text, kind)
        if op == "attn.index":
            return self._indices[text]
        if op == "tensor.extract":
            return self._read(name, text)
        words = re.findall(r"[%\w]+", text)
        operands = tuple(x[1:] for x in words if x.startswith("%"))
        given = [self._values[x] for x in operands]
        if op in FLOATS:
            function, derivatives = FLOATS[op]
            value = function(*given)
            self._steps.append((name, operands, lambda: derivatives(*given, value)))
            return value
        if op == "arith.select":
            test = given[0]
            if given[1].is_floating_point():
                self._steps.append((name, operands[1:], lambda: (test, ~test)))
            return torch.where(*given)
        if op in ("arith.cmpi", "arith.cmpf"):
            return COMPARISONS[words[0][-2:]](*given)
        if op == "arith.sitofp":
            return given[0].to(self._score.dtype)
        if op == "arith.index_cast":
            return given[0].to(torch.int64)
        return OTHERS[op](*given)

    def _constant(self, text: str, kind: str) -> Tensor:
        if text in ("true", "false"):
            return self._score.new_full((), text == "true", dtype=torch.bool)
        if kind == "index":
            return self._score.new_full((), int(text), dtype=torch.int64)
        if text.startswith("0x"):  # the bits of a number that is not finite
            return self._score.new_full((), struct.unpack(">f" if kind == "f32" else ">d", bytes.fromhex(text[2:]))[0])
        return self._score.new_full((), float(text))

    def _read(self, name: str, text: str) -> Tensor:
        found = EXTRACT.match(text)
        assert found is not None
        array = self._captures[found[1]]
        places = tuple(self._values[x] for x in re.findall(r"%(\w+)", found[2]))
        value = array[places]
        if not array.is_floating_point():
            return value
        self._reads.append((name, found[1], places))
        self._steps.append((name, (), tuple))
        return value.to(self._score.dtype)
