"""attn-differentiate on layers, on chains that do not fuse and on linalg around attention, against the reference."""

import numpy as np
import pytest

import attn
from attn import reference
from chain_ir import tensor
from helpers import Shape, draw

SHAPE = Shape(7, 9, 5, 3, b=2, hq=4, hkv=2)
BOUND = {"float32": 2e-5, "float64": 2e-12}


def run(text, inputs, **cotangents):
    """Both functions of a pair `f` on named arrays: the results of the first, and the gradients by name."""
    forward, backward = (attn.compile(text, name=f"f_{kind}") for kind in ("forward", "backward"))
    results = forward(*(inputs[x["name"]] for x in forward.inputs))
    results = results if isinstance(results, tuple) else (results,)
    known = inputs | {x["name"]: y for x, y in zip(forward.outputs, results, strict=True)} | cotangents
    gradients = backward(*(known[x["name"]] for x in backward.inputs))
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    return known, {x["name"].removeprefix("d"): y for x, y in zip(backward.outputs, gradients, strict=True)}


def agree(found, expected, dtype):
    assert sorted(found) == sorted(expected)
    scale = max(np.abs(x).max(initial=0) for x in expected.values())
    for name, gradient in found.items():
        assert gradient.dtype == dtype, name
        assert gradient.shape == expected[name].shape, name
        error = np.abs(gradient - expected[name]).max(initial=0)
        assert error <= BOUND[np.dtype(dtype).name] * scale, (name, error, scale)


def signature(arrays):
    return ", ".join(f'%{name}: {tensor(x.shape, x.dtype)} {{attn.name = "{name}"}}' for name, x in arrays.items())


def grad(arrays):
    return "{attn.grad = [" + ", ".join(f'"{name}"' for name in arrays) + "]}"


# ---- attn.multi_head -------------------------------------------------------------------------------------------------

