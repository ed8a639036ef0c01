"""Gradients of tensors that score_mod reads: the slopes of ALiBi, a table of distances, a bias of each key."""

import numpy as np
import pytest

import attn

H, SQ, SK, D = 3, 5, 7, 8

# What is read: its shape, the ops that compute its position, the position, and the same in NumPy.
CAPTURES = {
    "a head": ((H,), "", "%h", lambda h, i, j: (h,)),
    "a key": ((SK,), "", "%j", lambda h, i, j: (j,)),
    "a score": ((H, SQ, SK), "", "%h, %i, %j", lambda h, i, j: (h, i, j)),
    "a distance": (
        (H, SQ + SK),
        "%d = arith.subi %i, %j : index\n %c = arith.constant 6 : index\n %x = arith.addi %d, %c : index",
        "%h, %x",
        lambda h, i, j: (h, i - j + 6),
    ),
}


def tensor(*shape: int) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def write_kernel(shape: tuple[int, ...], ops: str, position: str) -> str:
    q, k, lse, table = tensor(H, SQ, D), tensor(H, SK, D), tensor(H, SQ), tensor(*shape)
    place = f"%h = attn.index head : index\n %i = attn.index query : index\n %j = attn.index key : index\n {ops}"
    return f"""
func.func @backward(%q: {q}, %k: {k}, %v: {k}, %o: {q}, %lse: {lse}, %do: {q}, %table: {table})
    -> ({q}, {k}, {k}, {table}) {{
  %dq0 = tensor.empty() : {q}
  %dk0 = tensor.empty() : {k}
  %dt0 = tensor.empty() : {table}
  %dq, %dk, %dv, %dt = attn.sdpa_backward ins(%q, %k, %v, %o, %lse, %do : {q}, {k}, {k}, {q}, {lse}, {q})
      outs(%dq0, %dk0, %dk0 : {q}, {k}, {k}) dcaptures(%dt0 : {table}) {{softcap = 3.0 : f64}} score_mod {{
      ^bb0(%s: f32):
        {place}
        %t = tensor.extract %table[{position}] : {table}
        %p = arith.mulf %s, %t : f32
        attn.yield %p : f32
      }} score_grad {{
      ^bb0(%s: f32, %g: f32):
        {place}
        %t = tensor.extract %table[{position}] : {table}
        %dt = arith.mulf %g, %s : f32
        attn.accumulate %dt into %dt0[{position}] : {table}
        %ds = arith.mulf %g, %t : f32
        attn.yield %ds : f32
      }} -> {q}, {k}, {k}, {table}
  return %dq, %dk, %dv, %dt : {q}, {k}, {k}, {table}
}}"""


@pytest.mark.parametrize("name", CAPTURES)
def test_a_captured_tensor_gets_its_gradient(name, rng):
    shape, ops, position, place = CAPTURES[name]
    q, dout = rng.standard_normal((H, SQ, D)), rng.standard_normal((H, SQ, D))
    k, v, table = rng.standard_normal((H, SK, D)), rng.standard_normal((H, SK, D)), rng.standard_normal(shape)
    index = np.ogrid[:H, :SQ, :SK]

    def forward(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        s = q @ k.swapaxes(1, 2) / np.sqrt(D) * table[place(*index)]
        s = 3 * np.tanh(s / 3)
        total = np.exp(s).sum(axis=2)
        return np.exp(s) @ v / total[..., None], np.log(total)

    out, lse = forward(table)
    kernel = attn.compile(write_kernel(shape, ops, position), reference=True)
    inputs = [np.ascontiguousarray(x, np.float32) for x in (q, k, v, out, lse, dout, table)]
    gradient = kernel(*inputs)[3]
    expected, step = np.zeros(shape), 1e-5
    for at in np.ndindex(shape):
        ends = []
        for sign in (1, -1):
            moved = table.copy()
            moved[at] += sign * step
            ends.append((forward(moved)[0] * dout).sum())
        expected[at] = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(gradient, expected, atol=2e-5 * np.abs(expected).max())
