"""attn.from_torch: modules by torch's exporter; needs onnx and onnxscript, and is skipped where they are missing."""

import numpy as np
import pytest
import torch

import attn

pytest.importorskip("onnxscript")

DYNAMIC = torch.export.Dim.DYNAMIC


class Block(torch.nn.Module):
    """Attention with projections and a gated MLP."""

    def __init__(self, width=24, heads=3):
        """Makes weights."""
        super().__init__()
        self.heads = heads
        self.norm = torch.nn.LayerNorm(width)
        self.project = torch.nn.Linear(width, 3 * width)
        self.gate, self.up = torch.nn.Linear(width, 40), torch.nn.Linear(width, 40)
        self.down = torch.nn.Linear(40, width)

    def forward(self, x):
        """Of (batch, rows, width)."""
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in self.project(self.norm(x)).chunk(3, -1))
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + out.transpose(1, 2).flatten(2)
        return x + self.down(torch.nn.functional.silu(self.gate(x)) * self.up(x))


def make_block():
    torch.manual_seed(0)
    return Block().eval()


def compare(kernel, module, *args):
    with torch.no_grad():
        expected = module(*args)
    torch.testing.assert_close(kernel(*args), expected, rtol=2e-5, atol=2e-5)


def test_module():
    block, x = make_block(), torch.randn(2, 13, 24)
    kernel = attn.from_torch(block, (x,), fail_on_fallback=True)
    compare(kernel, block, x)
    found = kernel(x.numpy())
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, kernel(x).numpy())


def test_file_of_opset_23(tmp_path):
    """README's way: the exporter writes a file, of which the graph is meant, and not its Attention node."""
    block, x = make_block(), torch.randn(2, 13, 24)
    torch.onnx.export(block, (x,), tmp_path / "m.onnx", dynamo=True, opset_version=23, external_data=False)
    found = attn.from_onnx(tmp_path / "m.onnx", fail_on_fallback=True)(x.numpy())
    np.testing.assert_allclose(found, block(x).detach().numpy(), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("count", [1, 2])
def test_attention_alone(count):
    class Attention(torch.nn.Module):
        def forward(self, v, k, q):
            for _ in range(count):
                q = torch.nn.functional.scaled_dot_product_attention(q, k, v)
            return q

    v, k, q = (torch.randn(2, 3, 13, 8) for _ in range(3))
    compare(attn.from_torch(Attention().eval(), (v, k, q)), Attention(), v, k, q)


def test_dynamic_sizes():
    block, x = make_block(), torch.randn(2, 13, 24)
    kernel = attn.from_torch(block, (x,), dynamic_shapes=({0: DYNAMIC, 1: DYNAMIC},), fail_on_fallback=True)
    for shape in ((2, 13, 24), (1, 5, 24), (3, 1, 24)):
        compare(kernel, block, torch.randn(shape))
    with pytest.raises(ValueError, match="expected"):
        kernel(torch.randn(2, 5, 23))


def test_exported_program_and_outputs():
    class Two(torch.nn.Module):
        def forward(self, x, y):
            return {"sum": x + y, "product": x @ y.transpose(0, 1)}

    x, y = torch.randn(3, 5), torch.randn(3, 5)
    kernel = attn.from_torch(torch.export.export(Two(), (x, y)))
    found = kernel(x, y)
    torch.testing.assert_close(found, (x + y, x @ y.T), rtol=2e-5, atol=2e-5)


def test_refused():
    x = torch.randn(2, 13, 24)
    with pytest.raises(ValueError, match="expected a module in evaluation mode"):
        attn.from_torch(Block(), (x,))
    with pytest.raises(TypeError, match=r"expected a torch.nn.Module or torch.export.ExportedProgram, found function"):
        attn.from_torch(make_block, (x,))
    with pytest.raises(ValueError, match="expected an exported program alone"):
        attn.from_torch(torch.export.export(make_block(), (x,)), (x,))


def test_missing_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnxscript", None)
    with pytest.raises(ImportError, match="found no onnxscript; write pip install"):
        attn.from_torch(make_block(), (torch.randn(2, 13, 24),))
