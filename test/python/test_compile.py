"""attn.compile and Kernel: sources, manifest, calls, refusals."""

import numpy as np
import pytest

import attn
from attn.kernel import _compile
from helpers import Shape, draw

SHAPE = Shape(5, 7, 16, 8, b=2, hq=4, hkv=2)
LINE = "b2 hq4 hkv2 sq5 sk7 d16 dv8 f32"
Q, K, V = draw(SHAPE)

MLIR = """
func.func @NAME(%q: tensor<2x4x5x16xf32>, %k: tensor<2x2x7x16xf32>, %v: tensor<2x2x7x8xf32>) -> tensor<2x4x5x8xf32> {
  %empty = tensor.empty() : tensor<2x4x5x8xf32>
  %out = attn.sdpa ins(%q, %k, %v : tensor<2x4x5x16xf32>, tensor<2x2x7x16xf32>, tensor<2x2x7x8xf32>)
    outs(%empty : tensor<2x4x5x8xf32>) {scale = 0.25 : f64} -> tensor<2x4x5x8xf32>
  return %out : tensor<2x4x5x8xf32>
}
"""


@pytest.fixture(scope="module")
def kernel():
    return attn.compile(LINE + " out=lse")


def test_a_problem_line_becomes_a_kernel(kernel):
    out, lse = kernel(Q, K, V)
    expected = attn.reference.sdpa(Q, K, V, return_lse=True)
    np.testing.assert_allclose(out, expected[0], atol=1e-5)
    np.testing.assert_allclose(lse, expected[1], atol=1e-5)


def test_the_manifest_describes_the_kernel(kernel):
    assert kernel.name in [x["name"] for x in kernel.manifest["kernels"]]
    assert [x["shape"] for x in kernel.inputs] == [list(x.shape) for x in (Q, K, V)]
    assert [x["shape"] for x in kernel.outputs] == [[2, 4, 5, 8], [2, 4, 5]]
    assert kernel.manifest["target"]["name"] == "host"
    assert kernel.name in repr(kernel)


def test_out_is_written_in_place_and_returned(kernel):
    out, lse = np.full((2, 4, 5, 8), np.nan, np.float32), np.full((2, 4, 5), np.nan, np.float32)
    result = kernel(Q, K, V, out=(out, lse))
    assert result[0] is out
    assert result[1] is lse
    np.testing.assert_array_equal(out, kernel(Q, K, V)[0])


def test_arrays_that_are_not_as_most_are(kernel):
    """Those that are contiguous, writable and NumPy's own go to the kernel in one step; the others in several."""
    expected = kernel(Q, K, V)
    read_only, strided = Q.copy(), np.empty((*Q.shape[:3], 2 * Q.shape[3]), Q.dtype)[..., ::2]
    read_only.flags.writeable = False
    strided[:] = Q
    unaligned = np.frombuffer(bytes(1) + Q.tobytes(), np.uint8, offset=1).view(Q.dtype).reshape(Q.shape)
    for q in (read_only, strided, unaligned, np.asfortranarray(Q), Q.view(type("Subclass", (np.ndarray,), {})), Q):
        for x, y in zip(kernel(q, K, V), expected, strict=True):
            np.testing.assert_array_equal(x, y)
    out = [np.empty_like(x) for x in expected]
    for given in (out, tuple(out)):
        assert kernel(Q, K, V, out=given)[1] is out[1]
    one = attn.compile("b1 hq1 hkv1 sq5 sk7 d8 f32")
    q, k = np.ones((1, 1, 5, 8), np.float32), np.ones((1, 1, 7, 8), np.float32)
    given = np.empty_like(q)
    assert one(q, k, k, out=(given,)) is given
    assert one(q, k, k, out=given) is given
    with pytest.raises(ValueError, match="overlap"):
        one(q, k, k, out=q)
    with pytest.raises(ValueError, match="expected 3 tensors"):
        one(q, k)


def test_an_ir_file_becomes_a_kernel(tmp_path):
    path = tmp_path / "one.mlir"
    path.write_text(MLIR.replace("NAME", "one"))
    for source in (path, path.read_text()):
        kernel = attn.compile(source)
        assert kernel.name == "one"
        np.testing.assert_allclose(kernel(Q, K, V), attn.reference.sdpa(Q, K, V), atol=1e-5)


def test_one_of_several_functions():
    text = MLIR.replace("NAME", "one") + MLIR.replace("NAME", "two").replace("scale = 0.25", "scale = 1.0")
    kernel = attn.compile(text, name="two")
    np.testing.assert_allclose(kernel(Q, K, V), attn.reference.sdpa(Q, K, V, scale=1.0), atol=1e-5)
    with pytest.raises(attn.CompileError, match="a kernel named three, found one, two"):
        attn.compile(text, name="three")


def test_the_reference_pipeline_agrees():
    for line in (LINE, LINE + " causal=bottom_right softcap=2"):
        fused, unfused = attn.compile(line)(Q, K, V), attn.compile(line, reference=True)(Q, K, V)
        np.testing.assert_allclose(fused, unfused, atol=1e-5)


