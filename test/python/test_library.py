"""attn.load_library: libraries of attnc --problems, called by shapes and features, against the reference."""

import json
import shutil

import numpy as np
import pytest

import attn
import processor
from attn.kernel import _library
from helpers import Shape, draw
from paths import attnc

LINES = """
b2 hq4 hkv2 sq5 sk7 d16 dv8 f32
b2 hq4 hkv2 sq5 sk7 d16 dv8 f32 causal=bottom_right softcap=30 out=lse
b2 hq4 hkv2 sq5 sk7 d16 dv8 f32 bias=1,4,5,7 mask=2,1,5,7
b? hq4 hkv2 sq? sk? d16 dv8 f32
b? hq4 hkv2 sq? sk? d16 dv8 f32 kv_lengths
b2 hq4 hkv2 sq5 sk7 d16 dv8 f32 layout=bsd
b? hq4 hkv2 sq1 sk? d16 dv8 f32 kv=int8 kv_lengths
b2 hq4 hkv2 sq7 sk7 d16 dv8 f32 window=3,4
b2 hq4 hkv2 sq5 sk7 d16 dv8 f32 causal=top_left grad=q,k,v
b2 hq4 hkv2 sq5 sk7 d16 dv8 f32 bias=1,4,5,7 out=lse grad=v,bias
b2 hq4 hkv2 sq5 sk7 d16 dv8 f32 scale=? grad=scale,q
b2 hq4 hkv2 sq5 sk7 d16 dv8 f32 out=lse into=state
"""
SHAPE = Shape(5, 7, 16, 8, b=2, hq=4, hkv=2)
Q, K, V = draw(SHAPE)


