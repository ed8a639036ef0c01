"""The Python surface around the kernels: problem lines, errors, caching, threads, copies of kernels."""

import concurrent.futures
import copy
import os
import pickle
import signal
import subprocess
import threading
import time
import types

import ml_dtypes
import numpy as np
import pytest

import attn
import clock
from attn.call import _problem, _running
from attn.call._problem import Given
from attn.kernel import _cache, _compile, _dlpack, _library, _tensor
from helpers import Exporter, Shape, draw

SMALL = Shape(5, 7, 16, 8, b=2, hq=4, hkv=2)


def test_problem_line_leaves_out_defaults():
    assert _problem.of(*draw(SMALL)).line() == "b2 hq4 hkv2 sq5 sk7 d16 dv8 f32"


def test_problem_line_has_every_feature():
    q, k, v = draw(Shape(113, 203, 64, 64, b=2, hq=8, hkv=2))
    options = dict(scale=0.1, causal="bottom_right", softcap=30, bias=np.zeros((1, 8, 113, 203), np.float32))
    options |= dict(
        mask=np.ones((1, 1, 113, 203), bool), return_lse=True, window=(127, None), align=None, layout="bhsd"
    )
    line = _problem.of(q, k, v, Given(**options)).line()
    assert line == (
        "b2 hq8 hkv2 sq113 sk203 d64 dv64 f32 scale=0.1 causal=bottom_right window=127, softcap=30.0 "
        "bias=1,8,113,203 mask=1,1,113,203 out=lse"
    )
    options["mask"] = np.ones((2, 8, 113, 203), bool)
    assert "mask=bool" in _problem.of(q, k, v, Given(**options)).line()


def test_problem_line_has_every_structural_feature():
    q, k, v = draw(Shape(5, 7, 16, 8, b=2, hq=4, hkv=2))
    given = Given(
        sink=np.zeros(4), q_lengths=[5, 3], kv_lengths=[7, 0], causal=np.array([1, -1]), window=(None, 2),
        dropout=(0.25, 1, 2), return_weights=True, return_lse=True,
    )  # fmt: skip
    line = _problem.of(q, k, v, given).line()
    assert line == (
        "b2 hq4 hkv2 sq5 sk7 d16 dv8 f32 causal=offset window=,2 sink q_lengths kv_lengths dropout=0.25 out=lse,weights"
    )


def test_problem_lines_of_layouts_and_dynamic_sizes():
    q, k, v = (x.swapaxes(1, 2).reshape(2, x.shape[2], -1) for x in draw(SMALL, np.float64))
    problem = _problem.of(q, k, v, Given(layout="bsd", heads=(4, 2), mask=np.ones((1, 4, 1, 7), bool)))
    assert problem.line() == "b2 hq4 hkv2 sq5 sk7 d16 dv8 f64 mask=1,4,1,7 layout=bsd"
    assert problem.with_dynamic_sizes().line() == "b? hq4 hkv2 sq? sk? d16 dv8 f64 mask=1,4,1,? layout=bsd"
    q, k, v = draw(Shape(7, 7, 16, 8, b=2, hq=4, hkv=4))
    problem = _problem.of(q, k, v, Given(window=(2, 0), bias=np.zeros((2, 1, 7, 7), "f4"))).with_dynamic_sizes()
    assert problem.line() == "b? hq? hkv? sq? sk? d16 dv8 f32 window=2,0 align=top_left bias=?,1,?,?"


@pytest.mark.parametrize(("dtype", "word"), [(np.float16, "f16"), (ml_dtypes.bfloat16, "bf16")])
def test_narrow_types_in_problem_lines_and_tensors(dtype, word):
    q, k, v = draw(SMALL, dtype)
    assert f" {word}" in _problem.of(q, k, v).line()
    tensor = _dlpack.describe("q", q)
    assert (tensor.dtype.code, tensor.dtype.bits) == ((4 if word == "bf16" else 2), 16)
    assert _tensor.dtype(q.dtype.name) == dtype


