"""PyTorch's scaled_dot_product_attention, which chooses its own kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from peers import Inputs, Peer
from peers.problem import Problem, kept_pairs


def as_torch(array: np.ndarray) -> Any:
    """A tensor on the memory of the array."""
    import torch

    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def as_keys(problem: Problem, inputs: Inputs, name: str) -> Callable[[], Any]:
    """K or V for a call. PyTorch has no attention over quantised ones: they are widened in every call, as users do."""
    array = as_torch(inputs[name])
    if problem.kv == problem.dtype:
        return lambda: array
    scale = as_torch(inputs[f"{name}_scale"])[:, None, None].to(as_torch(inputs["q"]).dtype)
    return lambda: array * scale


def to_numpy(out: Any, problem: Problem) -> np.ndarray:
    """As float32."""
    if problem.grad:
        return np.concatenate([gradient.float().numpy().ravel() for gradient in out])
    return out.float().numpy()


def load(threads: int) -> Peer:
    """PyTorch with so many threads."""
    import torch

    torch.set_num_threads(threads)
    sdpa = torch.nn.functional.scaled_dot_product_attention

    def prepare(problem: Problem, inputs: Inputs) -> Callable[[], Any]:
        q, k, v = as_torch(inputs["q"]), as_keys(problem, inputs, "k"), as_keys(problem, inputs, "v")
        options: dict[str, Any] = {"enable_gqa": problem.hq != problem.hkv}
        if problem.window:
            options["attn_mask"] = torch.from_numpy(kept_pairs(problem))[None, None]
        elif problem.causal:
            options["is_causal"] = True
        for name in ("mask", "bias"):
            if name in inputs:
                options["attn_mask"] = as_torch(inputs[name])
        if problem.grad:
            return pull_back(problem, inputs, q, k(), v(), options)

        def call() -> Any:
            with torch.no_grad():
                return sdpa(q, k(), v(), **options)

        return call

    def pull_back(
        problem: Problem, inputs: Inputs, q: Any, k: Any, v: Any, options: dict[str, Any]
    ) -> Callable[[], Any]:
        """Only the backward pass: the graph of one forward pass stays."""
        named = {"q": q, "k": k, "v": v, "bias": options.get("attn_mask")}
        wanted = [named[name].requires_grad_() for name in problem.grad]
        out, dout = sdpa(q, k, v, **options), as_torch(inputs["dout"])
        return lambda: torch.autograd.grad(out, wanted, dout, retain_graph=True)

    return Peer(torch.__version__, prepare, to_numpy)
