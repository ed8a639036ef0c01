"""JAX's dot_product_attention under jit, on (B, S, H, D)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from peers import Inputs, Peer
from peers.problem import Problem


def load(threads: int) -> Peer:
    """JAX; its threads are those of the processors that this process may use."""
    import jax

    kernels: dict[str, Callable[..., Any]] = {}

    def make_kernel(options: dict[str, Any]) -> Callable[..., Any]:
        @jax.jit
        def kernel(q: Any, k: Any, v: Any, others: dict[str, Any]) -> Any:
            dense = {name: x for name, x in others.items() if name in ("mask", "bias")}
            if "k_scale" in others:  # quantised K and V are widened first
                k, v = (x * others[name][:, None].astype(q.dtype) for x, name in ((k, "k_scale"), (v, "v_scale")))
            return jax.nn.dot_product_attention(q, k, v, **dense, **options)

        return kernel

    def prepare(problem: Problem, inputs: Inputs) -> Callable[[], Any]:
        arrays = [jax.numpy.asarray(np.ascontiguousarray(inputs[name].transpose(0, 2, 1, 3))) for name in "qkv"]
        arrays.append({name: jax.numpy.asarray(x) for name, x in inputs.items() if name not in ("q", "k", "v")})
        options: dict[str, Any] = {"is_causal": problem.causal}
        if problem.window:
            options["local_window_size"] = problem.window
        if problem.line not in kernels:
            kernels.clear()
            kernels[problem.line] = make_kernel(options)
            kernels[problem.line](*arrays).block_until_ready()  # compiles
        kernel = kernels[problem.line]
        return lambda: kernel(*arrays).block_until_ready()

    def to_numpy(out: Any, _: Problem) -> np.ndarray:
        return np.asarray(out.astype("float32")).transpose(0, 2, 1, 3)

    return Peer(jax.__version__, prepare, to_numpy)
