"""attn.torch among PyTorch's other parts: counted operations, AOTInductor."""

import pytest
import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

import attn.torch as at


def operations(function, *inputs):
    with FlopCounterMode(display=False) as counter:
        function(*inputs).sum().backward()
    return counter.get_total_flops()


def test_operations_are_counted_as_of_pytorch_s_function():
    q, k, v = (torch.randn(2, 4, n, 8, requires_grad=True) for n in (5, 7, 7))
    expected = operations(F.scaled_dot_product_attention, q, k, v)
    assert expected > 0
    assert operations(at.sdpa, q, k, v) == expected


def test_operations_where_heads_are_grouped_and_sizes_differ():
    q, k, v = (torch.randn(*x, requires_grad=True) for x in ((2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 3)))
    products = 2 * 2 * 4 * 5 * 7
    assert operations(lambda *x: at.sdpa(*x, enable_gqa=True), q, k, v) == products * (8 + 3) + products * (24 + 6)


def test_operations_of_packed_sequences_are_those_of_each():
    q, k, v = (torch.randn(n, 4, 8, requires_grad=True) for n in (12, 9, 9))
    rows, keys = torch.tensor([0, 5, 5, 12]), torch.tensor([0, 7, 9, 9])
    expected = 2 * 4 * (5 * 7) * (16 + 40)
    assert operations(lambda *x: at.varlen_sdpa(*x, rows, keys), q, k, v) == expected


class Layer(torch.nn.Module):
    """A layer with a window and a bias."""

    def forward(self, x, bias):  # noqa: D102
        return at.sdpa(x, x, x, bias=bias, is_causal=True, window=(3, None)).relu()


@pytest.mark.filterwarnings("ignore")
def test_aotinductor_runs_an_exported_graph(tmp_path):
    x, bias = torch.randn(2, 3, 9, 8), torch.randn(1, 3, 9, 9)
    with torch.no_grad():
        exported = torch.export.export(Layer(), (x, bias))
        path = torch._inductor.aoti_compile_and_package(exported, package_path=str(tmp_path / "layer.pt2"))
        run = torch._inductor.aoti_load_package(path)
        for _ in range(2):
            x = torch.randn_like(x)
            torch.testing.assert_close(run(x, bias), Layer()(x, bias))
