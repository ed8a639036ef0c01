"""Where regions read and add: positions that only a call knows are clamped into their tensors, others are refused."""

import numpy as np
import pytest

import attn
from test_ir_extremes import KEYS, ROWS, draw, expected, source

TABLE = 5
NUMBERS = np.array([-(2**63), 2**63 - 1, -1, 0, TABLE - 1, TABLE, 2**40, -(2**40), 2, 3])

# The ops that compute a position of %table from %numbers, by key, and %offset; and the same in NumPy.
POSITIONS = {
    "a number": ("", "%n", lambda n, i, offset: n),
    "a number after the query": (
        "%c3 = arith.constant 3 : index\n %m = arith.minsi %n, %c3 : index\n %p = arith.addi %i, %m : index",
        "%p",
        lambda n, i, offset: i + np.minimum(n, 3),
    ),
    "an offset": ("%p = arith.subi %i, %offset : index", "%p", lambda n, i, offset: i - offset),
}


def region(ops, position, table):
    return f"""score_mod {{
^bb0(%s: f32):
  %i = attn.index query : index
  %j = attn.index key : index
  %n64 = tensor.extract %numbers[%j] : tensor<{KEYS}xi64>
  %n = arith.index_cast %n64 : i64 to index
  {ops}
  %t = tensor.extract %table[{position}] : {table}
  %y = arith.addf %s, %t : f32
  attn.yield %y : f32
}}"""


def write(rows, name, *, dynamic=False, grad=""):
    """The IR of a kernel of (q, k, v, numbers, table, offset)."""
    ops, position, _ = POSITIONS[name]
    table = f"tensor<{'?' if dynamic else TABLE}xf32>"
    arguments = f', %numbers: tensor<{KEYS}xi64>, %table: {table} {{attn.name = "table"}}, %given: i64'
    cast = "%offset = arith.index_cast %given : i64 to index"
    text = source(rows, arguments=arguments, lines=cast, region=region(ops, position, table))
    return text.replace(" {\n", f" attributes {{attn.grad = [{grad}]}} {{\n", 1) if grad else text


def inputs(rows):
    rng = np.random.default_rng(4)
    table = rng.standard_normal(TABLE).astype(np.float32)
    return [*draw(rows), rng.choice(NUMBERS, KEYS), table]


def places(name, rows, numbers, offset):
    """The element of the table of each query and key."""
    i = np.arange(rows).reshape(-1, 1)
    with np.errstate(over="ignore"):
        found = POSITIONS[name][2](numbers, i, np.int64(offset))
    return np.broadcast_to(np.clip(found, 0, TABLE - 1), (rows, KEYS))


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("name", POSITIONS)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("reference", [False, True])
def test_a_position_of_a_call_is_clamped(rows, name, dynamic, reference):
    q, k, v, numbers, table = inputs(rows)
    kernel = attn.compile(write(rows, name, dynamic=dynamic), reference=reference)
    for offset in (2, -(2**62), 2**62):
        added = table[places(name, rows, numbers, offset)]
        wanted = expected(q, k, v, score=lambda s, added=added: s + added)
        found = kernel(q, k, v, numbers, table, offset)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", POSITIONS)
@pytest.mark.parametrize("reference", [False, True])
def test_gradients_are_added_where_is_read(name, reference):
    rows = ROWS[-1]
    *tensors, numbers, table = inputs(rows)
    q, k, v = (x.astype(np.float64) for x in tensors)
    dout = np.random.default_rng(5).standard_normal(q.shape)
    at = places(name, rows, numbers, 2)
    s = q @ k.swapaxes(1, 2) / 4 + table[at]
    lse = np.log(np.exp(s).sum(axis=-1))
    p = np.exp(s - lse[..., None])
    out = p @ v
    ds = p * (dout @ v.swapaxes(1, 2) - (dout * out).sum(axis=-1, keepdims=True))
    wanted = np.zeros(TABLE)
    np.add.at(wanted, np.broadcast_to(at, ds.shape), ds)
    text = write(rows, name, grad='"table", "query"')
    kernel = attn.compile(text, name="f_backward", reference=reference)
    results = [x.astype(np.float32) for x in (out, lse, 0 * lse, dout)]
    dtable, dq = kernel(*tensors, numbers, table, 2, *results)
    np.testing.assert_allclose(dtable, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max() + 1e-5)
    np.testing.assert_allclose(dq, ds @ k / 4, rtol=0, atol=2e-5)


REFUSED = {
    "behind": ("%c = arith.constant 1 : index\n %p = arith.addi %j, %c : index", f"found 1 to {KEYS} possible"),
    "far behind": (
        "%c = arith.constant 1000000000000 : index\n %p = arith.addi %j, %c : index",
        f"found 1000000000000 to {10**12 + KEYS - 1} possible",
    ),
    "before": ("%c = arith.constant 1 : index\n %p = arith.subi %j, %c : index", f"found -1 to {KEYS - 2} possible"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("reference", [False, True])
def test_a_position_of_static_sizes_is_refused(name, reference):
    ops, found = REFUSED[name]
    text = source(33, arguments=f", %table: tensor<{KEYS}xf32>", region=region(ops, "%p", f"tensor<{KEYS}xf32>"))
    text = text.replace(", %table", f", %numbers: tensor<{KEYS}xi64>, %table")
    with pytest.raises(attn.CompileError, match=f"C10: expected positions from 0 to {KEYS - 1} .*{found}"):
        attn.compile(text, reference=reference)
