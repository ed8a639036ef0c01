"""An interpreter of traced regions on NumPy arrays: what their text means, without the compiler."""

import re

import numpy as np

COMPARE = {"slt": "less", "sle": "less_equal", "sgt": "greater", "sge": "greater_equal", "eq": "equal"}
COMPARE |= {"olt": "less", "ole": "less_equal", "ogt": "greater", "oge": "greater_equal", "oeq": "equal"}
COMPARE |= {"ne": "not_equal", "une": "not_equal"}
BINARY = {"addi": "add", "subi": "subtract", "muli": "multiply", "floordivsi": "floor_divide", "remsi": "fmod"}
BINARY |= {"addf": "add", "subf": "subtract", "mulf": "multiply", "divf": "true_divide", "andi": "logical_and"}
BINARY |= {"ori": "logical_or", "xori": "logical_xor", "minsi": "minimum", "maxsi": "maximum", "powf": "power"}
BINARY |= {"minimumf": "minimum", "maximumf": "maximum"}
UNARY = {"negf": "negative", "absf": "absolute"}


def split(text):
    """The captures, name → type, and the body of each region by its name."""
    head = re.match(r"captures\((.*?)\)\n", text)
    captures = dict(re.findall(r"%(\w+) : (tensor<[^>]*>)", head[1])) if head else {}
    bodies = re.findall(r"^(score_mod|mask_mod) \{\n(.*?)\n\}$", text, re.MULTILINE | re.DOTALL)
    return captures, dict(bodies)


def run(text, arrays, scores, score=None):
    """What the regions yield on every position of the scores (B, Hq, Sq, Sk), by name."""
    captures, bodies = split(text)
    assert len(captures) == len(arrays)
    index = dict(zip(("batch", "head", "query", "key"), np.ogrid[tuple(map(slice, scores))], strict=True))
    return {
        name: _body(body, {**dict(zip(captures, arrays, strict=True)), "score": score}, index)
        for name, body in bodies.items()
    }


def _body(body, values, index):
    values = dict(values)
    for line in body.split("\n"):
        yielded = re.fullmatch(r"  attn\.yield %(\w+) : (f32|f64|i1)", line)
        if yielded:
            return values[yielded[1]]
        match = re.fullmatch(r"  %(\w+) = (\w+)\.(\w+) (.*)", line)
        if match:
            name, dialect, op, rest = match.groups()
            assert name not in values, f"{name} is defined twice"
            values[name] = _operation(dialect, op, rest, values, index)
        else:
            assert re.fullmatch(r"\^bb0\(%score: f(32|64)\):", line), line
    raise AssertionError("no attn.yield")


def _operation(dialect, op, rest, values, index):
    operands = [values[name] for name in re.findall(r"%(\w+)", rest)]
    if (dialect, op) == ("attn", "index"):
        return index[rest.partition(" ")[0]]
    if (dialect, op) == ("tensor", "extract"):
        places = tuple(operands[1:])
        for place, size in zip(places, operands[0].shape, strict=True):
            assert np.all((place >= 0) & (place < size)), "a kernel would read outside"
        return operands[0][places]
    assert dialect in ("arith", "math"), f"{dialect}.{op} is no op of regions"
    if op == "constant":
        return _constant(rest)
    if op in ("cmpi", "cmpf"):
        return getattr(np, COMPARE[rest.partition(",")[0]])(*operands)
    if op == "select":
        return np.where(*operands)
    if op in ("index_cast", "sitofp"):
        return np.asarray(operands[0]).astype(np.float64 if op == "sitofp" else np.int64)
    return getattr(np, BINARY.get(op) or UNARY.get(op) or op)(*operands)


def _constant(rest):
    if rest in ("true", "false"):
        return rest == "true"
    text, kind = rest.split(" : ")
    if kind == "index":
        return int(text)
    if text.startswith("0x"):
        bits, size = int(text, 16), (4 if kind == "f32" else 8)
        return float(np.frombuffer(bits.to_bytes(size, "little"), np.float32 if size == 4 else np.float64)[0])
    assert "." in text, f"{text} is no float of MLIR"
    return float(text)
