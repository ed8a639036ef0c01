"""Exports two modules with attn's attention to packages that a program in C++ runs; main.cpp is the program.

    build/frameworks/bin/python examples/aoti/models.py FOLDER    # writes dense.pt2 and step.pt2

Batch, lengths, tokens and pages stay open. `with_kernels` puts a kernel's source in the place of each call; the program
compiles it for the processor that it runs on.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch.export import Dim

import attn.torch as at


class Dense(torch.nn.Module):
    """Causal attention of a layer."""

    def forward(self, q, k, v):
        return at.sdpa(q, k, v, is_causal=True, enable_gqa=True)


class Step(torch.nn.Module):
    """A step of a serving engine on caches in pages, and its log-sum-exp."""

    def forward(self, q, k_cache, v_cache, table, lengths, sums):
        return at.paged_sdpa(
            q, k_cache, v_cache, table, lengths, cu_seqlens_q=sums, causal="bottom_right", return_lse=True
        )


def package(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], sizes: tuple[dict, ...], path: Path) -> None:
    """Writes a package of AOTInductor."""
    with torch.no_grad():
        program = torch.export.export(module.eval(), inputs, dynamic_shapes=sizes)
        torch._inductor.aoti_compile_and_package(at.with_kernels(program), package_path=str(path))
    print("wrote", path)


def main() -> None:
    folder = Path(sys.argv[1])
    batch, length = Dim("batch"), Dim("length")
    dense = (torch.randn(2, 4, 9, 16), torch.randn(2, 2, 9, 16), torch.randn(2, 2, 9, 16))
    package(Dense(), dense, ({0: batch, 2: length},) * 3, folder / "dense.pt2")
    caches = torch.zeros(2, 6, 8, 2, 16)
    integers = [torch.tensor(x, dtype=torch.int32) for x in ([[0, 1], [2, 3], [4, 5]], [9, 1, 16], [0, 5, 6, 7])]
    requests, tokens, pages, width = Dim("requests"), Dim("tokens"), Dim("pages"), Dim("width")
    sizes = ({0: tokens}, {0: pages}, {0: pages}, {0: requests, 1: width}, {0: requests}, {0: requests + 1})
    package(Step(), (torch.randn(7, 4, 16), *caches, *integers), sizes, folder / "step.pt2")


if __name__ == "__main__":
    main()
