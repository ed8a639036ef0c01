"""examples/bert: a C program that runs BERT of transformers from its object and a file of mapped weights."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from helpers import C_COMPILER
from paths import ATTNC, attnc

pytest.importorskip("onnxscript")

ROOT = ATTNC.parents[3]
HIDDEN, VOCABULARY, LAYERS = 64, 97, 2


class Bert(torch.nn.Module):
    """Of tokens and a mask to the last hidden state."""

    def __init__(self):
        """Makes weights."""
        super().__init__()
        self.model = transformers.BertModel(
            transformers.BertConfig(
                vocab_size=VOCABULARY,
                hidden_size=HIDDEN,
                num_hidden_layers=LAYERS,
                num_attention_heads=4,
                intermediate_size=2 * HIDDEN,
            )
        ).eval()

    def forward(self, input_ids, attention_mask):
        """Of (batch, length)."""
        return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


def includes() -> list[str]:
    """Folders of headers that a C user of attn needs."""
    cache = (ATTNC.parents[1] / "CMakeCache.txt").read_text()
    (folder,) = (line.split("=", 1)[1] for line in cache.splitlines() if line.startswith("DLPACK_INCLUDE_DIR:"))
    return [f"-I{ROOT / 'include'}", "-isystem", folder]


def test_program(tmp_path: Path):
    """Numbers of PyTorch for two lengths, in two processes that map one file."""
    torch.manual_seed(0)
    bert = Bert().eval()
    tokens = torch.randint(3, VOCABULARY, (2, 11))
    dims = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    torch.onnx.export(bert, (tokens, torch.ones_like(tokens)), tmp_path / "bert.onnx", dynamo=True, opset_version=18,
                      dynamic_shapes=(dims, dims), external_data=False, verbose=False)  # fmt: skip
    to = ["-o", tmp_path / "bert.o", f"--header={tmp_path / 'bert.h'}", f"--weights={tmp_path / 'bert.weights'}"]
    attnc(tmp_path / "bert.onnx", "--name=bert", "--parallel=none", *to)
    bytes_of_weights = sum(x.numel() * x.element_size() for x in bert.parameters())
    assert (tmp_path / "bert.o").stat().st_size < bytes_of_weights / 2 < (tmp_path / "bert.weights").stat().st_size
    program = [*C_COMPILER, f"-I{tmp_path}", *includes(), f"-DHIDDEN={HIDDEN}", ROOT / "examples" / "bert" / "main.c"]
    subprocess.run([*program, tmp_path / "bert.o", "-lm", "-o", tmp_path / "bert"], check=True)
    for length in (11, 4):
        numbers = tokens[:1, :length]
        command = [tmp_path / "bert", tmp_path / "bert.weights", *map(str, numbers[0].tolist())]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        with torch.no_grad():
            expected = bert(numbers, torch.ones_like(numbers))[0].numpy()
        found = np.array([line.split() for line in found.splitlines()], np.float64)
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5)
    command[1] = tmp_path / "none.weights"
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "found none that can be read" in refused.stderr
