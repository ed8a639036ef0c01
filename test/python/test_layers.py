"""What stands around attention, as ops in an IR file: projections, scoring functions, caches, states that are merged."""

import numpy as np
import pytest

import attn
from helpers import DTYPES, TOLERANCE, Shape, assert_close, draw

ELEMENTS = {"float32": "f32", "float64": "f64", "int32": "i32"}


def tensor(array) -> str:
    """The MLIR type of an array."""
    return f"tensor<{''.join(f'{size}x' for size in array.shape)}{ELEMENTS[array.dtype.name]}>"


#===----------------------------------------------------------------------===#
# States
#===----------------------------------------------------------------------===#


def merged_halves(q, parts) -> str:
    """A kernel that runs attn.sdpa on each part's keys and merges: (out, lse) is the state (out, lse, 1) of its keys."""
    (b, hq, sq, _), dv, element = q.shape, parts[0][1].shape[3], ELEMENTS[q.dtype.name]
    acc, row = f"tensor<{b}x{hq}x{sq}x{dv}x{element}>", f"tensor<{b}x{hq}x{sq}x{element}>"
    state, states = f"{acc}, {row}, {row}", []
    arguments, body = [f"%q: {tensor(q)}"], []
    for i, (k, v) in enumerate(parts):
        arguments.append(f"%k{i}: {tensor(k)}, %v{i}: {tensor(v)}")
        body.append(f"""
  %acc{i}, %max{i} = attn.sdpa ins(%q, %k{i}, %v{i} : {tensor(q)}, {tensor(k)}, {tensor(v)})
      outs(%wide, %narrow : {acc}, {row}) -> {acc}, {row}
  %sum{i} = linalg.fill ins(%one : {element}) outs(%narrow : {row}) -> {row}""")
        states.append(f"%acc{i}, %max{i}, %sum{i} : {state}")
    return f"""func.func @merged({", ".join(arguments)}) -> ({acc}, {row}) {{
  %one = arith.constant 1.0 : {element}
  %wide = tensor.empty() : {acc}
  %narrow = tensor.empty() : {row}
  {"".join(body)}
  %acc, %max, %sum = attn.merge_states ins({states[0]}) outs({states[1]}) -> {state}
  %out, %lse = attn.finalize ins(%acc, %max, %sum : {state}) outs(%wide, %narrow : {acc}, {row}) -> {acc}, {row}
  return %out, %lse : {acc}, {row}
}}
"""


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("split", [100, 1, 0, 203])
def test_merging_two_halves_of_the_keys_is_the_whole(split, dtype):
    q, k, v = draw(Shape(13, 203, 32, 40, b=2, hq=4, hkv=2), dtype)
    parts = [[x[:, :, :split].copy(), y[:, :, split:].copy()][i] for x, y in [(k, k)] for i in range(2)]
    halves = list(zip(parts, [v[:, :, :split].copy(), v[:, :, split:].copy()], strict=True))
    kernel = attn.compile(merged_halves(q, halves), fail_on_fallback=True)
    out, lse = kernel(q, *(x for half in halves for x in half))
    expected_out, expected_lse = attn.reference.sdpa(q, k, v, return_lse=True)
    assert_close(out, expected_out, dtype, "out")
    assert_close(lse, expected_lse, dtype, "lse")


def test_merging_nothing_with_nothing():
    q, k, v = draw(Shape(3, 0, 16, 8))
    out, lse = attn.compile(merged_halves(q, [(k, v), (k, v)]))(q, k, v, k, v)
    assert (out == 0).all()
    assert (lse == -np.inf).all()


STEPS = """func.func @steps(%q: Q, %k0: K0, %v0: V0, %k1: K1, %v1: V1) -> (A, R) {
  %wide = tensor.empty() : A
  %narrow = tensor.empty() : R
  %a, %m, %l = attn.init_state outs(%wide, %narrow, %narrow : A, R, R) -> A, R, R
  %a0, %m0, %l0 = attn.online_step ins(%q, %k0, %v0 : Q, K0, V0) outs(%a, %m, %l : A, R, R)
      {scale = 0.25 : f64} -> A, R, R
  %a1, %m1, %l1 = attn.online_step ins(%q, %k1, %v1 : Q, K1, V1) outs(%a, %m, %l : A, R, R)
      {scale = 0.25 : f64} -> A, R, R
  %a2, %m2, %l2 = attn.merge_states ins(%a0, %m0, %l0 : A, R, R) outs(%a1, %m1, %l1 : A, R, R) -> A, R, R
  %out, %lse = attn.finalize ins(%a2, %m2, %l2 : A, R, R) outs(%wide, %narrow : A, R) -> A, R
  return %out, %lse : A, R
}
"""


def test_states_of_online_steps():
    q, k, v = draw(Shape(7, 50, 16, 24, hq=2, hkv=2))
    parts = {"K0": k[:, :, :20], "K1": k[:, :, 20:], "V0": v[:, :, :20], "V1": v[:, :, 20:]}
    arrays = {"Q": q, "A": np.zeros((1, 2, 7, 24), np.float32), "R": np.zeros((1, 2, 7), np.float32), **parts}
    text = STEPS
    for name, array in arrays.items():
        text = text.replace(f": {name})", f": {tensor(array)})").replace(f"{name},", f"{tensor(array)},")
    import re

    text = re.sub(r"\b(Q|A|R|K0|K1|V0|V1)\b(?![(:])", lambda m: tensor(arrays[m.group(1)]), STEPS)
    out, lse = attn.compile(text)(q, parts["K0"].copy(), parts["V0"].copy(), parts["K1"].copy(), parts["V1"].copy())
    expected_out, expected_lse = attn.reference.sdpa(q, k, v, return_lse=True)
    assert_close(out, expected_out, np.float32, "out")
    assert_close(lse, expected_lse, np.float32, "lse")
