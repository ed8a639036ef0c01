"""Each word of the table that Python has, alone, on every road: its formula, or a refusal that names it.

The words are those of the build, so that scripts/planted.sh runs these tests on a build with words of its own.
"""

import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import attn
from attn.words import _words
from helpers import assert_close
from paths import ATTNC, call

VALUES = {"Bounds": (2, 1), "Integer": 3, "Positive": 0.5}
ATTRIBUTES = {"Bounds": "#attn.window<left = 2, right = 1>", "Integer": "3 : i64", "Positive": "0.5 : f64"}
# Which keys j a mask word keeps, d being the key on the query's diagonal.
KEPT = {
    "window": lambda x, d, j: (d - x[0] <= j) & (j <= d + x[1]),
    "chunk": lambda x, d, j: d // x == j // x,
    "prefix": lambda x, d, j: (j < x) | (j <= d),
    "every": lambda x, d, j: (d - j) % x == 0,
}
SCORES = {
    "softcap": lambda x, s: x * attn.tanh(s / x),
    "clamp": lambda x, s: attn.minimum(attn.maximum(s, -x), x),
}
Q = KV = "tensor<1x2x24x8xf32>"


def options(word: str) -> dict:
    """The keywords of a call with this word; a prefix stands beside causal."""
    placed = {"align": "bottom_right"} if word in _words.PLACED else {}
    placed = {"causal": "bottom_right"} if word == "prefix" else placed
    return {word: VALUES[_words.FORMS[word]], **placed}


def as_regions(word: str, offset: int) -> dict:
    """The same by the formula, as a region of the call."""
    value = VALUES[_words.FORMS[word]]
    if word in _words.MASKS:
        return {"mask_mod": lambda b, h, i, j: KEPT[word](value, i + offset, j)}
    return {"score_mod": lambda s, b, h, i, j: SCORES[word](value, s)}


def random(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype("f4") for shape in shapes]


@pytest.mark.parametrize("rows", [2, 21])
@pytest.mark.parametrize("word", _words.FORMS)
def test_forward_is_the_formula(word, rows):
    q, k, v = random((1, 4, rows, 16), (1, 2, 30, 16), (1, 2, 30, 16))
    expected = attn.reference.sdpa(q, k, v, **as_regions(word, 30 - rows))
    assert not np.allclose(expected, attn.reference.sdpa(q, k, v), atol=1e-3)
    assert_close(attn.sdpa(q, k, v, **options(word)), expected, np.float32)


def written(word: str) -> str:
    """The same in attn.sdpa."""
    places = {"prefix": ", causal", **dict.fromkeys(_words.PLACED, ", align")}
    alignment = f"{places[word]} = #attn.causal<bottom_right>" if word in places else ""
    return f"{{{word} = {ATTRIBUTES[_words.FORMS[word]]}{alignment}}}"


@pytest.mark.parametrize("word", _words.FORMS)
def test_the_reference_of_attnc_is_the_formula(word):
    q, k, v = random((1, 2, 21, 8), (1, 2, 24, 8), (1, 2, 24, 8))
    rows = Q.replace("24", "21")
    text = f"""func.func @f(%q: {rows}, %k: {KV}, %v: {KV}, %o: {rows}) -> {rows} {{
        %r = attn.sdpa ins(%q, %k, %v : {rows}, {KV}, {KV}) outs(%o : {rows}) {written(word)} -> {rows}
        return %r : {rows}
      }}"""
    expected = attn.reference.sdpa(q, k, v, **as_regions(word, 3))
    assert_close(attn.compile(text, reference=True)(q, k, v), expected, np.float32)


@pytest.mark.parametrize("gradients", ["", " grad=q,k,v"])
@pytest.mark.parametrize("word", _words.FORMS)
def test_gpus_compute_what_the_reference_does(word, gradients):
    values = ",".join(map(str, np.atleast_1d(VALUES[_words.FORMS[word]])))
    words = [f"{word}={values}", *(f"{x}={y}" for x, y in options(word).items() if x != word)]
    line = f"b1 hq2 sq40 sk70 d32 bf16 {' '.join(words)}{gradients}"
    command = [ATTNC.with_name("attn-ptx-run"), f"--problem={line}", "--target=sm_80"]
    call(*command)


