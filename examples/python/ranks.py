"""One sequence on the ranks that torchrun starts, by every method, beside one call on the whole (docs/Scaling.md).

torchrun --nproc-per-node=2 examples/python/ranks.py
"""

import os
import sys

import torch
import torch.distributed as dist

import attn
import attn.torch

ROWS = 64  # of a rank


def main():
    """Every method."""
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    attn.set_num_threads(1)
    torch.manual_seed(0)
    whole = [torch.randn(1, 2 * ranks, ROWS * ranks, 32) for _ in "qkv"]
    expected = [x.clone().requires_grad_() for x in whole]
    attn.torch.sdpa(*expected, is_causal=True).square().sum().backward()
    mesh = dist.device_mesh.init_device_mesh("cpu", (ranks,))
    for options in (
        {"method": "allgather"},
        {"method": "ring"},
        {"method": "ulysses"},
        {"method": "ring", "ordered": 2 * ranks},
    ):
        parts = [x.clone().requires_grad_(False) for x in whole]
        with attn.torch.context_parallel(mesh, buffers=parts, buffer_seq_dims=[2] * 3, **options):
            leaves = [x.clone().requires_grad_() for x in parts]
            attn.torch.sdpa(*leaves, is_causal=True).square().sum().backward()
        found = [attn.torch.unshard(x.grad, 2, mesh) for x in leaves]
        error = max(float((x - y.grad).abs().max() / y.grad.abs().max()) for x, y in zip(found, expected, strict=True))
        assert error < 1e-5
        if rank == 0:
            print(f"{ranks} ranks, {options}: gradients differ by {error:.1e}")
    dist.barrier()  # the others may still read what this rank has sent
    dist.destroy_process_group()


main()
sys.stdout.flush()
os._exit(0)  # PyTorch keeps threads of gloo alive here; one that wakes while Python ends would abort the process