# Below tiles of AMX, which a system may refuse, stands a variant without them.
TARGETS = ["x86-64", *(["x86-64-v4"] if processor.has("amx-bf16") else []), "host"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    (folder / "lines.txt").write_text(LINES)
    to = ["--emit=shared", "-o", folder / "libsmall.so", f"--manifest={folder / 'small.json'}"]
    attnc(f"--problems={folder / 'lines.txt'}", "--target=x86-64,host", "--parallel=none", *to)
    return folder


@pytest.fixture(scope="module")
def library(folder):
    return attn.load_library(folder / "small.json")


def same(found, expected):
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_what_it_says_of_itself(library):
    assert library.name == "small"
    assert library.targets == TARGETS
    assert len(library.problems) == 15
    assert repr(library) == f"<attn.Library small: 15 kernels for {', '.join(TARGETS)}>"


def test_sizes_of_a_kernel_of_its_own_and_others(library):
    same(library.sdpa(Q, K, V), attn.reference.sdpa(Q, K, V))
    for shape in (Shape(1, 1, 16, 8, b=1, hq=4, hkv=2), Shape(33, 70, 16, 8, b=3, hq=4, hkv=2)):
        q, k, v = draw(shape)
        same(library.sdpa(q, k, v), attn.reference.sdpa(q, k, v))


def test_features(library):
    options = {"causal": "bottom_right", "softcap": 30, "return_lse": True}
    out, lse = library.sdpa(Q, K, V, **options)
    expected = attn.reference.sdpa(Q, K, V, **options)
    same(out, expected[0])
    same(lse, expected[1])
    same(library("out=lse softcap=30 causal=bottom_right", Q, K, V)[1], expected[1])


def test_inputs_beside_q_k_v(library, rng):
    bias = rng.standard_normal((1, 4, 5, 7), np.float32)
    mask = rng.random((2, 1, 5, 7)) < 0.7
    same(library.sdpa(Q, K, V, bias=bias, mask=mask), attn.reference.sdpa(Q, K, V, bias=bias, mask=mask))
    same(library.sdpa(Q, K, V, kv_lengths=[7, 3]), attn.reference.sdpa(Q, K, V, kv_lengths=[7, 3]))


def test_narrow_keys_and_values(library, rng):
    q, k, v = draw(Shape(1, 9, 16, 8, b=2, hq=4, hkv=2))
    k, v = (rng.integers(-127, 128, x.shape, np.int8) for x in (k, v))
    options = {"k_scale": np.float32([0.01, 0.02]), "v_scale": np.float32([0.03, 0.01]), "kv_lengths": [9, 4]}
    same(library.sdpa(q, k, v, **options), attn.reference.sdpa(q, k, v, **options))


def test_packed_heads(library):
    q, k, v = (x.swapaxes(1, 2).reshape(2, x.shape[2], -1) for x in (Q, K, V))
    found = library.sdpa(q, k, v, layout="bsd", heads=(4, 2))
    same(found, attn.reference.sdpa(q, k, v, layout="bsd", heads=(4, 2)))


def test_each_target(library):
    for target in library.targets:
        library.use_target(target)
        same(library.sdpa(Q, K, V), attn.reference.sdpa(Q, K, V))
    with pytest.raises(ValueError, match=f"expected one of {', '.join(TARGETS)}, found 'x86-64-v9'"):
        library.use_target("x86-64-v9")
    library.use_target()


def test_results_that_are_updated_are_refused(library):
    """No result is made new whose old values a kernel reads; what adds to others has no keyword here."""
    with pytest.raises(ValueError, match="expected a kernel whose results are new, found one that updates out, lse"):
        library("out=lse into=state", Q, K, V)
    out, lse = attn.sdpa(Q, K, V, return_lse=True)
    with pytest.raises(TypeError, match=r"Library.sdpa\(\) has no keyword 'into'; attn.sdpa has it"):
        library.sdpa(Q, K, V, into=(out, lse))
    with pytest.raises(TypeError, match=r"Library.sdpa_backward\(\) has no keyword 'into'; attn.sdpa has it"):
        library.sdpa_backward(Q, K, V, out, lse, out, into={"q": np.zeros_like(Q)})


def test_what_a_call_need_not_say(library):
    """A window where Sq = Sk has one meaning, and the scale of a call may be a kernel's own."""
    q, k, v = draw(Shape(7, 7, 16, 8, b=2, hq=4, hkv=2))
    expected = attn.reference.sdpa(q, k, v, window=(3, 4), align="top_left")
    same(library.sdpa(q, k, v, window=(3, 4)), expected)
    same(library.sdpa(q, k, v, scale=0.25), attn.reference.sdpa(q, k, v))
    with pytest.raises(ValueError, match=r"found 'scale=0\.5"):
        library.sdpa(q, k, v, scale=0.5)


def test_no_such_kernel(library):
    with pytest.raises(ValueError, match=r"one of '', .*'kv_lengths'.*, found 'causal=top_left'"):
        library.sdpa(Q, K, V, causal="top_left")
    q, k, v = draw(Shape(5, 7, 24, 8, b=2, hq=4, hkv=2))
    with pytest.raises(ValueError, match="add the problem line 'b2 hq4 hkv2 sq5 sk7 d24 dv8 f32'"):
        library.sdpa(q, k, v)
    with pytest.raises(ValueError, match="of small for '' takes, found float32"):
        library("", Q, K)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"is_causal": True}, r"Library\.sdpa\(\) has no keyword 'is_causal'; write causal="),
        ({"caused": 1}, r"Library\.sdpa\(\) has no keyword 'caused'; did you mean 'causal'\?$"),
        ({"dynamic": True}, r"has no keyword 'dynamic', as it compiles nothing; leave it out, or call attn\.sdpa"),
        ({"score_mod": lambda score, *_: score}, "has no keyword 'score_mod', as it compiles nothing"),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, dict) else "",
)
def test_keywords_that_a_library_does_not_have(library, option, message):
    with pytest.raises(TypeError, match=message):
        library.sdpa(*draw(Shape(5, 5, 8, 8)), **option)


def test_a_library_has_no_source(library):
    with pytest.raises(AttributeError, match=r"found a library, .* write attn\.compile\(library\..*\.asm$"):
        library.asm  # noqa: B018
    with pytest.raises(AttributeError, match=r"library\.targets\[0\]\)\.ir"):
        library.ir("fuse")
    with pytest.raises(AttributeError, match="object has no attribute 'problem'"):
        library.problem  # noqa: B018
    assert "attn.sdpa" in attn.compile(library.problems[0], library.targets[0]).ir("fuse")


def test_what_the_kernel_refuses(library):
    with pytest.raises(ValueError, match="expected lengths in 0 to 7, found 8"):
        library("kv_lengths", Q, K, V, np.array([1, 8], np.int32))