@pytest.mark.parametrize("word", _words.FORMS)
def test_gradients_are_those_of_the_formula(word):
    q, k, v, dout = random((1, 4, 21, 16), (1, 2, 30, 16), (1, 2, 30, 16), (1, 4, 21, 16))
    out, lse = attn.sdpa(q, k, v, return_lse=True, **options(word))
    found = attn.sdpa_backward(q, k, v, out, lse, dout, **options(word))
    expected = attn.reference.sdpa_backward(q, k, v, None, None, dout, **as_regions(word, 9))
    for name in expected:
        assert_close(found[name], expected[name], np.float32, name)


def partition(word: str, sharded: str) -> str:
    """attn.sdpa with the word on three devices: the IR of one of them."""
    names = {x: f"%{x}1" if x == sharded else f"%{x}" for x in "qk"}
    text = f"""shard.grid @grid(shape = 3)
      func.func @f(%q: {Q}, %k: {KV}, %v: {KV}, %o: {Q}) -> {Q} {{
        %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
        %{sharded}1 = shard.shard %{sharded} to %s annotate_for_users : {Q}
        %r = attn.sdpa ins({names["q"]}, {names["k"]}, %v : {Q}, {KV}, {KV}) outs(%o : {Q})
          {written(word)} -> {Q}
        return %r : {Q}
      }}"""
    passes = "builtin.module(func.func(sharding-propagation,shard-partition),canonicalize,cse)"
    command = [ATTNC.with_name("attn-opt"), f"--pass-pipeline={passes}"]
    return subprocess.run(command, input=text, text=True, check=True, capture_output=True).stdout


@pytest.mark.parametrize("word", _words.FORMS)
def test_rows_on_three_devices(word):
    q, k, v = random(*[(1, 2, 24, 8)] * 3)
    text = re.sub(r"shard.grid .*", "", partition(word, "q"))
    text = re.sub(r"shard.all_gather.*", "", text)
    of_device = re.compile(r"shard\.process_multi_index on @grid axes = \[0\] : index")
    expected = attn.reference.sdpa(q, k, v, **as_regions(word, 0))
    for device, rows in enumerate((slice(0, 8), slice(8, 16), slice(16, 24))):
        kernel = attn.compile(of_device.sub(f"arith.constant {device} : index", text))
        assert_close(kernel(np.ascontiguousarray(q[:, :, rows]), k, v), expected[:, :, rows], np.float32)


@pytest.mark.parametrize("word", _words.MASKS)
def test_keys_on_three_devices_count_from_the_first_of_all(word):
    """A word that is no distance from the diagonal counts keys by origins."""
    op = next(line for line in partition(word, "k").splitlines() if "attn.sdpa" in line)
    assert ("causal_offset(" if word == "window" else "k_origin(") in op


PLANTED = """
ATTN_MASK_ATTRIBUTE(dilate, .form = Integer, .minimum = 2, .token = "dilate", .meaning = "n ≥ 2: every n-th key.")
ATTN_MASK_OPERAND(row_ids, .form = Presence, .token = "row_ids", .argument = "row_ids", .shape = PerBatch)

ATTN_OPERAND(sink,"""


def test_a_row_reaches_the_record_of_a_call(tmp_path, monkeypatch):
    """A word and an array, planted: nothing in Python lists the rows by hand."""
    root = Path(__file__).parents[2]
    script, table = (tmp_path / x for x in ("scripts/python-words.py", "include/attn/Support/Words.def"))
    for path in (script, table):
        path.parent.mkdir(parents=True)
        shutil.copy(root / path.relative_to(tmp_path), path)
    table.write_text(table.read_text().replace("\nATTN_OPERAND(sink,", PLANTED))
    (tmp_path / "planted.py").write_text(subprocess.check_output([sys.executable, script], text=True))
    monkeypatch.syspath_prepend(tmp_path)
    planted = importlib.import_module("planted")
    assert (planted.FORMS["dilate"], planted.MINIMA["dilate"], planted.MASKS[-1]) == ("Integer", 2, "dilate")
    assert planted.Given(dilate=2, row_ids=[0]).row_ids == [0]
    arrays, present = planted.ARRAYS, planted.PRESENT
    assert arrays == ["bias", "mask", "row_ids", *_words.ARRAYS[2:]]
    assert present == ["row_ids", *_words.PRESENT]
