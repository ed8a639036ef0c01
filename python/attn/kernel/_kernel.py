"""A compiled kernel and its calls."""

from __future__ import annotations

import ctypes
import itertools
import numbers
import os
import weakref
from collections.abc import Collection, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from attn.kernel import _cuda, _device, _dlpack, _explain, _formulas, _library, _plan, _tensor
from attn.kernel._inspect import Source
from attn.words._types import Tensor

Array = npt.NDArray[Any]


class Kernel:
    """One compiled kernel. Call it with its inputs in the order of `manifest`; it may be called from several threads.

    Attributes:
      name: its name in the module.
      manifest: the module's manifest, as `attnc --manifest` writes it: target, kernels, their arguments, conventions.
      inputs, outputs: the kernel's own arguments in the manifest, each with name, dtype and shape; a name in a shape
        is a size that each call chooses. Outputs are in the order of the function's results.
    """

    def __init__(
        self, module: int, manifest: dict[str, Any], entry: dict[str, Any], source: Source | None = None
    ) -> None:
        """Takes ownership of a compiled module; made by `attn.compile` only."""
        self._module = module
        self._source = source
        self.name: str = entry["name"]
        self.manifest = manifest
        self.inputs = [x for x in entry["arguments"] if x["role"] == "input"]
        self.outputs = sorted((x for x in entry["arguments"] if x["role"] == "output"), key=lambda x: x["result"])
        names = [x["name"] for x in self.inputs + self.outputs]
        order = [names.index(x["name"]) for x in entry["arguments"]]
        self._order = None if order == sorted(order) else order
        self._name = self.name.encode()
        self._names = ([x["name"] for x in self.inputs], [x["name"] for x in self.outputs])
        self._entry_names = [x["name"] for x in entry["arguments"]]
        self._is_for_gpu = _cuda.is_target(manifest["target"]["name"])
        self._strided = [x["strided"] for x in self.inputs]
        self._updated = [x["name"] for x in self.outputs if x["updated"]]
        self._formulas: dict[str, str] = entry["size_formulas"]
        self._has_open_outputs = any(isinstance(dim, str) for x in self.outputs for dim in x["shape"])
        if self._is_for_gpu:
            self._entry = self._gpu_entry()
        self._idle: list[_plan.Frame] = []
        # Not at exit: another thread may be in the kernel, and the process frees the memory anyway.
        weakref.finalize(self, _library.load().attn_module_destroy, module).atexit = False

    def __repr__(self) -> str:
        """The name and the arguments with their types and shapes."""
        describe = ", ".join(f"{x['name']}: {x['dtype']}{x['shape']}" for x in self.inputs + self.outputs)
        return f"<attn.Kernel {self.name}({describe})>"

    def ir(self, phase: str | None = None) -> str:
        """The IR of its module after a phase, as `attnc --stop-after=PHASE` writes it; compiles the source again.

        Args:
          phase: "input", "canonicalize", "fuse" … as docs/Tutorial.md goes through them; None for the last one.

        Raises:
          TypeError, ValueError: the way to the target has no such phase; the message lists those that it has.
        """
        return self._text(_library.TEXT_IR, phase)

    @property
    def asm(self) -> str:
        """The assembly of its module, or the PTX of its kernels for a GPU; compiles the source again."""
        return self._text(_library.TEXT_ASSEMBLY)

    @property
    def remarks(self) -> list[str]:
        """What is fused and how, what is not and why, and warnings: `attnc --remarks=all`; compiles it again."""
        return self._text(_library.TEXT_REMARKS).splitlines()

    def explain(self, path: str | os.PathLike[str] | None = None, *, run: bool = False) -> str:
        """A page that shows its module: what was fused, mask, schedule, limits, loops and phases; compiles it again.

        Args:
          path: a file for the page, or for its facts as JSON where the name ends in ".json"; None: none is written.
          run: also compare it with the reference in f64, and time it against this machine's ceilings.

        Returns:
          The text of the page, or of the facts (docs/Explain.md).

        Raises:
          CompileError: a result differs from the reference, or the source is refused now.
        """
        form = "json" if path is not None and os.fspath(path).endswith(".json") else "html"
        text = _explain.explain(self._the_source(), form, ["--run"] if run else [])
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def _repr_html_(self) -> str | None:
        """The page, where a notebook shows the kernel."""
        return None if self._source is None else _explain.frame(self.explain())

    def _the_source(self) -> Source:
        if self._source is None:
            raise ValueError(f"expected the source of {self!r}, found its code alone; write attn.compile(…)")
        return self._source

    def _text(self, what: int, phase: str | None = None) -> str:
        return self._the_source().text(what, phase)

    def __copy__(self) -> Kernel:
        """Itself: it does not change, and owns its code."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Kernel:
        """Itself, as for `copy.copy`."""
        return self

    def __reduce__(self) -> Any:
        """Refuses pickling: the code lies in this process.

        Raises:
          TypeError: always.
        """
        raise TypeError(
            f"expected no pickling of {self!r}, whose code lies in this process; pickle the problem line or IR that it "
            "is compiled from"
        )

    def __call__(
        self, *inputs: Tensor | float, out: Tensor | tuple[Tensor, ...] | None = None
    ) -> Tensor | tuple[Tensor, ...]:
        """Runs the kernel; the GIL is released meanwhile.

        A kernel for a GPU takes objects with `__dlpack__` in the memory of its device, and is started on the stream
        that the library of the first one uses; outputs are new arrays of this library.

        Args:
          inputs: NumPy arrays or objects with `__dlpack__`, in the order, types and shapes of `self.inputs`; numbers
            where the kernel takes a scalar. An array that is not C-contiguous is copied, unless the kernel takes its
            strides (`strided` in `self.inputs`) and its rows are contiguous.
          out: an array, or a tuple of arrays for several outputs, to write to: C-contiguous (one that is `strided`
            in `self.outputs`: with contiguous rows), writable, not overlapping the inputs. Made new if it is None,
            or None is in its place, unless the kernel updates it (`updated` in `self.outputs`).

        Returns:
          The output, or a tuple of the outputs: torch tensors or arrays of JAX where the first input is one, otherwise
          NumPy. The objects given as `out` are returned themselves.

        Raises:
          RuntimeError: there is no CUDA driver, or the device or this processor is not one that the kernel was made
            for.
          TypeError: an argument has the wrong element type, device or kind.
          ValueError: the count, a rank, shape or stride is wrong, an output overlaps, or one that is updated is not
            given. Nothing is written.
        """
        if not self._is_for_gpu:
            results = self._quick(inputs, out)
            if results is not None:
                return results
        _check_count(self._names[0], len(inputs))
        if not self._is_for_gpu:
            arrays = [_as_input(argument, x) for argument, x in zip(self.inputs, inputs, strict=True)]
            return self.on_arrays(arrays, inputs[0] if inputs else None, out)
        return self.run(list(inputs), None, out)

    def _quick(self, inputs: tuple[Any, ...], out: Any) -> Any:
        """The results where all are arrays that the entry takes as they are; None where they are not, or it refuses."""
        results = out if type(out) is tuple else (out,)
        if out is None:
            if self._has_open_outputs or self._updated:
                return None
            results = tuple([np.empty(x["shape"], _tensor.dtype(x["dtype"])) for x in self.outputs])
        if len(inputs) != len(self.inputs) or len(results) != len(self.outputs):
            return None
        try:
            frame = self._idle.pop()
        except IndexError:  # the first call, or others are running
            frame = self._frame()
        owners = _dlpack.borrow_plain(self.in_order([*inputs, *results]), frame.words)
        status = None if owners is None else frame.run()
        self._idle.append(frame)
        if status != _library.OK:  # what follows says why
            return None
        return results if len(results) > 1 else results[0]

    def _frame(self) -> _plan.Frame:
        pointers = (ctypes.c_void_p * len(self._entry_names))()
        return _plan.frame(self._module, self._name, pointers, pointers)

    def run(self, inputs: list[Any], model: Any, out: Any = None) -> Any:
        """`__call__` on NumPy arrays, or of a kernel for a GPU on arrays of its device."""
        return _cuda.call(self._entry, tuple(inputs), out) if self._is_for_gpu else self.on_arrays(inputs, model, out)

    def on_arrays(self, inputs: list[Array], model: Any, out: Any = None) -> Any:
        """`__call__` of a kernel for a CPU, on NumPy arrays; results are of the kind of `model` (`_tensor.like`)."""
        arrays = [self._in_place(strided, x) for strided, x in zip(self._strided, inputs, strict=True)]
        made: list[tuple[Array, Any]]  # the memory, and the result where it is there before
        if out is None:
            forms = zip(self.outputs, self.new_shapes(arrays), strict=True)
            made = [_tensor.new(x["dtype"], shape, model) for x, shape in forms]
        else:
            places = tuple(out) if isinstance(out, tuple | list) else (out,)
            _check_count(self._names[1], len(places))
            given = [name for name, x in zip(self._names[1], places, strict=True) if x is not None]
            shapes = self.new_shapes(arrays, given) if len(given) < len(places) else [[]] * len(places)
            made = [
                _tensor.new(x["dtype"], shape, model) if place is None else (_as_output(x["name"], place), place)
                for x, shape, place in zip(self.outputs, shapes, places, strict=True)
            ]
        self._run(arrays, [target for target, _ in made])
        results = tuple([_tensor.like(x, model) if result is None else result for x, result in made])
        if out is not None:
            _tensor.count_writes(results)
        return results[0] if len(results) == 1 else results

    @staticmethod
    def _in_place(strided: bool, array: Array) -> Array:
        return array if strided and _tensor.has_rows(array) else _tensor.contiguous(array)

    def plan(
        self, inputs: list[Array], kept: Sequence[str], open_sizes: Set[str] = frozenset(), outputs: Any = None
    ) -> tuple[_plan.Plan, list[int]]:
        """What calls it on inputs like these, and which of them must be copied to be contiguous.

        Args:
          inputs: NumPy arrays that it takes.
          kept: the results that lie where a call says, in its order after the inputs; nobody reads the others.
          open_sizes: names of sizes in the manifest. Of tensors that have one, each call says the shape, in the order
            of their addresses; those that are contiguous here are so in each call.
          outputs: arrays like the results; None where these are made new, and contiguous.
        """
        placed = [self._in_place(strided, x) for strided, x in zip(self._strided, inputs, strict=True)]
        copied = [n for n, (x, y) in enumerate(zip(inputs, placed, strict=True)) if x is not y]
        if outputs is None:
            shapes = zip(self.new_shapes(placed), self.outputs, strict=True)
            outputs = [np.empty(shape, _tensor.dtype(x["dtype"])) for shape, x in shapes]
        named = dict(zip(itertools.chain(*self._names), placed + outputs, strict=True))
        forms = [_dlpack.describe(name, named[name]) for name in self._entry_names]
        given = [self._entry_names.index(name) for name in (*self._names[0], *kept)]
        is_scratch = [name in self._names[1] and name not in kept for name in self._entry_names]
        scratch = [named[name].nbytes * is_read for name, is_read in zip(self._entry_names, is_scratch, strict=True)]
        shapes_of = {x["name"]: x["shape"] for x in (*self.inputs, *self.outputs)}
        shaped = [n for n in given if not open_sizes.isdisjoint(shapes_of[self._entry_names[n]])]
        for n in [n for n in shaped if named[self._entry_names[n]].flags.c_contiguous]:
            forms[n].strides = None  # they follow from the shape
        return _plan.Plan(self, (self._module, self._name), forms, given, scratch, shaped), copied

    def device_plan(
        self, inputs: list[Any], device: _device.Device, order: Sequence[str]
    ) -> tuple[_plan.DevicePlan, list[int]]:
        """`plan` of a kernel for a GPU, whose inputs are tensors of PyTorch; all results are given, in this order."""
        strides = [x.stride() if y and device.is_view(x) else None for x, y in zip(inputs, self._strided, strict=True)]
        copied = [
            n for n, (x, y) in enumerate(zip(inputs, strides, strict=True)) if y is None and not x.is_contiguous()
        ]
        shapes = [*[tuple(x.shape) for x in inputs], *map(tuple, self.new_shapes(inputs))]
        named = dict(zip(itertools.chain(*self._names), shapes, strict=True))
        dtypes = {x["name"]: x["dtype"] for x in (*self.inputs, *self.outputs)}
        strides_of = dict(zip(self._names[0], strides, strict=True))
        forms = [
            _dlpack.form_of(dtypes[name], named[name], device.number, strides_of.get(name))
            for name in self._entry_names
        ]
        given = [self._entry_names.index(name) for name in (*self._names[0], *order)]
        return _plan.DevicePlan(self, (self._module, self._name), forms, given), copied

    def new_shapes(self, inputs: list[Any], given: Collection[str] = ()) -> list[list[int]]:
        """The shapes of outputs, which are made new but for those `given`; the checked entry compares the inputs.

        Raises:
          ValueError: the kernel reads or keeps old values of an output that is made new.
        """
        updated = [name for name in self._updated if name not in given]
        if updated:
            raise ValueError(
                f"{self.name}: expected out= with the old values of {', '.join(updated)}, which the kernel "
                "updates; found none"
            )
        if not self._has_open_outputs:
            return [x["shape"] for x in self.outputs]
        sizes: dict[str, int] = {}
        for argument, value in zip(self.inputs, inputs, strict=True):
            # A wrong rank is the checked entry's to refuse.
            for name, size in zip(argument["shape"], value.shape, strict=False):
                if isinstance(name, str):
                    sizes.setdefault(name, size)
        sizes |= {name: _formulas.evaluate(formula, sizes) for name, formula in self._formulas.items()}
        return [[sizes.get(n, 0) if isinstance(n, str) else n for n in x["shape"]] for x in self.outputs]

    def in_order(self, tensors: list[Any]) -> list[Any]:
        """What belongs to the inputs, then the outputs, in the order of the kernel's C entry."""
        return tensors if self._order is None else [tensors[i] for i in self._order]

    def _gpu_entry(self) -> _cuda.Entry:
        library, name = _library.load(), self._name
        module = self._module
        return _cuda.Entry(
            self.name,
            self.inputs,
            self.outputs,
            self.new_shapes,
            self.in_order,
            lambda *given: library.attn_module_workspace_bytes(module, name, *given),
            lambda *given: library.attn_module_call_cuda(module, name, *given),
        )

    def _run(self, inputs: list[Array], outputs: list[Array]) -> None:
        arrays = self.in_order(inputs + outputs)
        _dlpack.call(_library.load().attn_module_call, (self._module, self._name), self.name, self._entry_names, arrays)


def _as_input(argument: dict[str, Any], value: Any) -> Array:
    """A view of an input; a number, where the kernel takes a scalar, as an array without dimensions."""
    if argument["passed_by"] == "value" and isinstance(value, numbers.Number):
        return np.asarray(value, dtype=argument["dtype"])
    return _tensor.as_array(argument["name"], value)


def _as_output(name: str, value: Any) -> Array:
    array = _tensor.as_array(name, value)
    if not array.flags.writeable:
        raise ValueError(f"expected output {name} to be writable, found a read-only array")
    return array


def _check_count(names: list[str], count: int) -> None:
    if len(names) != count:
        raise ValueError(f"expected {len(names)} tensors ({', '.join(names)}), found {count}")
