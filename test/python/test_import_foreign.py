"""Attention ops of IREE and torch-mlir in generic form, against NumPy (attn-import-foreign)."""

import subprocess

import numpy as np
import pytest

from paths import ATTNC

ATTN_OPT = ATTNC.with_name("attn-opt")
RNG = np.random.default_rng(0)
SCALE = 0.3


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def softmax(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


Q, K, V = normal(2, 3, 17, 8), normal(2, 3, 21, 8), normal(2, 3, 21, 16)
BIAS, BOOLEANS = normal(17, 21), RNG.random((17, 21)) > 0.3
BOOLEANS[:, 0] = True


def get_type(array):
    return f"tensor<{'x'.join(map(str, array.shape))}x{'i1' if array.dtype == bool else 'f32'}>"


def get_torch_type(array):
    return f"!torch.vtensor<[{','.join(map(str, array.shape))}],{'i1' if array.dtype == bool else 'f32'}>"


def write_iree(name, query, key, value, mask, maps, out, region=""):
    operands, types = ["%q", "%k", "%v", "%scale"], [get_type(x) for x in (query, key, value)] + ["f32"]
    arguments = f"%q: {types[0]}, %k: {types[1]}, %v: {types[2]}"
    if mask is not None:
        operands.append("%m")
        types.append(get_type(mask))
        arguments += f", %m: {types[-1]}"
    domain = "(b, h, i, j, d, e)"
    # The dimensions of IREE's ops are in no fixed order: here head size before key.
    names = "(b, h, i, d, j, e)"
    spelled = [f"affine_map<{names} -> ({x})>" for x in maps]
    assert domain != names
    online = name.endswith("online_attention")
    state = "tensor<2x3x17xf32>"
    begin = f"""
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant -3.4e38 : f32
  %scale = arith.constant {SCALE} : f32
  %e = tensor.empty() : {out}
  %acc = linalg.fill ins(%zero : f32) outs(%e : {out}) -> {out}
  %s = tensor.empty() : {state}
  %max = linalg.fill ins(%lowest : f32) outs(%s : {state}) -> {state}
  %sum = linalg.fill ins(%zero : f32) outs(%s : {state}) -> {state}"""
    outs = ["%acc", "%max", "%sum"] if online else ["%acc"]
    out_types = [out, state, state] if online else [out]
    if online:
        spelled += [f"affine_map<{names} -> (b, h, i)>"] * 2
    op = f"""
  %r{":3" if online else ""} = "{name}"({", ".join(operands + outs)}) <{{indexing_maps = [{", ".join(spelled)}]}}> ({{
  ^bb0(%score: f32):
    {region}
    "iree_linalg_ext.yield"({"%x" if region else "%score"}) : (f32) -> ()
  }}) : ({", ".join(types + out_types)}) -> ({", ".join(out_types)})"""
    end = f"\n  return %r : {out}\n"
    if online:
        end = f"""
  %o = linalg.generic {{indexing_maps = [affine_map<(b, h, i, e) -> (b, h, i)>,
      affine_map<(b, h, i, e) -> (b, h, i, e)>,
      affine_map<(b, h, i, e) -> (b, h, i, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
      ins(%r#2, %r#0 : {state}, {out}) outs(%e : {out}) {{
  ^bb0(%l: f32, %a: f32, %old: f32):
    %one = arith.constant 1.0 : f32
    %inverse = arith.divf %one, %l : f32
    %quotient = arith.mulf %inverse, %a : f32
    linalg.yield %quotient : f32
  }} -> {out}
  return %o : {out}
"""
    return f"func.func @f({arguments}) -> {out} {{{begin}{op}{end}}}\n"


def write_torch(query, key, value, mask=None, causal="false", scale=None):
    operands, types = ["%q", "%k", "%v"], [get_torch_type(x) for x in (query, key, value)]
    arguments = [f"%{n}: {t}" for n, t in zip("qkv", types, strict=True)]
    if mask is not None:
        arguments.append(f"%m: {get_torch_type(mask)}")
    out = get_torch_type(query[..., :1].repeat(value.shape[-1], -1))
    number = f'"torch.constant.float"() <{{value = {scale} : f64}}> : () -> !torch.float'
    return f"""
func.func @f({", ".join(arguments)}) -> {out} {{
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() <{{value = 0.0 : f64}}> : () -> !torch.float
  %causal = "torch.constant.bool"() <{{value = {causal}}}> : () -> !torch.bool
  %scale = {number if scale else '"torch.constant.none"() : () -> !torch.none'}
  %r = "torch.aten.scaled_dot_product_attention"({", ".join(operands)}, {"%none" if mask is None else "%m"}, %p,
    %causal, %scale, %causal) : ({", ".join(types)}, {"!torch.none" if mask is None else get_torch_type(mask)},
    !torch.float, !torch.bool, {"!torch.float" if scale else "!torch.none"}, !torch.bool) -> {out}
  return %r : {out}
}}
"""


def attend(query, key, value, scale=SCALE, bias=0.0, keep=True, change=lambda s: s):
    s = change(scale * np.einsum("bhid,bhjd->bhij", query, key)) + bias
    return np.einsum("bhij,bhje->bhie", softmax(np.where(keep, s, -np.inf)), value)


PLAIN = ["b, h, i, d", "b, h, j, d", "b, h, j, e", ""]
KG, VG = normal(2, 1, 21, 8), normal(2, 1, 21, 16)
IREE, OUT = "iree_linalg_ext.attention", "tensor<2x3x17x16xf32>"
TM = f"""
func.func @f(%q: {get_type(Q)}, %k: {get_type(K)}, %v: {get_type(V)}, %m: {get_type(BIAS)}) -> {OUT} {{
  %e = tensor.empty() : {OUT}
  %r = "tm_tensor.attention"(%q, %k, %v, %m, %e) ATTRIBUTES
    : ({get_type(Q)}, {get_type(K)}, {get_type(V)}, {get_type(BIAS)}, {OUT}) -> {OUT}
  return %r : {OUT}
}}
"""
CASES = {
    "iree": (write_iree(IREE, Q, K, V, None, [*PLAIN, "b, h, i, e"], OUT), (Q, K, V), attend(Q, K, V)),
    "iree_mask": (
        write_iree(IREE, Q, K, V, BOOLEANS, [*PLAIN, "i, j", "b, h, i, e"], OUT),
        (Q, K, V, BOOLEANS),
        attend(Q, K, V, keep=BOOLEANS),
    ),
    "iree_layout": (  # values transposed, result (batch, query, head, value), keys that heads share
        write_iree(
            IREE,
            Q,
            KG[:, 0],
            VG[:, 0].swapaxes(1, 2),
            BIAS,
            ["b, h, i, d", "b, j, d", "b, e, j", "", "i, j", "b, i, h, e"],
            "tensor<2x17x3x16xf32>",
        ),
        (Q, KG[:, 0], VG[:, 0].swapaxes(1, 2), BIAS),
        attend(Q, KG.repeat(3, 1), VG.repeat(3, 1), bias=BIAS).swapaxes(1, 2),
    ),
    "iree_region": (
        write_iree(IREE, Q, K, V, None, [*PLAIN, "b, h, i, e"], OUT, "%x = math.tanh %score : f32"),
        (Q, K, V),
        attend(Q, K, V, change=np.tanh),
    ),
    "iree_online": (
        write_iree("iree_linalg_ext.online_attention", Q, K, V, BIAS, [*PLAIN, "i, j", "b, h, i, e"], OUT),
        (Q, K, V, BIAS),
        attend(Q, K, V, bias=BIAS),
    ),
    "tm_tensor": (TM.replace("ATTRIBUTES", ""), (Q, K, V, BIAS), attend(Q, K, V, 8**-0.5, bias=BIAS)),
    "tm_tensor_scale": (
        TM.replace("ATTRIBUTES", "<{scale = 2.5e-01 : f64}>"),
        (Q, K, V, BIAS),
        attend(Q, K, V, 0.25, bias=BIAS),
    ),
    "torch": (write_torch(Q, K, V), (Q, K, V), attend(Q, K, V, 8**-0.5)),
    "torch_causal_groups": (
        write_torch(Q, KG, VG, causal="true", scale=0.2),
        (Q, KG, VG),
        attend(Q, KG.repeat(3, 1), VG.repeat(3, 1), 0.2, keep=np.tri(17, 21, dtype=bool)),
    ),
    "torch_mask": (
        write_torch(Q, K, V, BOOLEANS[None]),
        (Q, K, V, BOOLEANS[None]),
        attend(Q, K, V, 8**-0.5, 0, BOOLEANS),
    ),
}


def run(text, inputs, outputs, folder):
    (folder / "f.mlir").write_text(text)
    command = [ATTNC, "run", folder / "f.mlir", "--fail-on-fallback"]
    for i, x in enumerate(inputs):
        np.save(folder / f"{i}.npy", np.ascontiguousarray(x))
        command.append(f"--input={folder / f'{i}.npy'}")
    names = [folder / f"out{i}.npy" for i in range(outputs)]
    done = subprocess.run([*command, *(f"--output={x}" for x in names)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [np.load(x) for x in names]


@pytest.mark.parametrize("name", CASES)
def test_numbers(name, tmp_path):
    text, inputs, expected = CASES[name]
    (found,) = run(text, inputs, 1, tmp_path)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


NUMPY = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


@pytest.mark.parametrize(
    ("op", "query", "keys", "values", "mask", "result"),
    [
        ("attention", "f16", "f16", "f16", "f16", "f32"),
        ("online_attention", "f16", "f16", "f16", "f16", "f32"),
        ("online_attention", "f16", "f16", "f16", "f32", "f64"),
        ("attention", "f32", "f32", "f32", "f16", "f64"),
        ("attention", "f32", "f32", "f32", "f64", "f16"),
        ("attention", "f16", "f16", "f32", "f32", "f16"),
        ("attention", "f32", "f16", "f16", "f16", "f32"),
    ],
)
def test_types_that_differ(op, query, keys, values, mask, result, tmp_path):
    """The type of each operand and of the result is its own; nothing between them is rounded to a narrower one."""
    text = write_iree(
        f"iree_linalg_ext.{op}", Q, K, V, BIAS, [*PLAIN, "i, j", "b, h, i, e"], OUT, "%x = math.tanh %score : f32"
    )
    types = dict(zip(map(get_type, (Q, K, V, BIAS)), (query, keys, values, mask), strict=True))
    for old, new in types.items():
        text = text.replace(old, old.replace("f32", new))
    out = OUT.replace("f32", result)
    text = text.replace(OUT, out)
    text = text.replace("%zero = ", f"%zero_out = arith.constant 0.0 : {result}\n  %zero = ")
    text = text.replace(f"ins(%zero : f32) outs(%e : {out})", f"ins(%zero_out : {result}) outs(%e : {out})")
    for line in ("%a: f32, %old: f32", "%quotient : f32"):
        text = text.replace(line, line.replace("%a: f32", f"%a: {result}").replace("old: f32", f"old: {result}"))
    if op == "online_attention" and result != "f32":
        convert = "arith.extf" if result == "f64" else "arith.truncf"
        text = text.replace(
            "%quotient = arith.mulf %inverse, %a : f32",
            f"%wide = {convert} %inverse : f32 to {result}\n    %quotient = arith.mulf %wide, %a : {result}",
        )
        text = text.replace("linalg.yield %quotient : f32", f"linalg.yield %quotient : {result}")
    inputs = [x.astype(NUMPY[t]) for x, t in zip((Q, K, V, BIAS), (query, keys, values, mask), strict=True)]
    q, k, v, bias = (x.astype(np.float64) for x in inputs)
    (found,) = run(text, inputs, 1, tmp_path)
    assert found.dtype == NUMPY[result]
    tolerance = {"f16": 2e-3, "f32": 2e-6, "f64": 2e-6}[result]  # tanh of the region is of f32
    expected = attend(q, k, v, float(np.float32(SCALE)), bias=bias, change=np.tanh)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


# The operands of aten's ops behind query, key and value: (m)ask, dropout (p), (c)ausal, (s)cale, (f)alse, (n)one.
ATEN = {
    "_scaled_dot_product_flash_attention_for_cpu": ("pcms", 2),
    "_scaled_dot_product_flash_attention": ("pcfs", 9),
    "_scaled_dot_product_efficient_attention": ("mfpcs", 4),
    "_scaled_dot_product_cudnn_attention": ("mfpcfs", 9),
    "_scaled_dot_product_fused_attention_overrideable": ("mpcfs", 9),
    "_scaled_dot_product_attention_math": ("mpcnsf", 2),
}


def write_aten(op, mask, causal, *, operator=False, asks_lse=True):
    order, results = ATEN[op]
    types = {
        "m": "!torch.none" if mask is None else get_torch_type(mask),
        "p": "!torch.float",
        "c": "!torch.bool",
        "s": "!torch.float",
        "f": "!torch.bool",
        "n": "!torch.none",
    }
    values = {"m": "%none" if mask is None else "%m", "p": "%p", "c": "%c", "s": "%s", "f": "%f", "n": "%none"}
    out, lse = "!torch.vtensor<[2,3,17,16],f32>", "!torch.vtensor<[2,3,17],f32>"
    arrays = [Q, K, V] + ([] if mask is None else [mask])
    arguments = ", ".join(f"%{n}: {get_torch_type(x)}" for n, x in zip("qkvm", arrays, strict=False))
    types_of = ", ".join([*map(get_torch_type, (Q, K, V)), *(types[x] for x in order)])
    results_of = ", ".join([out, lse, *["!torch.int"] * (results - 2)])
    returned = ("%r#0, %r#1", f"{out}, {lse}") if asks_lse else ("%r#0", out)
    name = '"torch.operator"' if operator else f'"torch.aten.{op}"'
    attributes = f' <{{name = "torch.aten.{op}"}}>' if operator else ""
    return f"""
func.func @f({arguments}) -> ({returned[1]}) {{
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() <{{value = 0.0 : f64}}> : () -> !torch.float
  %s = "torch.constant.float"() <{{value = {SCALE} : f64}}> : () -> !torch.float
  %c = "torch.constant.bool"() <{{value = {str(causal).lower()}}}> : () -> !torch.bool
  %f = "torch.constant.bool"() <{{value = false}}> : () -> !torch.bool
  %r:{results} = {name}(%q, %k, %v, {", ".join(values[x] for x in order)}){attributes}
    : ({types_of}) -> ({results_of})
  return {returned[0]} : {returned[1]}
}}
"""


FOR_CPU = "_scaled_dot_product_flash_attention_for_cpu"


@pytest.mark.parametrize(
    ("op", "kind", "operator"),
    [(op, "bias" if "m" in order else "causal", False) for op, (order, _) in ATEN.items()]
    + [(FOR_CPU, "mask", False), (FOR_CPU, "causal", True)],
)
def test_kernels_of_torch(op, kind, operator, tmp_path):
    """What F.scaled_dot_product_attention decomposes into, with the log-sum-exp where it returns one."""
    mask = {"bias": BIAS, "mask": BOOLEANS}.get(kind)
    keep = {"causal": np.tri(17, 21, dtype=bool), "mask": BOOLEANS}.get(kind, True)
    asks_lse = not op.endswith("_math")
    text = write_aten(op, mask, kind == "causal", operator=operator, asks_lse=asks_lse)
    found = run(text, [Q, K, V] + ([] if mask is None else [mask]), 1 + asks_lse, tmp_path)
    bias = BIAS if kind == "bias" else 0.0
    np.testing.assert_allclose(found[0], attend(Q, K, V, bias=bias, keep=keep), rtol=2e-5, atol=2e-5)
    if asks_lse:
        s = np.where(keep, SCALE * np.einsum("bhid,bhjd->bhij", Q, K) + bias, -np.inf)
        np.testing.assert_allclose(found[1], np.log(np.exp(s).sum(-1)), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("torch", ("0.0 : f64", "0.1 : f64"), "expected a constant dropout_p of 0"),
        ("iree_online", ("%r#2, %r#0", "%r#1, %r#0"), "found another use; write it as iree_linalg_ext.attention"),
        ("iree_region", ("math.tanh %score", '"other.op"(%score)'), "expected ops of arith and math on a score"),
        ("iree", ("-> (b, h, j, d)", "-> (b, h, i, d)"), "expected indexing maps of dimensions (batch…, query, key"),
    ],
)
def test_refused(name, change, message, tmp_path):
    text = CASES[name][0].replace(*change)
    if "other.op" in text:
        text = text.replace('"other.op"(%score) : f32', '"other.op"(%score) : (f32) -> f32')
    assert text != CASES[name][0]
    (tmp_path / "f.mlir").write_text(text)
    command = [
        ATTN_OPT,
        "--allow-unregistered-dialect",
        "--pass-pipeline=builtin.module(func.func(attn-import-foreign))",
    ]
    done = subprocess.run([*command, tmp_path / "f.mlir"], capture_output=True, text=True)
    assert done.returncode == 1
    assert message in done.stderr


@pytest.mark.parametrize(
    ("op", "command"),
    [
        ("iree_linalg_ext.attention ins(%x)", "iree-opt --mlir-print-op-generic"),
        ("tm_tensor.attention ins(%x)", "torch-mlir-opt --mlir-print-op-generic"),
        ("torch.aten.scaled_dot_product_attention %x", "torch-mlir-opt --mlir-print-op-generic"),
    ],
)
def test_own_form(op, command, tmp_path):
    (tmp_path / "f.mlir").write_text(f"func.func @f(%x: tensor<4xf32>) {{ %0 = {op} return }}")
    done = subprocess.run([ATTNC, tmp_path / "f.mlir", "-o", tmp_path / "f.o"], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"write {command} {tmp_path / 'f.mlir'}" in done.stderr