def test_packed_sequences_and_pages(tmp_path, rng):
    lines = ["b? hq4 hkv2 sq? sk? d16 dv8 f32 layout=varlen causal=bottom_right"]
    lines += ["b2 hq4 hkv2 sq3 sk12 d16 dv8 f32 paged=4 kv_lengths"]
    (tmp_path / "lines.txt").write_text("\n".join(lines))
    to = ["--emit=shared", "-o", tmp_path / "libserve.so", f"--manifest={tmp_path / 'serve.json'}"]
    attnc(f"--problems={tmp_path / 'lines.txt'}", "--parallel=none", *to)
    library = attn.load_library(tmp_path / "serve.json")
    q, k, v = (rng.standard_normal((n, h, d), np.float32) for n, h, d in ((9, 4, 16), (11, 2, 16), (11, 2, 8)))
    starts = [0, 2, 9], [0, 5, 11]
    same(
        library.varlen_sdpa(q, k, v, *starts, causal="bottom_right"),
        attn.reference.varlen_sdpa(q, k, v, *starts, causal="bottom_right"),
    )
    caches = [rng.standard_normal((6, 4, 2, d), np.float32) for d in (16, 8)]
    q, table, lengths = rng.standard_normal((2, 4, 3, 16), np.float32), np.array([[5, 0, 2], [1, 4, 9]]), [12, 7]
    expected = attn.paged_sdpa(q, *caches, table, lengths)
    same(library.paged_sdpa(q, *caches, table, lengths), expected)
    with pytest.raises(TypeError, match=r"Library\.paged_sdpa\(\) has no keyword 'dynamic', as it compiles nothing"):
        library.paged_sdpa(q, *caches, table, lengths, dynamic=True)
    with pytest.raises(TypeError, match="expected a stream for a library for GPUs alone, found one of host"):
        library.paged_sdpa(q, *caches, table, lengths, stream=0)


def test_files_that_are_no_library(folder, tmp_path):
    shutil.copy(folder / "small.json", tmp_path)
    with pytest.raises(ValueError, match=r"expected the library at .*libsmall\.so, found none"):
        attn.load_library(tmp_path / "small.json")
    assert attn.load_library(tmp_path / "small.json", folder / "libsmall.so").name == "small"
    (tmp_path / "libsmall.so").write_text("no library")
    with pytest.raises(ValueError, match="expected a shared library at"):
        attn.load_library(tmp_path / "small.json")
    attnc("--problem=sq4 d8", "-o", tmp_path / "one.o", f"--manifest={tmp_path / 'one.json'}")
    with pytest.raises(ValueError, match="expected the manifest of attnc --problems"):
        attn.load_library(tmp_path / "one.json")
    manifest = json.loads((folder / "small.json").read_text())
    (tmp_path / "cut.json").write_text(json.dumps({name: manifest[name] for name in ("library", "variants")}))
    with pytest.raises(ValueError, match=r"expected the manifest of .*, found one without kernels in .*cut\.json"):
        attn.load_library(tmp_path / "cut.json")
    with pytest.raises(ValueError, match="to be the library of the manifest, with small_call, found none"):
        attn.load_library(folder / "small.json", _library.load()._name)


@pytest.mark.parametrize("name", ["causal", "bias", "scale"])
def test_gradients(library, name):
    """Of the pair that a line with grad has; grad may be in any order."""
    rng = np.random.default_rng(3)
    bias = rng.standard_normal((1, 4, 5, 7)).astype(np.float32)
    options, grad = {
        "causal": ({"causal": "top_left"}, ("v", "q", "k")),
        "bias": ({"bias": bias}, ("bias", "v")),
        "scale": ({"scale": np.array(-0.3, np.float32)}, ("q", "scale")),
    }[name]
    # That of a line with out=lse returns lse too.
    flags = {"return_lse": name == "bias", "return_max": True, "return_log_sum": True}
    out, *terms = library.sdpa(Q, K, V, **flags, **options)
    dout = rng.standard_normal(out.shape).astype(np.float32)
    more = {"dlse": rng.standard_normal(terms[0].shape).astype(np.float32)} if name == "bias" else {}
    saved = (out, tuple(terms[-2:]), dout)
    found = library.sdpa_backward(Q, K, V, *saved, grad=grad, **more, **options)
    expected = attn.reference.sdpa_backward(Q, K, V, *saved, grad=grad, **more, **options)
    assert list(found) == list(grad)
    for gradient, reference in zip(found.values(), expected.values(), strict=True):
        np.testing.assert_allclose(gradient, reference, atol=2e-5 * np.abs(reference).max())


def test_gradients_that_it_does_not_have(library):
    out, *terms = library.sdpa(Q, K, V, return_max=True, return_log_sum=True, causal="top_left")
    lse = tuple(terms)
    with pytest.raises(ValueError, match=r"expected the features of .* small, .* found 'causal=top_left grad=q'"):
        library.sdpa_backward(Q, K, V, out, lse, out, grad=("q",), causal="top_left")
    with pytest.raises(TypeError, match=r"sdpa_backward\(\) has no keyword 'score_mod', as it compiles nothing"):
        library.sdpa_backward(Q, K, V, out, lse, out, score_mod=lambda s, b, h, i, j: s)
