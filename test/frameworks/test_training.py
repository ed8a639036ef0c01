"""Training: the loss of a small model goes down as with PyTorch's own attention, step by step."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import attn.torch

STEPS = 200
EXAMPLE = Path(__file__).resolve().parents[2] / "examples/python/train.py"


@pytest.fixture(scope="module")
def example():
    specification = importlib.util.spec_from_file_location("train", EXAMPLE)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_curve_is_that_of_pytorch(example):
    """In float64: differences of rounding grow from step to step, and are far from any that a wrong gradient makes."""
    curves = [example.train(x, STEPS, torch.float64) for x in (attn.torch.sdpa, F.scaled_dot_product_attention)]
    assert curves[0][-1] < 0.6 * curves[0][0]
    np.testing.assert_allclose(*curves, rtol=1e-8)


def test_the_picture_is_drawn(example, tmp_path):
    example.draw({"attn": [3.0, 2.0], "PyTorch": [3.0, 2.1]}, tmp_path / "loss.png")
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")
