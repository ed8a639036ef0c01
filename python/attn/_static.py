"""Libraries that `attnc --problems` has compiled, loaded by their manifest: `load_library` and `Library`.

The library's own dispatcher finds the kernel of a call; nothing is compiled.
"""

from __future__ import annotations

import ctypes
import dataclasses
import inspect
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from attn import _checks, _library, _manifest, _problem, _tensor, api
from attn._types import Tensor, TensorT

Array = npt.NDArray[Any]

# What kernels are found by: the words of a problem line that tensors do not show, as pairs of a name and a value.
Features = frozenset[tuple[str, str | float]]

# The options of attn.sdpa that decide what is compiled, and the others, which a library takes.
COMPILED = frozenset({"score_mod", "mask_mod", "dynamic", "target"})
OPTIONS = frozenset(inspect.signature(api.sdpa).parameters) - COMPILED - set("qkv")

SIZE_WORDS = 8  # of a problem line: b, hq, hkv, sq, sk, d, dv, and the element type


class _Entry:
    """A kernel of the manifest, with what each call of it needs."""

    def __init__(self, kernel: dict[str, Any]) -> None:
        self.kernel = kernel
        self.features: bytes = kernel["features"].encode()
        self.names: list[str] = [x["name"] for x in kernel["arguments"]]
        self.inputs = [x for x in kernel["arguments"] if x["role"] == "input"]
        self.outputs = [x for x in kernel["arguments"] if x["role"] == "output"]


class Library:
    """The kernels of a problem file in one shared library; it may be called from several threads.

    Attributes:
      name: its C name.
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
        self._kernels: dict[Features, list[_Entry]] = {}
        for kernel in sorted(self.manifest["kernels"], key=lambda kernel: len(kernel["sizes"])):
            self._kernels.setdefault(_canonical(kernel["features"].split()), []).append(_Entry(kernel))
        file = Path(path) if path is not None else where.with_name(entries["file"])
        if not file.is_file():
            raise ValueError(f"expected the library at {file}, found none; give its path")
        try:
            code = ctypes.CDLL(str(file.resolve()))
        except OSError as error:
            raise ValueError(
                f"expected a shared library at {file}, which attnc --emit=shared writes, found: {error}"
            ) from error
        missing = [name for name in (entries["call_entry"], entries["use_target_entry"]) if not hasattr(code, name)]
        if missing:
            raise ValueError(f"expected {file} to be the library of the manifest, with {missing[0]}, found none")
        self._call = getattr(code, entries["call_entry"])
        self._call.restype = ctypes.c_int32
        self._call.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p, ctypes.c_int64]
        self._use_target = getattr(code, entries["use_target_entry"])
        self._use_target.restype = ctypes.c_int32
        self._use_target.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int64]

    def __repr__(self) -> str:
        """The name, the number of kernels and the targets."""
        return f"<attn.Library {self.name}: {len(self.problems)} kernels for {', '.join(self.targets)}>"

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
          ValueError: the library has none of that name, or the processor does not run it.
        """
        message = ctypes.create_string_buffer(_library.MESSAGE_SIZE)
        if self._use_target(None if target is None else target.encode(), message, len(message)) != _library.OK:
            raise ValueError(message.value.decode(errors="replace"))

    def sdpa(self, q: TensorT, k: Tensor, v: Tensor, **options: Any) -> TensorT | tuple[TensorT, ...]:
        """`attn.sdpa` by a kernel of this library; the same options but for regions, `dynamic` and `target`.

        Raises:
          ValueError, TypeError: as `attn.sdpa`; or no kernel takes the call, with the problem line that is missing.
        """
        _check_keywords("sdpa", options.keys() - OPTIONS)
        arrays = [_tensor.as_array(name, x) for name, x in zip("qkv", (q, k, v), strict=True)]
        problem, others = api.prepare(*arrays, **options)
        words = self._get_words(problem, options)
        return _alone(self._run(words, [*arrays, *others], model=q, line=problem.line())[1])

    def sdpa_backward(
        self,
        q: TensorT,
        k: Tensor,
        v: Tensor,
        out: Tensor,
        lse: Tensor,
        dout: Tensor,
        *,
        dlse: Tensor | None = None,
        grad: Sequence[str] = ("q", "k", "v"),
        **options: Any,
    ) -> dict[str, TensorT]:
        """`attn.sdpa_backward` by a kernel of this library, of a line with the word grad; see `sdpa`.

        Raises:
          ValueError, TypeError: as `attn.sdpa_backward` and `sdpa`.
        """
        _check_keywords("sdpa_backward", options.keys() - OPTIONS | (options.keys() & {"return_lse", "return_weights"}))
        names = (grad,) if isinstance(grad, str) else tuple(grad)
        arrays = [_tensor.as_array(name, x) for name, x in zip("qkv", (q, k, v), strict=True)]
        problem, others = api.prepare(*arrays, **options)
        problem = dataclasses.replace(problem, lse=dlse is not None, grad=names)
        saved = {"out": out, "lse": lse, "dout": dout} | ({} if dlse is None else {"dlse": dlse})
        inputs = [*arrays, *others, *(_tensor.as_array(name, x) for name, x in saved.items())]
        entry, results = self._run(self._get_words(problem, options), inputs, model=q, line=problem.line())
        gradients = {x["name"].removeprefix("d"): y for x, y in zip(entry.outputs, results, strict=True)}
        return {name: gradients[name] for name in names}

    def _get_words(self, problem: _problem.Problem, options: dict[str, Any]) -> list[str]:
        words = _words(problem)
        if options.get("align") is None and _canonical(words) not in self._kernels:
            # Of as many queries as keys every alignment is one: a line may name none.
            unplaced = [word for word in words if not word.startswith("align=")]
            words = unplaced if _canonical(unplaced) in self._kernels else words
        return words

    def __call__(self, features: str, *inputs: Tensor | float) -> Tensor | tuple[Tensor, ...]:
        """Calls the kernel for these features and inputs.

        Args:
          features: the words of a problem line that tensors do not show, as "causal=top_left out=lse".
          inputs: NumPy arrays or objects with `__dlpack__`, in the order of the kernel.

        Returns:
          The output, or a tuple of the outputs.
        """
        arrays = [_tensor.as_array(f"input {i}", x) for i, x in enumerate(inputs)]
        return _alone(self._run(features.split(), arrays, model=inputs[0] if inputs else None, line="")[1])

    def _run(self, words: list[str], inputs: list[Array], model: Any, line: str) -> tuple[_Entry, tuple[Any, ...]]:
        inputs = [_tensor.contiguous(x) for x in inputs]
        same = self._kernels.get(_canonical(words), [])
        for entry in same:
            sizes = _match(entry.inputs, inputs)
            if sizes is not None:
                return entry, self._run_kernel(entry, inputs, sizes, model)
        found = ", ".join(f"{x.dtype}{list(x.shape)}" for x in inputs)
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

    def _run_kernel(self, entry: _Entry, inputs: list[Array], sizes: dict[str, int], model: Any) -> tuple[Any, ...]:
        outputs = [np.empty([_size(n, sizes) for n in x["shape"]], _tensor.dtype(x["dtype"])) for x in entry.outputs]
        _tensor.call(self._call, (entry.features,), self.name, entry.names, inputs + outputs)
        return tuple(_tensor.like(x, model) for x in outputs)


