"""PyTorch's FlexAttention under torch.compile, masks as block masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from peers import Inputs, Peer
from peers.problem import Problem
from peers.torch_sdpa import as_torch, to_numpy


def load(threads: int) -> Peer:
    """PyTorch with so many threads."""
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)

    def mask_mod(problem: Problem, inputs: Inputs) -> Any:
        """What keeps a pair, or None where all are kept."""
        if "mask" in inputs:
            mask = as_torch(inputs["mask"])
            return lambda b, h, i, j: mask[0, 0, i, j]
        if problem.window:
            left, _ = problem.window
            return lambda b, h, i, j: (i >= j) & (i - j <= left)
        return (lambda b, h, i, j: i >= j) if problem.causal else None

    kernels: dict[str, Callable[..., Any]] = {}

    def make_kernel(problem: Problem, inputs: Inputs) -> Callable[..., Any]:
        options: dict[str, Any] = {"enable_gqa": problem.hq != problem.hkv}
        keep = mask_mod(problem, inputs)
        if keep:
            options["block_mask"] = create_block_mask(keep, None, None, problem.sq, problem.sk, device="cpu")
        if "bias" in inputs:
            bias = as_torch(inputs["bias"])
            options["score_mod"] = lambda score, b, h, i, j: score + bias[0, 0, i, j]
        torch._dynamo.reset()

        @torch.compile
        def compiled(q: Any, k: Any, v: Any, *scales: Any) -> Any:
            if scales:  # of quantised K and V, which are widened first
                k, v = (x * scale[:, None, None].to(q.dtype) for x, scale in zip((k, v), scales, strict=True))
            return flex_attention(q, k, v, **options)

        return compiled

    def prepare(problem: Problem, inputs: Inputs) -> Callable[[], Any]:
        arrays = [as_torch(inputs[name]) for name in ("q", "k", "v", "k_scale", "v_scale") if name in inputs]
        if problem.line not in kernels:
            kernels.clear()
            kernels[problem.line] = make_kernel(problem, inputs)
            kernels[problem.line](*arrays)  # compiles
        kernel = kernels[problem.line]
        return lambda: kernel(*arrays)

    return Peer(torch.__version__, prepare, to_numpy)
