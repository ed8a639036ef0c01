"""What a type checker sees of the package in a user's file: the types of results, and wrong calls."""

import pathlib
import subprocess
import sys

import pytest

USER = """
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import attn

F32 = npt.NDArray[np.float32]
x: F32 = np.zeros((1, 1, 1, 1), np.float32)
rows: F32 = np.zeros((1, 1, 1), np.float32)
"""
# A call → its type.
RESULTS = {
    "attn.sdpa(x, x, x)": "F32",
    'attn.sdpa(x, x, x, causal="top_left", window=(1, None), dynamic=True)': "F32",
    "attn.sdpa(x, x, x, score_mod=lambda s, b, h, i, j: attn.tanh(s), mask_mod=lambda b, h, i, j: i >= j)": "F32",
    "attn.sdpa(x, x, x, return_lse=False)": "F32",
    "attn.sdpa(x, x, x, return_lse=True)": "tuple[F32, F32]",
    "attn.sdpa(x, x, x, return_lse=True, return_weights=True)": "tuple[F32, ...]",
    "attn.sdpa(x, x, x, return_max=True, return_log_sum=True)": "tuple[F32, ...]",
    "attn.sdpa(x, x, x, return_lse=bool(x.any()))": "F32 | tuple[F32, ...]",
    "attn.varlen_sdpa(rows, rows, rows, [0, 1], [0, 1])": "F32",
    "attn.varlen_sdpa(rows, rows, rows, [0, 1], [0, 1], return_lse=True, softcap=2.0)": "tuple[F32, F32]",
    "attn.varlen_sdpa(rows, rows, rows, [0, 1], [0, 1], return_max=True)": "tuple[F32, ...]",
    "attn.paged_sdpa(x, x, x, x, [1])": "F32",
    'attn.paged_sdpa(x, x, x, x, [1], return_lse=True, page_layout="hnd")': "tuple[F32, F32]",
    "attn.sdpa_backward(x, x, x, x, rows, x)": "dict[str, F32]",
    "attn.vjp(x, x, x)[0]": "F32",
    "attn.vjp(x, x, x)[1](x)": "dict[str, F32]",
    "attn.vjp(x, x, x, return_lse=True)[0]": "tuple[F32, F32]",
    "attn.varlen_vjp(rows, rows, rows, [0, 1], [0, 1], return_lse=True)[0]": "tuple[F32, F32]",
    "attn.merge(x, rows, x, rows)[0]": "F32",
    "attn.multi_head(rows, x, x, x, x, 1)": "F32",
}
# A wrong call → what is said of it.
MISTAKES = {
    'attn.sdpa(x, x, x, casual="top_left")': 'Unexpected keyword argument "casual"',
    "attn.sdpa(x, x)": "No overload variant",
    "attn.sdpa([1.0], x, x)": "No overload variant",
    "out, lse, more = attn.sdpa(x, x, x, return_lse=True)": "Need more than 2 values to unpack",
    "attn.sdpa(x, x, x, return_lse=True).sum()": 'has no attribute "sum"',
    'attn.sdpa(x, x, x, causal="middle")': 'Argument "causal" to "sdpa" has incompatible type',
    "attn.varlen_sdpa(rows, rows, rows, [0, 1])": "No overload variant",
    "attn.compile(3)": "incompatible type",
    "attn.set_num_threads(None)": "incompatible type",
}


def check(folder: pathlib.Path, text: str) -> str:
    """What mypy says of a file, strict as it can be, with the package found as installed ones are."""
    file = folder / "user.py"
    file.write_text(USER + text)
    options = ["--strict", "--config-file=", "--no-error-summary", f"--cache-dir={folder / 'cache'}"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, file], cwd=folder, capture_output=True, text=True, check=False
    )
    assert not done.stderr
    assert done.returncode in (0, 1)
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("user")


def test_the_types_of_results(folder):
    assert check(folder, "".join(f"assert_type({call}, {kind})\n" for call, kind in RESULTS.items())) == ""


def test_wrong_calls_are_reported_where_they_stand(folder):
    found = check(folder, "".join(f"{call}\n" for call in MISTAKES)).splitlines()
    first = USER.count("\n") + 1
    for line, (call, message) in enumerate(MISTAKES.items(), first):
        own = [x for x in found if x.startswith(f"user.py:{line}: error:")]
        assert any(message in x for x in own), (call, own)


def test_signatures_are_spelled_so_that_pyright_reads_them():
    """It knows a type variable only where its assignment is a line of its own."""
    import attn

    for file in pathlib.Path(attn.__file__).parent.rglob("*.py"):
        for line in file.read_text().splitlines():
            assert not ("= ParamSpec(" in line or "= TypeVar(" in line) or line.split("=")[0].strip().isidentifier()