def load_library(manifest: str | Path, path: str | Path | None = None) -> Library:
    """The library that `attnc --problems=FILE --emit=shared -o LIB.so --manifest=MANIFEST.json` has written.

    Args:
      manifest: the file of the manifest.
      path: the shared library, where it does not lie beside the manifest.

    Raises:
      ValueError: the manifest is not that of a library, or damaged (the message says where), or that of a library for
        GPUs; or the library is not there or cannot be loaded.
    """
    return Library(manifest, path)


def _check_keywords(function: str, unknown: Iterable[str]) -> None:
    for name in sorted(unknown):
        if name in COMPILED:
            raise TypeError(
                f"Library.{function}() has no keyword {name!r}, as it compiles nothing; leave it out, or call "
                f"attn.{function}"
            )
        raise _checks.unknown_keyword(f"Library.{function}", name)


def _alone(results: tuple[Any, ...]) -> Any:
    """The only result of a kernel that has one."""
    return results[0] if len(results) == 1 else results


def _words(problem: _problem.Problem) -> list[str]:
    """The features of a problem, as the manifest spells them."""
    words = problem.line().split()[SIZE_WORDS:]
    words = [word for word in words if not word.startswith("pages=") and word != "kvscale=head"]
    words = [word.partition("=")[0] if word.startswith(("bias=", "mask=")) else word for word in words]
    # (batch, row, head * column) does not say how many heads there are.
    packed = problem.layout == "bsd"
    return words + ([f"hq{problem.sizes.hq}", f"hkv{problem.sizes.hkv}"] if packed else [])


def _canonical(words: list[str]) -> Features:
    """Features in no order; numbers may be written in several ways."""
    return frozenset(_parse(*word.partition("=")) for word in words)


def _parse(name: str, _: str, value: str) -> tuple[str, str | float]:
    if name == "grad":  # in any order
        return (name, ",".join(sorted(value.split(","))))
    try:
        return (name, float(value))
    except ValueError:
        return (name, value)


def _match(arguments: list[dict[str, Any]], arrays: list[Array]) -> dict[str, int] | None:
    """The dynamic sizes by name where a kernel takes these inputs, otherwise None."""
    if len(arguments) != len(arrays):
        return None
    sizes: dict[str, int] = {}
    for argument, array in zip(arguments, arrays, strict=True):
        if _tensor.type_name(array.dtype) != argument["dtype"] or array.ndim != len(argument["shape"]):
            return None
        for expected, size in zip(argument["shape"], array.shape, strict=True):
            if (sizes.setdefault(expected, size) if isinstance(expected, str) else expected) != size:
                return None
    return sizes


def _size(size: int | str, sizes: dict[str, int]) -> int:
    return size if isinstance(size, int) else sizes.get(size, 0)
