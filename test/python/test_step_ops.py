"""The ops of a step on numbers: two steps written out as products, maps, maxima, rescales and weights."""

import numpy as np
import pytest

import attn

ROWS, KEYS, SIZE, COLUMNS = 5, 12, 8, 6
HALF = KEYS // 2
SCALE, CAP = 0.3, 2.0

S, V, R = f"tensor<{ROWS}x{HALF}xf32>", f"tensor<{ROWS}x{COLUMNS}xf32>", f"tensor<{ROWS}xf32>"

# Keeps key j of the half that begins at FIRST for the rows i with j <= i + 4: the last keys have no row.
MAP = f"""  %mapBEGIN = attn.map_scores ins(%sBEGIN : {S}) bias(%biasBEGIN : {S}) outs(%es : {S})
      {{scale = {SCALE} : f64}} score_mod {{
  ^bb0(%score: f32):
    %capped = attn.cap %score {{limit = {CAP} : f64}} : f32
    attn.yield %capped : f32
  }} mask_mod {{
    %i = attn.index query : index
    %j = attn.index key : index
    %first = arith.constant FIRST : index
    %key = arith.addi %j, %first : index
    %four = arith.constant 4 : index
    %last = arith.addi %i, %four : index
    %keep = arith.cmpi sle, %key, %last : index
    attn.yield %keep : i1
  }} -> {S}
"""

STEP = f"""  %sBEGIN = attn.product ins(%q, %kBEGIN : tensor<{ROWS}x{SIZE}xf32>, tensor<{HALF}x{SIZE}xf32>)
      outs(%es : {S}) {{contraction = #attn.contraction<scores>}} -> {S}
MAP  %nBEGIN = attn.row_max ins(%SCORESBEGIN, %mOLD : {S}, {R}) outs(%er : {R}) {{SCALE}} -> {R}
  %raBEGIN, %mBEGIN, %rlBEGIN = attn.rescale ins(%nBEGIN : {R}) outs(%aOLD, %mOLD, %lOLD : {V}, {R}, {R})
      -> {V}, {R}, {R}
  %pBEGIN, %lBEGIN = attn.weights ins(%SCORESBEGIN, %nBEGIN : {S}, {R}) outs(%es, %rlBEGIN : {S}, {R}) {{SCALE}}
      weight_mod {{
    ^bb0(%weight: f32):
      %two = arith.constant 2.0 : f32
      %double = arith.mulf %weight, %two : f32
      attn.yield %double : f32
  }} -> {S}, {R}
  %aBEGIN = attn.product ins(%pBEGIN, %vBEGIN : {S}, tensor<{HALF}x{COLUMNS}xf32>) outs(%raBEGIN : {V})
      {{accumulate, contraction = #attn.contraction<values>}} -> {V}
"""


def write_step(old: str, begin: int, with_map: bool) -> str:
    text = STEP.replace("MAP", MAP if with_map else "").replace("%SCORES", "%map" if with_map else "%s")
    text = text.replace("{SCALE}", "" if with_map else f"{{scale = {SCALE} : f64}}")
    return text.replace("FIRST", str(begin)).replace("BEGIN", str(begin)).replace("OLD", old)


def write_kernel(with_map: bool) -> str:
    halves = [
        f"%k{begin}: tensor<{HALF}x{SIZE}xf32>, %v{begin}: tensor<{HALF}x{COLUMNS}xf32>, %bias{begin}: {S}"
        for begin in (0, HALF)
    ]
    return f"""
func.func @steps(%q: tensor<{ROWS}x{SIZE}xf32>, {", ".join(halves)}) -> ({V}, {R}, {R}) {{
  %es = tensor.empty() : {S}
  %ea = tensor.empty() : {V}
  %er = tensor.empty() : {R}
  %a, %m, %l = attn.init_state outs(%ea, %er, %er : {V}, {R}, {R}) -> {V}, {R}, {R}
{write_step("", 0, with_map)}{write_step("0", HALF, with_map)}  return %a{HALF}, %m{HALF}, %l{HALF} : {V}, {R}, {R}
}}"""


@pytest.mark.parametrize("with_map", [False, True])
def test_two_steps_are_the_state_of_all_keys(with_map, rng):
    q, k = rng.standard_normal((ROWS, SIZE)), rng.standard_normal((KEYS, SIZE))
    v, bias = rng.standard_normal((KEYS, COLUMNS)), rng.standard_normal((ROWS, KEYS))
    bias[:, HALF:] += 3  # the maximum of a row that keeps a key there moves
    s = SCALE * q @ k.T
    if with_map:
        s = CAP * np.tanh(s / CAP) + bias
        s[np.arange(KEYS) > np.arange(ROWS)[:, None] + 4] = -np.inf
        v[-1] = np.nan  # of a key that no row keeps
    most = s.max(axis=1)
    p = np.exp(s - most[:, None])
    expected = np.where(p > 0, 2 * p, 0)[:, :, None] * np.where(p.any(axis=0)[:, None], v, 0)
    halves = [(k[part], v[part], bias[:, part]) for part in (slice(HALF), slice(HALF, None))]
    inputs = [np.ascontiguousarray(x, np.float32) for x in (q, *halves[0], *halves[1])]
    acc, maximum, total = attn.compile(write_kernel(with_map), reference=True)(*inputs)
    np.testing.assert_allclose(maximum, most, rtol=1e-5)
    np.testing.assert_allclose(total, p.sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(acc, expected.sum(axis=1), rtol=1e-4, atol=1e-5)