LAYERS = {
    "plain": ("heads = 4", {"heads": 4}),
    "grouped": ("heads = 4, kv_heads = 2, causal", {"heads": 4, "kv_heads": 2, "causal": "top_left"}),
    "softcap": ("heads = 4, kv_heads = 1, softcap = 2.0 : f64", {"heads": 4, "kv_heads": 1, "softcap": 2.0}),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", LAYERS)
def test_multi_head(rng, name, dtype):
    attributes, options = LAYERS[name]
    heads = options.get("kv_heads", 4)
    shapes = {"x": (2, 13, 6), "w_q": (6, 20), "w_k": (6, 5 * heads), "w_v": (6, 3 * heads), "w_o": (12, 7)}
    arrays = {key: (rng.standard_normal(shape) / 2).astype(dtype) for key, shape in shapes.items()}
    y = tensor((2, 13, 7), dtype)
    types = ", ".join(tensor(x.shape, dtype) for x in arrays.values())
    text = f"""func.func @f({signature(arrays)}) -> {y} attributes {grad(arrays)} {{
      %init = tensor.empty() : {y}
      %y = attn.multi_head ins(%x, %w_q, %w_k, %w_v, %w_o : {types}) outs(%init : {y}) {{{attributes}}} -> {y}
      return %y : {y}
    }}"""
    dout = rng.standard_normal((2, 13, 7)).astype(dtype)
    known, found = run(text, arrays, dout=dout)
    np.testing.assert_allclose(known["out"], reference.multi_head(**arrays, **options), atol=1e-4)
    agree(found, reference.multi_head_backward(**arrays, **options, dout=dout), dtype)


# ---- chains ----------------------------------------------------------------------------------------------------------


class Chain:
    """The text of a chain that returns its weights, step by step."""

    def __init__(self, arrays, shape, dtype):
        """Of named arrays."""
        self.arrays, self.dtype = arrays, dtype
        self.s, self.o = tensor(shape.scores, dtype), tensor((*shape.scores[:3], shape.dv), dtype)
        self.rows = tensor(shape.scores[:3], dtype)
        self.steps, self.last = [], ""

    def type(self, name):
        """That of an argument."""
        return tensor(self.arrays[name].shape, self.arrays[name].dtype)

    def scores(self, weights=(), kind=""):
        """Of any kind."""
        text = f"weights({', '.join('%' + x for x in weights)} : {', '.join(map(self.type, weights))})" if kind else ""
        kind = f"{{kind = #attn.score_kind<{kind}>}}" if kind else ""
        operands = f"ins(%q, %k : {self.type('q')}, {self.type('k')}) {text}"
        self.steps.append(f"%s0 = attn.scores {operands} outs(%s : {self.s}) {kind} -> {self.s}")
        self.last = "s0"

    def add(self, op, operands="", attributes="", region=""):
        """A step from scores to scores."""
        old, self.last = self.last, f"s{len(self.steps)}"
        text = f"%{self.last} = attn.{op} ins(%{old} : {self.s}) {operands} outs(%s : {self.s}) {attributes} {region}"
        self.steps.append(f"{text} -> {self.s}")

    def softmax(self, sink=False):
        """The one that returns lse too."""
        sink = f"sink(%sink : {self.type('sink')})" if sink else ""
        old, self.last = self.last, "p"
        self.steps.append(
            f"%p, %l = attn.softmax ins(%{old} : {self.s}) {sink} outs(%s, %r : {self.s}, {self.rows})"
            f" -> {self.s}, {self.rows}"
        )

    def text(self, wanted, weights=True):
        """The function."""
        results = {"out": self.o, self.last: self.s} if weights else {"out": self.o}
        body = "\n  ".join(self.steps)
        names = ", ".join("%" + x for x in results)
        return f"""func.func @f({signature(self.arrays)}, %seed: i64 {{attn.name = "seed"}})
    -> ({", ".join(f'{x} {{attn.name = "{n}"}}' for n, x in zip(("out", "weights"), results.values(), strict=False))})
    attributes {grad(wanted)} {{
  %s = tensor.empty() : {self.s}
  %o = tensor.empty() : {self.o}
  %r = tensor.empty() : {self.rows}
  %offset = arith.constant 1 : i64
  {body}
  %out = attn.apply ins(%{self.last}, %v : {self.s}, {self.type("v")}) outs(%o : {self.o}) -> {self.o}
  return {names} : {", ".join(results.values())}
}}"""


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weights", [True, False])
def test_every_step_where_weights_are_returned(rng, dtype, weights):
    q, k, v = draw(SHAPE, dtype)
    bias = rng.standard_normal((1, 4, 1, 9)).astype(dtype)
    keep, sink = rng.random(SHAPE.scores) < 0.6, rng.standard_normal(4).astype(dtype)
    keep[:, :, 1] = False
    arrays = {"q": q, "k": k, "v": v, "bias": bias, "sink": sink, "keep": keep}
    wanted = ["q", "k", "v", "bias", "sink"]
    chain = Chain(arrays, SHAPE, dtype)
    chain.scores()
    chain.add("scale", attributes="{scale = 0.4 : f64}")
    chain.add("softcap", attributes="{softcap = 2.0 : f64}")
    chain.add("mask", f"bias(%bias : {chain.type('bias')}) mask(%keep : {chain.type('keep')})")
    chain.softmax(sink=True)
    chain.add("dropout", "dropout(%seed, %offset : i64, i64)", "{dropout_p = 0.3 : f64}")
    dout, dweights = (rng.standard_normal(x).astype(dtype) for x in ((2, 4, 7, 3), SHAPE.scores))
    seed = np.int64(42)
    known, found = run(chain.text(wanted, weights), arrays | {"seed": seed}, dout=dout, dweights=dweights)
    options = dict(scale=0.4, softcap=2.0, bias=bias, mask=keep, sink=sink, dropout=(0.3, 42, 1))
    returned = dweights if weights else None
    expected = reference.sdpa_backward(q, k, v, None, None, dout, dweights=returned, grad=wanted, **options)
    if weights:
        dropped = reference.sdpa(q, k, v, return_weights=True, **options)[1]
        np.testing.assert_allclose(known["weights"], dropped, atol=1e-5)
    agree(found, expected, dtype)


SCORES = {
    "general": [(5, 5)],
    "additive": [(5,)],
    "additive with projections": [(5, 6), (5, 6), (6,)],
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("weights", [True, False])
def test_general_and_additive_scores(rng, name, dtype, weights):
    q, k, v = draw(SHAPE, dtype)
    matrices = {f"w{i}": rng.standard_normal(shape).astype(dtype) for i, shape in enumerate(SCORES[name])}
    arrays, kind = {"q": q, "k": k, "v": v, **matrices}, name.split()[0]
    chain = Chain(arrays, SHAPE, dtype)
    chain.scores(tuple(matrices), kind)
    chain.add("mask", attributes="{causal = #attn.causal<bottom_right>}")
    chain.softmax()
    dout, dweights = (rng.standard_normal(x).astype(dtype) for x in ((2, 4, 7, 3), SHAPE.scores))
    _, found = run(chain.text(arrays, weights), arrays | {"seed": np.int64(0)}, dout=dout, dweights=dweights)

    keep = np.tril(np.ones(SHAPE.scores, bool), 2)
    w, lse = reference.softmax(reference.mask(reference.scores(q, k, [*matrices.values()], kind), keep=keep))
    expected = {}
    dw, expected["v"] = reference.apply_backward(w, v, dout, keep)
    ds, _ = reference.softmax_backward(w, lse, dw + dweights if weights else dw)
    names = ("q", "k", *matrices)
    gradients = reference.scores_backward(q, k, ds, [*matrices.values()], kind)
    expected |= dict(zip(names, gradients, strict=True))
    agree(found, expected, dtype)


def test_a_region_in_a_chain(rng):
    q, k, v = draw(SHAPE, np.float64)
    chain = Chain({"q": q, "k": k, "v": v}, SHAPE, np.float64)
    region = """score_mod {
  ^bb0(%x: f64):
    %h = attn.index head : index
    %i = arith.index_cast %h : index to i64
    %f = arith.sitofp %i : i64 to f64
    %t = math.tanh %x : f64
    %y = arith.mulf %x, %t : f64
    %z = arith.mulf %y, %f : f64
    attn.yield %z : f64
  }"""
    chain.scores()
    chain.add("modify", region=region)
    chain.softmax()
    dout, dweights = rng.standard_normal((2, 4, 7, 3)), rng.standard_normal(SHAPE.scores)
    arrays = {"q": q, "k": k, "v": v, "seed": np.int64(0)}
    _, found = run(chain.text(("q", "k", "v")), arrays, dout=dout, dweights=dweights)
    expected = reference.sdpa_backward(
        q, k, v, None, None, dout, dweights=dweights, scale=1.0,
        score_mod=lambda s, b, h, i, j: s * attn.tanh(s) * h,
    )  # fmt: skip
    agree(found, expected, np.float64)


# ---- linalg around attention -----------------------------------------------------------------------------------------


def test_one_tensor_as_all_operands(rng):
    x, dout = rng.standard_normal((2, 113, 8)), rng.standard_normal((2, 113, 8))
    t = tensor(x.shape, x.dtype)
    text = f"""func.func @f({signature({"x": x})}) -> {t} attributes {{attn.grad = ["x"]}} {{
      %o = tensor.empty() : {t}
      %r = attn.sdpa ins(%x, %x, %x : {t}, {t}, {t}) outs(%o : {t}) {{causal}} -> {t}
      %y = arith.addf %r, %x : {t}
      return %y : {t}
    }}"""
    _, found = run(text, {"x": x}, dout=dout)
    d = reference.sdpa_backward(*[x[None]] * 3, None, None, dout[None], causal="top_left")
    agree(found, {"x": (d["q"] + d["k"] + d["v"])[0] + dout}, np.float64)


def test_slices_of_one_tensor(rng):
    """Queries, keys and values side by side, with a column that none of them reads; the argument has no name."""
    x, dout = rng.standard_normal((3, 9, 20)), rng.standard_normal((3, 9, 6))
    t, r, o = "tensor<3x9x20xf64>", "tensor<3x9x7xf64>", "tensor<3x9x6xf64>"
    text = f"""func.func @f(%x: {t}) -> {o} attributes {{attn.grad = [0]}} {{
      %q = tensor.extract_slice %x[0, 0, 0] [3, 9, 7] [1, 1, 1] : {t} to {r}
      %k = tensor.extract_slice %x[0, 0, 7] [3, 9, 7] [1, 1, 1] : {t} to {r}
      %v = tensor.extract_slice %x[0, 0, 14] [3, 9, 6] [1, 1, 1] : {t} to {o}
      %e = tensor.empty() : {o}
      %y = attn.sdpa ins(%q, %k, %v : {r}, {r}, {o}) outs(%e : {o}) -> {o}
      return %y : {o}
    }}"""
    _, found = run(text, {"argument0": x}, dout=dout)
    parts = np.split(x, [7, 14], axis=-1)
    d = reference.sdpa_backward(*(p[None] for p in parts), None, None, dout[None])
    agree(found, {"argument0": np.concatenate([d[n][0] for n in "qkv"], axis=-1)}, np.float64)


def test_what_pytorch_writes(rng):
    """Product, softmax and product as linalg, a projection in front and a bias behind: it is raised first."""
    x, w, k, v, c = (rng.standard_normal(s) for s in ((4, 9, 6), (6, 8), (4, 11, 8), (4, 11, 5), (5,)))
    arrays = {"x": x, "w": w, "k": k, "v": v, "c": c}
    dout = rng.standard_normal((4, 9, 5))
    q_, s_, o_ = "tensor<4x9x8xf64>", "tensor<4x9x11xf64>", "tensor<4x9x5xf64>"
    text = f"""
#rows = affine_map<(b, i, f, e) -> (b, i, e)>
#matrix = affine_map<(b, i, f, e) -> (e, f)>
#out = affine_map<(b, i, f, e) -> (b, i, f)>
#all = affine_map<(b, i, e) -> (b, i, e)>
#last = affine_map<(b, i, e) -> (e)>
func.func @f({signature(arrays)}) -> {o_} attributes {grad(arrays)} {{
  %zero = arith.constant 0.0 : f64
  %qe = tensor.empty() : {q_}
  %qz = linalg.fill ins(%zero : f64) outs(%qe : {q_}) -> {q_}
  %q = linalg.generic {{indexing_maps = [#rows, #matrix, #out],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins(%x, %w : tensor<4x9x6xf64>, tensor<6x8xf64>) outs(%qz : {q_}) {{
  ^bb0(%a: f64, %b: f64, %z: f64):
    %m = arith.mulf %a, %b : f64
    %n = arith.addf %z, %m : f64
    linalg.yield %n : f64
  }} -> {q_}
  %se = tensor.empty() : {s_}
  %sz = linalg.fill ins(%zero : f64) outs(%se : {s_}) -> {s_}
  %kt = tensor.empty() : tensor<4x8x11xf64>
  %t = linalg.transpose ins(%k : tensor<4x11x8xf64>) outs(%kt : tensor<4x8x11xf64>) permutation = [0, 2, 1]
  %s = linalg.batch_matmul ins(%q, %t : {q_}, tensor<4x8x11xf64>) outs(%sz : {s_}) -> {s_}
  %p = linalg.softmax dimension(2) ins(%s : {s_}) outs(%se : {s_}) -> {s_}
  %oe = tensor.empty() : {o_}
  %oz = linalg.fill ins(%zero : f64) outs(%oe : {o_}) -> {o_}
  %o = linalg.batch_matmul ins(%p, %v : {s_}, tensor<4x11x5xf64>) outs(%oz : {o_}) -> {o_}
  %y = linalg.generic {{indexing_maps = [#all, #last, #all], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%o, %c : {o_}, tensor<5xf64>) outs(%oe : {o_}) {{
  ^bb0(%a: f64, %b: f64, %z: f64):
    %n = arith.addf %a, %b : f64
    %m = math.tanh %n : f64
    linalg.yield %m : f64
  }} -> {o_}
  return %y : {o_}
}}"""
    known, found = run(text, arrays, dout=dout)
    q = x @ w
    attention = reference.sdpa(q[None], k[None], v[None], scale=1.0)[0]
    np.testing.assert_allclose(known["out"], np.tanh(attention + c), atol=1e-12)
    do = dout * (1 - known["out"] ** 2)
    d = reference.sdpa_backward(q[None], k[None], v[None], None, None, do[None], scale=1.0)
    dq = d["q"][0]
    expected = {"x": dq @ w.T, "w": np.tensordot(x, dq, axes=((0, 1), (0, 1))), "k": d["k"][0], "v": d["v"][0]}
    agree(found, expected | {"c": do.sum((0, 1))}, np.float64)
