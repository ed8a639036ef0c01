"""From a source to a kernel: `compile`, and the cache on disk beside it."""

from __future__ import annotations

import ctypes
import json
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from attn.call import _checks
from attn.errors import CompileError
from attn.kernel import _background, _cuda, _disk_cache, _library
from attn.kernel._inspect import Source
from attn.kernel._kernel import Kernel
from attn.words import _signatures

# What an IR file has and a problem line never has; and what may follow a problem line.
MLIR_MARKS = frozenset("@%{(")
AFTER_LINE = ("captures(", "score_mod", "mask_mod")
# Set by tests of what stands around kernels: LLVM takes two thirds of the time, and kernels are slower.
is_quick = False


@_signatures.explains_arguments
def compile(  # noqa: A001 - shadows a builtin on purpose
    source: str | Path,
    target: str = "host",
    *,
    name: str | None = None,
    parallel: str = "openmp",
    reference: bool = False,
    fail_on_fallback: bool = False,
    cache: bool = True,
) -> Kernel:
    """Compiles a problem line, the text of an IR file, or the file at a Path, in memory.

    Args:
      source: "b2 hq8 hkv2 sq113 sk203 d64 f32 causal=bottom_right", on further lines captures and regions if any; MLIR
        text; or a `pathlib.Path` to a .mlir file.
      target: "host" or a name in `attn.targets()`.
      name: which kernel, where an IR file has several public functions; the first if it is None.
      parallel: "openmp" or "none".
      reference: take the pipeline that materialises the scores, computed in float64.
      fail_on_fallback: make a missed flash lowering an error.
      cache: take the code from the cache on disk (`attn.set_cache`) where it is there, and keep it there.

    Returns:
      A `Kernel`, a new one on each call; `attn.sdpa` is what remembers those of this process.

    Raises:
      CompileError: the compiler refused it; `diagnostics` says where and why.
      OSError: the file at the Path cannot be read.
      ValueError: the source is the name of a file.
    """
    _cuda.is_target(target)  # refuses what is no name
    text = source.read_text(encoding="utf-8-sig") if isinstance(source, Path) else source
    if not isinstance(text, str):
        raise TypeError(f"expected a problem line, MLIR text or a Path, found {type(source).__name__}")
    if isinstance(source, str) and text.endswith((".mlir", ".onnx")) and "\n" not in text:
        write = f"attn.from_onnx({text!r})" if text.endswith(".onnx") else f"attn.compile(pathlib.Path({text!r}))"
        raise ValueError(f"expected a problem line or MLIR text, found the name of a file; write {write}")
    is_mlir = isinstance(source, Path) or not is_problem(text)
    kind = _library.SOURCE_MLIR if is_mlir else _library.SOURCE_PROBLEM
    what = "the IR file" if is_mlir else f'the problem "{text.strip()}"'
    flags = (_checks.flag("reference", reference), _checks.flag("fail_on_fallback", fail_on_fallback))
    made = Source(kind, text.encode(), what, target, parallel, *flags)
    module, manifest = compile_source(made, cache=cache)
    entries = [x for x in manifest["kernels"] if name in (None, x["name"])]
    if name == "main":  # which C calls otherwise
        entries = entries or [x for x in manifest["kernels"] if x["name"] == "main_kernel"]
    if not entries:
        _library.load().attn_module_destroy(module)
        found = ", ".join(x["name"] for x in manifest["kernels"]) or "none"
        raise CompileError(f"expected a kernel named {name}, found {found}")
    return Kernel(module, manifest, entries[0], made)


def compile_source(source: Source, *, cache: bool = True) -> tuple[int, dict[str, Any]]:
    """A compiled module, which the caller owns, and its manifest.

    Args:
      source: with its target and options.
      cache: as for `compile`.

    Raises:
      CompileError: the compiler refused it.
      KeyboardInterrupt: Ctrl-C, at once; what is compiled meanwhile ends soon after.
    """
    library = _library.load()
    use_cache = _checks.flag("cache", cache)
    options = source.options()
    key = _disk_cache.key(source.kind, source.data, options) if use_cache else None
    loaded = _disk_cache.load(key)
    if loaded is not None:
        return loaded, json.loads(library.attn_module_manifest(loaded))
    cancel = ctypes.c_int32(0)

    def work() -> tuple[int | None, str]:
        module, message = ctypes.c_void_p(), ctypes.c_void_p()
        library.attn_set_object_cache(_disk_cache.objects() if use_cache else None)  # of this thread
        library.attn_set_quick_code(is_quick)
        library.attn_compile_cancellable(
            *(source.kind, source.data, len(source.data), ctypes.byref(options)),
            *(ctypes.byref(cancel), ctypes.byref(module), ctypes.byref(message)),
        )
        if module.value is not None:
            _disk_cache.store(key, module.value)
        return module.value, _library.take(message)

    def abandon(future: Future[tuple[int | None, str]]) -> None:
        cancel.value = 1
        future.add_done_callback(lambda made: library.attn_module_destroy(made.result()[0]))

    module, diagnostics = _background.call(work, abandon)
    if module is None:
        raise source.refusal(diagnostics)
    return module, json.loads(library.attn_module_manifest(module))


def is_problem(text: str) -> bool:
    """Whether a source is a problem line, with or without captures and regions below it, and not an IR file."""
    line, _, rest = text.strip().partition("\n")
    return MLIR_MARKS.isdisjoint(line) and (not rest.strip() or rest.lstrip().startswith(AFTER_LINE))
