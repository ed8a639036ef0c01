"""attn: the kernel of the problem line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from peers import Inputs, Peer
from peers.problem import Problem


def load(threads: int) -> Peer:
    """attn with so many threads."""
    import attn
    from attn.kernel import _tensor

    attn.set_num_threads(threads)
    kernels: dict[str, Any] = {}

    def pull_back(problem: Problem, inputs: Inputs) -> Callable[[], Any]:
        """Only the backward pass, of one forward pass before it."""
        words = {name: inputs[name] for name in ("mask", "bias") if name in inputs}
        if problem.causal:
            words["causal"] = "top_left"
        if problem.window:
            words["window"] = problem.window
        q, k, v, dout = (inputs[name] for name in ("q", "k", "v", "dout"))
        out, *lse = attn.sdpa(q, k, v, return_max=True, return_log_sum=True, **words)
        return lambda: attn.sdpa_backward(q, k, v, out, tuple(lse), dout, grad=problem.grad, **words)

    def prepare(problem: Problem, inputs: Inputs) -> Callable[[], Any]:
        if problem.grad:
            return pull_back(problem, inputs)
        if problem.line not in kernels:
            kernels.clear()
            kernels[problem.line] = attn.compile(problem.line, fail_on_fallback=True)
        kernel = kernels[problem.line]
        arguments = [inputs[argument["name"]] for argument in kernel.inputs]
        target = kernel.outputs[0]
        out = np.empty(target["shape"], _tensor.dtype(target["dtype"]))
        return lambda: kernel(*arguments, out=out)

    def to_numpy(out: Any, problem: Problem) -> np.ndarray:
        if problem.grad:
            return np.concatenate([np.asarray(out[name], np.float32).ravel() for name in problem.grad])
        return np.asarray(out, np.float32)

    return Peer(attn.__version__, prepare, to_numpy)