def test_without_openmp():
    np.testing.assert_allclose(attn.compile(LINE, parallel="none")(Q, K, V), attn.reference.sdpa(Q, K, V), atol=1e-5)


def test_problems_and_ir_files_are_told_apart():
    region = "mask_mod {\n  %t = arith.constant true\n  attn.yield %t : i1\n}"
    for text in (LINE, f" {LINE}\n", f"{LINE}\n{region}", f"{LINE}\ncaptures(%x : tensor<4xf32>)\n{region}"):
        assert _compile.is_problem(text)
    for text in (MLIR, "// a comment\n" + MLIR, "module\n{\n}", "#map = affine_map<(i) -> (i)>\n"):
        assert not _compile.is_problem(text)


def test_a_problem_with_a_region():
    region = "mask_mod {\n  %t = arith.constant true\n  attn.yield %t : i1\n}"
    found = attn.compile(f"{LINE}\n{region}")(Q, K, V)
    np.testing.assert_allclose(found, attn.reference.sdpa(Q, K, V), atol=1e-5)


def test_numbers_where_a_kernel_takes_scalars():
    found = attn.compile(LINE + " dropout=0.5")(Q, K, V, 42, 1)
    np.testing.assert_allclose(found, attn.reference.sdpa(Q, K, V, dropout=(0.5, 42, 1)), atol=1e-5)


BAD_SOURCES = {
    "token": ("b2 hq4 wat3", "wat3"),
    "heads": ("b2 hq5 hkv2 sq5 sk7 d16 f32", "hkv2"),
    "syntax": ("func.func @f( {", "expected"),
    "no kernel": ("module {\n}", "kernel"),
}


@pytest.mark.parametrize("case", BAD_SOURCES)
def test_bad_sources_raise_with_diagnostics(case):
    source, message = BAD_SOURCES[case]
    with pytest.raises(attn.CompileError, match=message) as error:
        attn.compile(source)
    assert error.value.diagnostics


def test_a_source_of_the_wrong_kind_or_place(tmp_path):
    with pytest.raises(TypeError, match="found int"):
        attn.compile(3)
    with pytest.raises(FileNotFoundError):
        attn.compile(tmp_path / "none.mlir")


REFUSED = {
    "count": (lambda: (Q, K), {}, ValueError, r"expected 3 tensors \(q, k, v\), found 2"),
    "out count": (lambda: (Q, K, V), {"out": np.zeros((2, 4, 5, 8), "f4")}, ValueError, "expected 2 tensors"),
    "shape": (lambda: (Q, K, V[:, :, :6].copy()), {}, ValueError, "v"),
    "rank": (lambda: (Q[0], K, V), {}, ValueError, "q"),
    "type": (lambda: (Q, K.astype(np.float64), V), {}, TypeError, "k"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_tensors_are_refused(kernel, case):
    inputs, options, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        kernel(*inputs(), **options)


def test_nothing_is_written_when_a_call_is_refused(kernel):
    out, lse = np.full((2, 4, 5, 8), 7, np.float32), np.full((2, 4, 5), 7, np.float32)
    with pytest.raises(ValueError, match="v"):
        kernel(Q, K, V[:, :, :6].copy(), out=(out, lse))
    assert (out == 7).all()
    assert (lse == 7).all()


def test_outputs_must_be_writable_contiguous_and_apart(kernel):
    out, lse = np.zeros((2, 4, 5, 8), np.float32), np.zeros((2, 4, 5), np.float32)
    with pytest.raises(ValueError, match="stride"):
        kernel(Q, K, V, out=(np.asfortranarray(out), lse))
    out.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        kernel(Q, K, V, out=(out, lse))
    square = attn.compile("b1 hq2 hkv2 sq8 sk8 d16 dv16 f32")
    q, k, v = draw(Shape(8, 8, 16, 16, hq=2, hkv=2))
    with pytest.raises(ValueError, match="overlap"):
        square(q, k, v, out=q)


def test_a_byte_order_mark_is_read_over(tmp_path):
    path = tmp_path / "marked.mlir"
    path.write_text("\ufeff" + MLIR.replace("NAME", "one"), encoding="utf-8")
    expected = attn.reference.sdpa(Q, K, V)
    for source in (path, path.read_text(encoding="utf-8"), "\ufeff" + LINE):
        np.testing.assert_allclose(attn.compile(source)(Q, K, V), expected, atol=1e-5)


@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_integer_powers_say_what_to_write(target):
    region = """score_mod {
    ^bb0(%s: f32):
      %i = attn.index query : index
      %c = arith.index_cast %i : index to i32
      %p = math.ipowi %c, %c : i32
      %f = arith.sitofp %p : i32 to f32
      attn.yield %f : f32
    }"""
    with pytest.raises(attn.CompileError, match=r"'math.ipowi' op has no code for .*; write the product, arith\.muli"):
        attn.compile(f"sq16 sk16 d16 f32\n{region}", target)
