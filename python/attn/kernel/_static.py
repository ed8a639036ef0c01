"""Libraries that `attnc --problems` has compiled, loaded by their manifest: `load_library` and `Library`.

The library's own dispatcher finds the kernel of a call; nothing is compiled. One for GPUs takes arrays on a device and
starts its kernels on a stream, by the code for that device.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import inspect
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from attn import api
from attn.call import _call, _checks, _float8, _gradients, _lse, _packed, _problem, _running, _serving
from attn.kernel import _cuda, _dlpack, _features, _library, _manifest, _tensor
from attn.words import _signatures
from attn.words._types import Integers, Tensor, TensorT

Array = npt.NDArray[Any]

# The options of attn.sdpa that decide what is compiled, and the others, which a library takes. Its results are new.
COMPILED = frozenset({"score_mod", "mask_mod", "alibi_slopes", "softcap_first", *_float8.SCALES, "dynamic", "target"})


@functools.cache
def _options(function: Any) -> frozenset[str]:
    parameters = inspect.signature(function).parameters.values()
    return frozenset(x.name for x in parameters if x.kind is x.KEYWORD_ONLY) - COMPILED - {"into"}


class _Entry:
    """A kernel of the manifest, with what each call of it needs."""

    def __init__(self, kernel: dict[str, Any]) -> None:
        self.kernel = kernel
        self.features: bytes = kernel["features"].encode()
        self.names: list[str] = [x["name"] for x in kernel["arguments"]]
        self.inputs = [x for x in kernel["arguments"] if x["role"] == "input"]
        self.outputs = [x for x in kernel["arguments"] if x["role"] == "output"]

    def new_outputs(self, sizes: dict[str, int]) -> list[tuple[list[int], dict[str, Any]]]:
        """The shape of each output where dynamic sizes are these, and the output; an error where it has old values."""
        updated = ", ".join(x["name"] for x in self.outputs if x["updated"])
        if updated:
            advice = "call its entry in C, or write attn.compile(line)(…, out=…)"
            raise ValueError(f"expected a kernel whose results are new, found one that updates {updated}; {advice}")
        return [([n if isinstance(n, int) else sizes.get(n, 0) for n in x["shape"]], x) for x in self.outputs]


class Library:
    """The kernels of a problem file in one shared library; it may be called from several threads.

    Attributes:
      name: its C name.
      is_for_gpus: whether its calls take arrays on a CUDA device. They have `stream` then: a stream of PyTorch or CuPy,
        or a handle; None for the one that the library of q uses. Kernels are started there, and nothing waits.
      manifest: as `attnc --manifest` wrote it.
      problems: the problem lines that it has kernels for.
    """

    def __init__(self, manifest: str | Path, path: str | Path | None = None) -> None:
        """Loads the library of a manifest; see `load_library`."""
        where = Path(manifest)
        self.manifest: dict[str, Any] = _manifest.read(where)
        entries = self.manifest["library"]
        self.name: str = entries["name"]
        # By features, those with the fewest open sizes first.
        self._kernels: dict[_features.Features, list[_Entry]] = {}
        for kernel in sorted(self.manifest["kernels"], key=lambda kernel: len(kernel["sizes"])):
            self._kernels.setdefault(_features.canonical(kernel["features"].split()), []).append(_Entry(kernel))
        file = Path(path) if path is not None else where.with_name(entries["file"])
        if not file.is_file():
            raise ValueError(f"expected the library at {file}, found none; give its path")
        try:
            code = ctypes.CDLL(str(file.resolve()))
        except OSError as error:
            raise ValueError(
                f"expected a shared library at {file}, which attnc --emit=shared writes, found: {error}"
            ) from error
        self.is_for_gpus = _manifest.WORKSPACE in entries
        self._kind = "sm_80" if self.is_for_gpus else "host"  # any GPU, or any processor: what calls are prepared for
        other = entries[_manifest.WORKSPACE if self.is_for_gpus else _manifest.USE_TARGET]
        missing = [name for name in (entries["call_entry"], other) if not hasattr(code, name)]
        if missing:
            raise ValueError(f"expected {file} to be the library of the manifest, with {missing[0]}, found none")
        self._call, self._other = getattr(code, entries["call_entry"]), getattr(code, other)
        text, size = ctypes.c_char_p, ctypes.c_int64
        tensors = [ctypes.c_void_p, size]  # and how many
        workspace = [ctypes.c_void_p, size, ctypes.c_void_p] if self.is_for_gpus else []  # and the stream
        self._call.restype, self._call.argtypes = ctypes.c_int32, [text, *tensors, *workspace, text, size]
        if self.is_for_gpus:
            self._other.restype, self._other.argtypes = size, [text, *tensors, text, size]
        else:
            self._other.restype, self._other.argtypes = ctypes.c_int32, [text, text, size]

    def __repr__(self) -> str:
        """The name, the number of kernels and the targets."""
        return f"<attn.Library {self.name}: {len(self.problems)} kernels for {', '.join(self.targets)}>"

    def __getattr__(self, name: str) -> Any:
        """Refuses what a kernel of `attn.compile` tells of its source, which a library does not have."""
        if name in ("ir", "asm", "remarks"):
            raise AttributeError(
                f"expected a kernel that is compiled here for {name}, found a library, which has machine code alone; "
                f"write attn.compile(library.problems[0], library.targets[0]).{name}"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def problems(self) -> list[str]:
        """The problem lines that it has kernels for."""
        return [entry.kernel["problem"] for entries in self._kernels.values() for entry in entries]

    @property
    def targets(self) -> list[str]:
        """The targets that each kernel is there for, the best last."""
        return [variant["name"] for variant in self.manifest["variants"]]

    def use_target(self, target: str | None = None) -> None:
        """Has all later calls take another target; None: the best that this processor runs.

        Raises:
          ValueError: the library has none of that name, or the processor does not run it; or it is for GPUs, whose
            calls take the best target that the device of their stream runs.
        """
        if self.is_for_gpus:
            raise ValueError(
                f"expected a library for processors, found one for {', '.join(self.targets)}; each call takes the best "
                "target that the device of its stream runs"
            )
        message = ctypes.create_string_buffer(_library.MESSAGE_SIZE)
        if self._other(None if target is None else target.encode(), message, len(message)) != _library.OK:
            raise ValueError(message.value.decode(errors="replace"))

    def sdpa(
        self, q: TensorT, k: Tensor, v: Tensor, *, stream: Any = None, **options: Any
    ) -> TensorT | tuple[TensorT, ...]:
        """`attn.sdpa` by a kernel of this library; the same options but for regions, `dynamic` and `target`.

        Raises:
          ValueError, TypeError: as `attn.sdpa`; or no kernel takes the call, with the problem line that is missing.
        """
        return self._run_call(api.DENSE, (q, k, v), options, stream)

    def varlen_sdpa(
        self,
        q: TensorT,
        k: Tensor,
        v: Tensor,
        cu_seqlens_q: Integers,
        cu_seqlens_k: Integers,
        *,
        stream: Any = None,
        **options: Any,
    ) -> TensorT | tuple[TensorT, ...]:
        """`attn.varlen_sdpa` by a kernel of this library, of a line with layout=varlen; see `sdpa`.

        Raises:
          ValueError, TypeError: as `attn.varlen_sdpa` and `sdpa`.
        """
        return self._run_call(_packed.PACKED, (q, k, v, cu_seqlens_q, cu_seqlens_k), options, stream)

    def paged_sdpa(
        self,
        q: TensorT,
        k_cache: Tensor,
        v_cache: Tensor,
        block_table: Tensor,
        kv_lengths: Integers,
        *,
        stream: Any = None,
        **options: Any,
    ) -> TensorT | tuple[TensorT, ...]:
        """`attn.paged_sdpa` by a kernel of this library, of a line with paged=; see `sdpa`.

        Raises:
          ValueError, TypeError: as `attn.paged_sdpa` and `sdpa`.
        """
        return self._run_call(_serving.PAGED, (q, k_cache, v_cache, block_table, kv_lengths), options, stream)

    def sdpa_backward(
        self,
        q: TensorT,
        k: Tensor,
        v: Tensor,
        out: Tensor,
        lse: Tensor | tuple[Tensor, Tensor],
        dout: Tensor,
        *,
        dlse: Tensor | None = None,
        grad: Sequence[str] = ("q", "k", "v"),
        stream: Any = None,
        **options: Any,
    ) -> dict[str, TensorT]:
        """`attn.sdpa_backward` by a kernel of this library, of a line with the word grad; see `sdpa`.

        Raises:
          ValueError, TypeError: as `attn.sdpa_backward` and `sdpa`.
        """
        _check_keywords("sdpa_backward", options, _options(api.sdpa) - _gradients.RETURNED)
        names = _checks.gradients(grad)
        call = _call.dense(q, k, v, self._kind, **options)
        problem = dataclasses.replace(call.problem, lse=dlse is not None, grad=names)
        row_max, log_sum = _lse.terms(lse)
        saved = {"out": out, "max": row_max, "log_sum": log_sum, "dout": dout, "dlse": dlse}
        named = {name: x for name, x in saved.items() if name != "dlse" or x is not None}
        inputs = call.inputs + [self._as_input(name, x) for name, x in named.items()]
        entry, results = self._run_problem(problem, inputs, options, q, stream)
        gradients = {x["name"].removeprefix("d"): y for x, y in zip(entry.outputs, results, strict=True)}
        return {name: gradients[name] for name in names}

    def _run_call(self, kind: _running.Kind, operands: tuple[Any, ...], options: dict[str, Any], stream: Any) -> Any:
        _check_keywords(kind.function.__name__, options, _options(kind.function))
        call = kind.call(*operands, target=self._kind, **options)
        return _alone(self._run_problem(call.problem, call.inputs, options, operands[0], stream)[1])

    def _as_input(self, name: str, value: Any) -> Any:
        """An array on the CPU; of a library for GPUs what the call has, which is looked at later."""
        return value if self.is_for_gpus else _tensor.as_array(name, value)

    def _run_problem(
        self, problem: _problem.Problem, inputs: list[Any], options: dict[str, Any], model: Any, stream: Any
    ) -> tuple[_Entry, tuple[Any, ...]]:
        words = _features.words(problem)
        if options.get("align") is None and _features.canonical(words) not in self._kernels:
            # Of as many queries as keys every alignment is one: a line may name none.
            unplaced = [word for word in words if not word.startswith("align=")]
            words = unplaced if _features.canonical(unplaced) in self._kernels else words
        return self._run(words, inputs, model=model, line=problem.line(), stream=stream)

    def __call__(self, features: str, *inputs: Tensor | float, stream: Any = None) -> Tensor | tuple[Tensor, ...]:
        """Calls the kernel for these features and inputs.

        Args:
          features: the words of a problem line that tensors do not show, as "causal=top_left out=lse".
          inputs: NumPy arrays or objects with `__dlpack__`, in the order of the kernel.
          stream: of a library for GPUs, as in `sdpa`.

        Returns:
          The output, or a tuple of the outputs.
        """
        given = [self._as_input(f"input {i}", x) for i, x in enumerate(inputs)]
        model = inputs[0] if inputs else None
        return _alone(self._run(features.split(), given, model=model, line="", stream=stream)[1])

    def _run(
        self, words: list[str], inputs: list[Any], *, model: Any, line: str, stream: Any
    ) -> tuple[_Entry, tuple[Any, ...]]:
        if self.is_for_gpus:
            forms = _features.forms(inputs)
            entry, sizes = self._find(words, forms, line)
            found = _cuda.call(self._gpu_entry(entry, sizes), tuple(inputs), stream=stream)
            return entry, found if len(entry.outputs) > 1 else (found,)
        if stream is not None:
            raise TypeError(f"expected a stream for a library for GPUs alone, found one of {', '.join(self.targets)}")
        arrays = [_tensor.contiguous(_tensor.as_array(f"input {i}", x)) for i, x in enumerate(inputs)]
        entry, sizes = self._find(words, [(x.shape, x.dtype) for x in arrays], line)
        outputs = [np.empty(shape, _tensor.dtype(x["dtype"])) for shape, x in entry.new_outputs(sizes)]
        _dlpack.call(self._call, (entry.features,), self.name, entry.names, arrays + outputs)
        return entry, tuple(_tensor.like(x, model) for x in outputs)

    def _find(self, words: list[str], forms: list[_features.Form], line: str) -> tuple[_Entry, dict[str, int]]:
        """The kernel of these features for inputs of these forms, and its dynamic sizes by name."""
        same = self._kernels.get(_features.canonical(words), [])
        for entry in same:
            sizes = _features.match(entry.inputs, forms)
            if sizes is not None:
                return entry, sizes
        found = ", ".join(f"{dtype}{list(shape)}" for shape, dtype in forms)
        if not same:
            has = ", ".join(repr(entries[0].kernel["features"]) for entries in self._kernels.values())
            raise ValueError(
                f"expected the features of a kernel of {self.name}, one of {has}, found {' '.join(words)!r}"
            )
        needed = f"; add the problem line {line!r}" if line else ""
        raise ValueError(
            f"expected tensors that one of {len(same)} kernels of {self.name} for {' '.join(words)!r} takes, "
            f"found {found}{needed}"
        )

    def _gpu_entry(self, entry: _Entry, sizes: dict[str, int]) -> _cuda.Entry:
        return _cuda.Entry(
            self.name,
            entry.inputs,
            entry.outputs,
            lambda *_: [shape for shape, _ in entry.new_outputs(sizes)],
            lambda tensors: tensors,
            lambda *given: self._other(entry.features, *given),
            lambda *given: self._call(entry.features, *given),
        )


def load_library(manifest: str | Path, path: str | Path | None = None) -> Library:
    """The library that `attnc --problems=FILE --emit=shared -o LIB.so --manifest=MANIFEST.json` has written.

    Args:
      manifest: the file of the manifest.
      path: the shared library, where it does not lie beside the manifest.

    Raises:
      ValueError: the manifest is not that of a library, or damaged (the message says where); or the library is not
        there or cannot be loaded.
    """
    return Library(manifest, path)


def _check_keywords(function: str, given: Iterable[str], known: frozenset[str]) -> None:
    for name in COMPILED.intersection(given):
        raise TypeError(
            f"Library.{function}() has no keyword {name!r}, as it compiles nothing; leave it out, or call "
            f"attn.{function}"
        )
    _signatures.keywords(f"Library.{function}", given, sorted(known))


def _alone(results: tuple[Any, ...]) -> Any:
    """The only result of a kernel that has one."""
    return results[0] if len(results) == 1 else results