Q, K, V = draw(SMALL)
RNG = np.random.default_rng(0)
BAD = {
    "list": (dict(q=[1.0]), TypeError, "q to be a NumPy array or an object with __dlpack__, found list"),
    "rank": (dict(q=Q[0]), ValueError, "q of rank 4"),
    "heads": (dict(q=Q[:, :3].copy()), ValueError, "multiple of the 2 key heads, found 3"),
    "integers": (dict(q=Q.astype(int)), TypeError, "q to be float32, float64, bfloat16 or float16, found int64"),
    "mixed types": (dict(k=K.astype(np.float64)), TypeError, "k to have the type of q, float32, found float64"),
    "bias type": (dict(bias=np.zeros((1, 1, 5, 7))), TypeError, "bias to have the type of q"),
    "bias shape": (dict(bias=np.zeros((1, 2, 5, 7), "f4")), ValueError, "dimension 1 of bias to be 1 or 4, found 2"),
    "mask type": (dict(mask=np.ones((1, 1, 5, 7), np.uint8)), TypeError, "mask to be bool"),
    "causal": (dict(causal="lower"), ValueError, 'found "lower"'),
    "causal true": (dict(causal=True), TypeError, 'write "top_left" or "bottom_right"'),
    "softcap": (dict(softcap=-1.0), ValueError, "softcap > 0, found -1.0"),
    "scale": (dict(scale="big"), TypeError, "scale to be a number, found str"),
    "scale beyond floats": (dict(scale=10**400), ValueError, "scale to fit in a float of 64 bits"),
    "own mask": (dict(q=np.ma.masked_array(Q, Q > 0)), TypeError, r"q without a mask of its own.*q\.filled"),
    "sink": (dict(sink=np.zeros(3)), ValueError, r"sink of shape \(4,\), one a query head, found \(3,\)"),
    "sink type": (dict(sink=np.zeros(4, int)), TypeError, "sink to hold floats, found int64"),
    "lengths": (dict(kv_lengths=[8, 0]), ValueError, r"kv_lengths in 0 to 7, found \[8, 0\]"),
    "negative lengths": (dict(q_lengths=[-1, 0]), ValueError, "q_lengths in 0 to 5"),
    "lengths shape": (dict(q_lengths=[1]), ValueError, r"q_lengths of shape \(2,\), one a batch"),
    "lengths type": (dict(kv_lengths=[1.0, 2.0]), TypeError, "kv_lengths to hold integers"),
    "offsets": (dict(causal=[1, 2, 3]), ValueError, r"causal of shape \(2,\)"),
    "large offsets": (dict(causal=[1, 2**40]), ValueError, "causal to fit in 32 bits"),
    "dropout": (dict(dropout=(1.5, 0, 0)), ValueError, r"dropout p in \[0, 1\], found 1.5"),
    "seed": (dict(dropout=(0.5, -1, 0)), ValueError, "dropout seed to be an unsigned 64-bit integer, found -1"),
    "align": (dict(align="top_left"), ValueError, "align only for a window or chunk without causal"),
    "lengths differ": (dict(window=(1, 1), kv_lengths=[5, 4], q_lengths=[5, 3]), ValueError, "align for a window"),
    "layout": (dict(layout="bdhs"), ValueError, '"bhsd", "bshd" or "bsd", found \'bdhs\''),
    "no heads": (dict(layout="bsd"), ValueError, 'heads with layout="bsd", .* found None'),
    "heads without bsd": (dict(heads=4), ValueError, 'heads only with layout="bsd"'),
    "rank of bsd": (dict(layout="bsd", heads=4), ValueError, "q of rank 3"),
    "mod": (dict(score_mod=lambda s: s), TypeError, r"score_mod\(score, b, h, i, j\), found other parameters"),
    "device": (dict(k=Exporter(K, device=(2, 0))), TypeError, "k in CPU memory, found DLPack device type 2"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_say_what_was_expected(case):
    arguments, kind, message = BAD[case]
    with pytest.raises(kind, match=message):
        attn.sdpa(**{"q": Q, "k": K, "v": V, **arguments})


def test_an_unknown_target_is_a_compile_error():
    with pytest.raises(attn.CompileError, match="z80") as error:
        attn.sdpa(Q, K, V, target="z80")
    assert error.value.diagnostics


def test_targets_are_listed():
    assert {"x86-64", "x86-64-v3"} <= set(attn.targets())


def test_a_missing_library_says_where_it_was_looked_for(monkeypatch, tmp_path):
    monkeypatch.setattr(_library, "candidates", lambda: [tmp_path / "libattn.so"])
    with pytest.raises(ImportError, match=r"expected libattn.so at one of .*scripts/setup.sh"):
        _library.load.__wrapped__()


@pytest.mark.parametrize(
    ("missing", "advice"),
    [
        ("libMLIR.so.99.1", "apt-get install libmlir-22, or install attn from its wheel"),
        ("libomp.so.99", "apt-get install libomp-22-dev, or install attn from its wheel"),
        ("libomp-0123abcd.so.5", "install attn again"),  # as a wheel names its own
    ],
)
def test_a_library_that_another_needs_is_named(monkeypatch, tmp_path, missing, advice):
    needed, path = tmp_path / missing, tmp_path / "libattn.so"
    link = ["clang-22", "-shared", "-x", "c", "/dev/null", "-Wl,--no-as-needed"]
    subprocess.run([*link, f"-Wl,-soname,{missing}", "-o", needed], check=True)
    subprocess.run([*link, "-x", "none", needed, "-o", path], check=True)
    needed.unlink()
    monkeypatch.setattr(_library, "candidates", lambda: [path])
    with pytest.raises(ImportError, match=rf"^expected {missing}, which {path} needs, found none; {advice}$"):
        _library.load.__wrapped__()


def test_a_library_of_another_version_is_refused(monkeypatch, tmp_path):
    path = tmp_path / "libattn.so"
    subprocess.run(["clang-22", "-shared", "-x", "c", "/dev/null", "-o", path], check=True)
    monkeypatch.setattr(_library, "candidates", lambda: [path])
    with pytest.raises(ImportError, match=r"expected attn_\w+ in .*libattn.so, found an older library"):
        _library.load.__wrapped__()


def test_a_kernel_is_compiled_once_by_racing_threads(monkeypatch):
    compiled = []

    def slow(line, target, name):
        compiled.append(line)
        time.sleep(0.05)
        return _compile.compile(line, target, name=name)

    _cache.plans.clear()
    monkeypatch.setattr(_running, "kernels", _cache.KernelCache())
    monkeypatch.setattr(_running, "_compile", types.SimpleNamespace(compile=slow))
    barrier = threading.Barrier(8)

    def call(_):
        barrier.wait()
        return attn.sdpa(Q, K, V)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        results = list(pool.map(call, range(8)))
    assert len(compiled) == 1
    for result in results:
        np.testing.assert_array_equal(result, results[0])
    attn.sdpa(Q, K, V, causal="top_left")
    assert len(compiled) == len(_running.kernels) == 2


def test_an_error_is_not_cached_and_the_least_recently_used_kernel_goes_first():
    cache = _cache.KernelCache(size=2)

    def fail():
        raise attn.CompileError("no")

    with pytest.raises(attn.CompileError):
        cache.get("a", fail)
    assert [cache.get(key, lambda key=key: key) for key in "abac"] == ["a", "b", "a", "c"]
    assert cache.get("a", fail) == "a"
    with pytest.raises(attn.CompileError):
        cache.get("b", fail)


def test_a_child_does_not_wait_for_what_a_thread_of_its_parent_makes():
    cache, started, may_end = _cache.KernelCache(), threading.Event(), threading.Event()
    cache.get("made", lambda: 1)

    def make():
        started.set()
        may_end.wait()
        return 2

    thread = threading.Thread(target=lambda: cache.get("in the making", make))
    thread.start()
    started.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        found = [cache.get(key, lambda: 3) for key in ("made", "in the making")]
        os._exit(0 if found == [1, 3] else 1)
    status = os.waitpid(child, 0)[1]
    may_end.set()
    thread.join()
    assert status == 0
    assert cache.get("in the making", lambda: 4) == 2


def test_threads_share_kernels_and_agree_with_the_reference():
    inputs = [draw(SMALL, seed=seed) for seed in range(16)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda x: attn.sdpa(*x), inputs))
    for x, result in zip(inputs, results, strict=True):
        np.testing.assert_allclose(result, attn.reference.sdpa(*x), atol=1e-5)


def test_the_gil_is_released_while_a_kernel_runs():
    q, k, v = draw(Shape(4096, 4096, 64, 64, hq=4, hkv=4))
    attn.sdpa(q, k, v)

    def goes_on() -> bool:
        """Whether the main thread never stands still for most of a kernel's time, as it may on a busy machine."""
        gaps = []

        def work():
            start = time.perf_counter()
            attn.sdpa(q, k, v)
            return time.perf_counter() - start

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            last, done = time.perf_counter(), False  # before the thread starts: it may take the GIL at once
            future = pool.submit(work)
            while not done:
                done = future.done()
                now = time.perf_counter()
                gaps.append(now - last)
                last = now
        return max(gaps) < 0.8 * future.result()

    assert clock.ever(goes_on), "the main thread stood still for the whole kernel"


def test_set_num_threads():
    before = attn.get_num_threads()
    try:
        attn.set_num_threads(1)
        assert attn.get_num_threads() == 1
        np.testing.assert_allclose(attn.sdpa(Q, K, V), attn.reference.sdpa(Q, K, V), atol=1e-5)
    finally:
        attn.set_num_threads(0)
    assert attn.get_num_threads() == before
    for threads, kind in [(-1, ValueError), (2**32, ValueError), (1.5, TypeError), (True, TypeError)]:
        with pytest.raises(kind, match="expected a number of threads"):
            attn.set_num_threads(threads)
    assert attn.get_num_threads() == before


def test_a_copy_of_a_kernel_is_the_kernel():
    kernel = attn.compile("b1 hq1 hkv1 sq4 sk4 d8 f32")
    assert copy.copy(kernel) is kernel
    assert copy.deepcopy([kernel])[0] is kernel
    with pytest.raises(TypeError, match=r"expected no pickling of <attn.Kernel sdpa.* pickle the problem line"):
        pickle.dumps(kernel)


def test_an_empty_batch_has_an_empty_result():
    out, lse = attn.sdpa(Q[:0], K[:0], V[:0], causal="bottom_right", return_lse=True)
    assert (out.shape, lse.shape) == ((0, *Q.shape[1:3], V.shape[3]), (0, *Q.shape[1:3]))


def test_window_bounds_beyond_every_length_are_none():
    np.testing.assert_array_equal(
        attn.sdpa(Q, K, V, window=(2**40, np.int64(2**33)), align="top_left"), attn.sdpa(Q, K, V)
    )
    with pytest.raises(ValueError, match=r"window bounds to be integers >= 0 or None, found \(True, 0\)"):
        attn.sdpa(Q, K, V, window=(True, 0), align="top_left")
    with pytest.raises(ValueError, match=r"found \(-2, 0\); write None or -1 for a side without a bound$"):
        attn.sdpa(Q, K, V, window=(-2, 0), align="top_left")


@pytest.mark.parametrize("target", [None, 5])
def test_a_target_is_a_name(target):
    with pytest.raises(TypeError, match=f"expected target to be .* found {target}"):
        attn.sdpa(Q, K, V, target=target)


def test_outputs_that_are_updated_have_to_be_given():
    """A kernel that adds to its destination: there is no new array to add to."""
    source = """
func.func @add(%a: tensor<3x4xf32>, %sum: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = linalg.add ins(%a, %sum : tensor<3x4xf32>, tensor<3x4xf32>) outs(%sum : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}"""
    kernel, a, total = attn.compile(source), np.ones((3, 4), np.float32), np.full((3, 4), 2, np.float32)
    with pytest.raises(ValueError, match="expected out= with the old values of output, which the kernel updates"):
        kernel(a)
    assert kernel(a, out=total) is total
    np.testing.assert_array_equal(total, np.full((3, 4), 3))


@pytest.mark.parametrize("op", ["%r = arith.subf %a, %b", "%r = arith.subf %b, %a"])
def test_elementwise_kernels_do_not_write_their_inputs(op):
    source = f"""
func.func @f(%a: tensor<?x4xf32>, %b: tensor<?x4xf32>) -> tensor<?x4xf32> {{
  {op} : tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}}"""
    a, b = np.full((3, 4), 5, np.float32), np.full((3, 4), 2, np.float32)
    result = attn.compile(source)(a, b)
    np.testing.assert_array_equal(result, np.full((3, 4), 3 if "%a, %b" in op else -3))
    assert (a == 5).all()
    assert (b == 2).all()


def test_outputs_are_in_the_order_of_results_and_inputs_without_them():
    """A destination in front of the inputs, and one that holds the second result."""
    source = """
func.func @f(%d: tensor<3x4xf32>, %a: tensor<3x4xf32>, %b: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %e = tensor.empty() : tensor<3x4xf32>
  %x = linalg.sub ins(%a, %b : tensor<3x4xf32>, tensor<3x4xf32>) outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32>
  %y = linalg.mul ins(%a, %b : tensor<3x4xf32>, tensor<3x4xf32>) outs(%d : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %x, %y : tensor<3x4xf32>, tensor<3x4xf32>
}"""
    kernel = attn.compile(source)
    a, b = RNG.standard_normal((2, 3, 4), dtype=np.float32)
    before = a.copy()
    difference, product = kernel(a, b)
    np.testing.assert_array_equal(difference, before - b)
    np.testing.assert_array_equal(product, before * b)
    np.testing.assert_array_equal(a, before)


def test_a_target_that_this_processor_does_not_run_is_an_error():
    """Not the end of the process; diamondrapids has AMX types that no processor of 2026 here has."""
    kernel = attn.compile("hq2 sq4 d8 f16", target="diamondrapids")
    x = np.zeros((1, 2, 4, 8), np.float16)
    with pytest.raises(RuntimeError, match=r"expected a processor that runs .* found another: diamondrapids needs"):
        kernel(x, x, x)


@pytest.mark.parametrize("twice", ["and or", "select"])
def test_masks_that_use_values_twice_compile_in_no_time(twice):
    """As a tree, such a predicate has 2 to the 40 leaves."""

    def mask(b, h, i, j):
        keep = j <= i
        for t in range(40):
            wide = j <= i + t
            keep = attn.functions.where(keep, wide, keep) if twice == "select" else keep & wide | keep
        return keep

    q, k, v = (RNG.standard_normal((1, 2, 70, 16), dtype=np.float32) for _ in range(3))
    out = attn.sdpa(q, k, v, mask_mod=mask)
    expected = attn.sdpa(q, k, v, causal="top_left")
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


def test_options_that_are_remembered_stay_checked():
    q, k, v = draw(Shape(5, 5, 8, 8))
    expected = attn.sdpa(q, k, v, window=(2, 0), softcap=1.0)
    np.testing.assert_array_equal(attn.sdpa(q, k, v, window=[2, 0], softcap=1.0), expected)  # no key of a cache
    for _ in range(2):
        with pytest.raises(TypeError, match="softcap"):
            attn.sdpa(q, k, v, window=(2, 0), softcap=True)
        with pytest.raises(TypeError, match="expected k to have the type of q"):
            attn.sdpa(q, k.astype("f8"), v)
        with pytest.raises(ValueError, match="expected k to have the head size of q"):
            attn.sdpa(q, k[..., :4], v)


@pytest.mark.parametrize("option", ["causal", "align"])
def test_offsets_with_a_hash_are_arrays_still(option):
    # As of a tuple, and of a torch tensor.
    q, k, v = draw(SMALL)
    more = {} if option == "causal" else {"window": (1, 1)}
    expected = attn.sdpa(q, k, v, **more, **{option: np.array([1, -2])})
    np.testing.assert_array_equal(attn.sdpa(q, k, v, **more, **{option: (1, -2)}), expected)


@pytest.mark.parametrize("option", ["reference", "fail_on_fallback"])
def test_flags_of_compile_are_flags(option):
    with pytest.raises(TypeError, match=f"expected {option} to be True or False, found 'no'"):
        attn.compile("sq4 d8", **{option: "no"})


@pytest.mark.parametrize(("right", "wrong"), [(dict(dynamic=True), dict(dynamic=1)), (dict(scale=1), dict(scale=True))])
def test_a_call_is_remembered_by_types_too(right, wrong):
    """True has the hash of 1."""
    attn.sdpa(Q, K, V, **right)
    with pytest.raises(TypeError, match=r"expected (dynamic|scale) to be"):
        attn.sdpa(Q, K, V, **wrong)
