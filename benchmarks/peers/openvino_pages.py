"""OpenVINO's attention on pages, PagedAttentionExtension: a step of a token a sequence."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

PAGE = 32  # which the plugin for processors has
KINDS = {"f32": "f32", "8 bits": "u8"}  # with a scale a token


class Step(NamedTuple):
    """A step that is ready to run.

    Attributes:
      run: calls the op; returns out (sequences, heads · D). It appends the step's keys and values first.
      caches: K and V (pages, heads, page, D) in its memory, of f32 alone.
      inputs: what it takes by name.
    """

    run: Callable[[], Any]
    caches: tuple[np.ndarray, np.ndarray]
    inputs: dict[str, np.ndarray]


def load() -> Any:
    """The package; ImportError where it is not installed."""
    # Its import forks a process that reports its use over the network, and waits there for ever without one.
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
    import openvino

    return openvino


def build(openvino: Any, heads: int, kv_heads: int, size: int) -> Any:
    """A model of the op alone."""
    from openvino.op import Constant, Parameter, _PagedAttentionExtension

    kinds, shapes = openvino.Type, openvino.PartialShape
    parameters = []

    def add(name: str, kind: Any, *shape: int) -> None:
        parameter = Parameter(kind, shapes(list(shape)))
        parameter.set_friendly_name(name)
        parameter.output(0).get_tensor().set_names({name})
        parameters.append(parameter)

    for name, columns in (("query", heads), ("key", kv_heads), ("value", kv_heads)):
        add(name, kinds.f32, -1, columns * size)
    for name in ("key_cache.0", "value_cache.0"):
        add(name, kinds.dynamic, -1, kv_heads, -1, -1)
    for name in ("past_lens", "subsequence_begins", "block_indices", "block_indices_begins"):
        add(name, kinds.i32, -1)

    def constant(kind: Any, *values: float, shape: tuple[int, ...] | None = None) -> Any:
        return Constant(kind, openvino.Shape([len(values)] if shape is None else shape), list(values))

    others = [constant(kinds.f32, size**-0.5, shape=()), constant(kinds.i32, 0, shape=())]  # scale, window
    others += [constant(kinds.f32), constant(kinds.i32, 4096, shape=())]  # ALiBi, longest context
    others += [constant(kinds.i32)] * 3 + [constant(kinds.f32)]  # sums of scores, rotation of keys
    others += [
        constant(kinds.f32),
        constant(kinds.i32, 64, shape=()),
        constant(kinds.i32, 8, shape=()),
    ]  # sparse blocks
    others += [constant(kinds.f32, shape=(0, 1, 1, 1)), constant(kinds.i32, 0, shape=())]  # sinks, eviction
    others += [constant(kinds.i32)] * 4 + [constant(kinds.u8), constant(kinds.i32)]
    node = _PagedAttentionExtension([x.output(0) for x in (*parameters, *others)])
    for name, value in (("num_k_heads", kv_heads), ("k_head_size", size)):
        node.get_rt_info()[name] = node.get_rt_info()[name.replace("k_", "v_")] = value
    return openvino.Model([node.output(0)], parameters, "pages")


def prepare(sequences: int, keys: int, kind: str, threads: int, heads: int, kv_heads: int, size: int) -> Step:
    """A token of each of so many sequences, on so many keys in pages in any order; `kind` is one of `KINDS`."""
    openvino = load()
    config = {
        "INFERENCE_PRECISION_HINT": "f32",
        "KV_CACHE_PRECISION": KINDS[kind],
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "ENABLE_CPU_PINNING": False,
    }
    compiled = openvino.Core().compile_model(build(openvino, heads, kv_heads, size), "CPU", config)
    request, random = compiled.create_infer_request(), np.random.default_rng(0)
    pages, caches = sequences * keys // PAGE, []
    for name in ("key_cache.0", "value_cache.0"):
        form = next(x for x in compiled.inputs if name in x.names)
        shape = [pages if x.is_dynamic else x.get_length() for x in form.partial_shape]
        tensor = openvino.Tensor(form.element_type, openvino.Shape(shape))
        if kind == "f32":
            tensor.data[...] = random.standard_normal(shape, np.float32)
        else:  # scales and numbers alike: what they hold does not count
            tensor.data.reshape(-1).view(np.uint8)[...] = 60
        request.set_tensor(name, tensor)
        caches.append(tensor.data)
    rows = {"query": heads, "key": kv_heads, "value": kv_heads}
    inputs = {x: random.standard_normal((sequences, n * size), np.float32) for x, n in rows.items()}
    inputs["past_lens"] = np.full(sequences, keys - 1, np.int32)
    inputs["subsequence_begins"] = np.arange(sequences + 1, dtype=np.int32)
    inputs["block_indices"] = random.permutation(pages).astype(np.int32)
    inputs["block_indices_begins"] = np.arange(0, pages + 1, keys // PAGE, dtype=np.int32)
    for name, x in inputs.items():
        request.set_tensor(name, openvino.Tensor(x))  # a copy

    def run() -> Any:
        request.infer()
        return request.get_output_tensor(0).data

    return Step(run, (caches[0], caches[1]), inputs)
