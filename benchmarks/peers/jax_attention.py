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

    def as_rows(array: np.ndarray) -> Any:
        return jax.numpy.asarray(np.ascontiguousarray(array.transpose(0, 2, 1, 3)))

    def pull_back(problem: Problem, inputs: Inputs, arrays: list[Any], options: dict[str, Any]) -> Callable[[], Any]:
        """Only the backward pass: what one forward pass saved is an argument."""
        _, pullback = jax.vjp(jax.jit(make_kernel(options)), *arrays)
        run = jax.jit(lambda pullback, dout: pullback(dout))
        dout = as_rows(inputs["dout"])

        def call() -> Any:
            dq, dk, dv, others = jax.block_until_ready(run(pullback, dout))
            return [{"q": dq, "k": dk, "v": dv, **others}[name] for name in problem.grad]

        return call

    def prepare(problem: Problem, inputs: Inputs) -> Callable[[], Any]:
        arrays = [as_rows(inputs[name]) for name in "qkv"]
        others = {name: x for name, x in inputs.items() if name not in ("q", "k", "v", "dout")}
        arrays.append({name: jax.numpy.asarray(x) for name, x in others.items()})
        options: dict[str, Any] = {"is_causal": problem.causal}
        if problem.window:
            options["local_window_size"] = problem.window
        if problem.grad:
            return pull_back(problem, inputs, arrays, options)
        if problem.line not in kernels:
            kernels.clear()
            kernels[problem.line] = make_kernel(options)
            kernels[problem.line](*arrays).block_until_ready()  # compiles
        kernel = kernels[problem.line]
        return lambda: kernel(*arrays).block_until_ready()

    def to_numpy(out: Any, problem: Problem) -> np.ndarray:
        if problem.grad:
            heads_first = {"q", "k", "v"}
            arrays = [np.asarray(x.astype("float32")) for x in out]
            arrays = [
                x.transpose(0, 2, 1, 3) if name in heads_first else x
                for name, x in zip(problem.grad, arrays, strict=True)
            ]
            return np.concatenate([x.ravel() for x in arrays])
        return np.asarray(out.astype("float32")).transpose(0, 2, 1, 3)

    return Peer(jax.__version__, prepare, to_numpy)
