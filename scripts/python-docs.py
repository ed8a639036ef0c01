#!/usr/bin/env python3
"""Prints docs/Python.md: each public name of the package with its signature and docstring, from the source text.

Neither NumPy nor libattn is needed: nothing is imported.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "python/attn"
# The page: a heading, the module, and its public names in reading order.
SECTIONS: list[tuple[str, str, list[str]]] = [
    ("Attention", "api", ["sdpa"]),
    ("Gradients", "call/_gradients", ["sdpa_backward", "vjp", "varlen_sdpa_backward", "varlen_vjp"]),
    ("Packed sequences", "call/_packed", ["varlen_sdpa"]),
    ("Caches", "call/_serving", ["paged_sdpa"]),
    ("Appending to caches", "call/_append", ["kv_append"]),
    ("Linear attention", "call/_linear", ["linear_attention"]),
    ("Gradients of linear attention", "call/_linear_gradients", ["linear_attention_backward"]),
    ("Layers", "call/_layers", ["multi_head", "merge"]),
    ("Compiling", "kernel/_compile", ["compile"]),
    ("Kernels", "kernel/_kernel", ["Kernel"]),
    ("ONNX", "kernel/_onnx", ["from_onnx", "OnnxKernel"]),
    ("Modules of PyTorch", "kernel/_torch_export", ["from_torch", "TorchKernel"]),
    ("Libraries of kernels", "kernel/_static", ["load_library", "Library"]),
    ("Traced functions", "functions", []),
    ("Captured arrays", "trace/_capture", ["capture"]),
    ("Threads and targets", "api", ["get_num_threads", "set_num_threads", "targets"]),
    ("C headers", "api", ["get_include"]),
    ("The cache on disk", "kernel/_disk_cache", ["set_cache", "cache_info", "clear_cache", "CacheInfo"]),
    ("The reference", "reference/_forward", ["sdpa", "predicate"]),
    ("The reference of gradients", "reference/_backward", ["sdpa_backward"]),
    ("The reference of packed sequences", "reference/_packed", ["varlen_sdpa", "varlen_sdpa_backward"]),
    ("The reference of serving", "reference/__init__", ["paged_sdpa", "kv_append", "merge"]),
    ("The reference of linear attention", "reference/_linear", ["linear_attention"]),
    ("The reference of its gradients", "reference/_linear_backward", ["linear_attention_backward"]),
    ("The reference of layers", "reference/__init__", ["multi_head", "multi_head_backward"]),
    ("Pictures", "plot", ["weights", "tiles"]),
    ("PyTorch", "torch/_sdpa", ["sdpa"]),
    ("PyTorch, packed sequences", "torch/_varlen", ["varlen_sdpa"]),
    ("PyTorch's varlen_attn", "torch/_varlen_attn", ["varlen_attn"]),
    ("PyTorch, sequences on several ranks", "torch/parallel/_call", ["sharded_sdpa"]),
    ("PyTorch, the context of several ranks", "torch/parallel/_context_parallel", ["context_parallel", "unshard"]),
    ("PyTorch, caches", "torch/_serving", ["paged_sdpa"]),
    ("PyTorch, new rows of caches", "torch/_appending", ["kv_append"]),
    ("PyTorch, keys in two places", "torch/_merge", ["merge", "cascade_sdpa", "extend_sdpa"]),
    ("PyTorch, linear attention", "torch/_linear", ["linear_attention"]),
    ("PyTorch, programs in C++", "torch/_kernels", ["with_kernels"]),
    ("FlexAttention's signature", "torch/_flex", ["flex_attention"]),
    ("Hugging Face transformers", "torch/_transformers", ["register_transformers"]),
    ("JAX", "jax", ["sdpa", "varlen_sdpa", "ring_sdpa", "sdpa_backward"]),
    ("JAX, linear attention", "xla/_xla_linear", ["linear_attention"]),
    ("Errors", "errors", ["CompileError"]),
]
PREFIXES = {
    "functions": "attn.functions.",
    "reference/_backward": "attn.reference.",
    "reference/_forward": "attn.reference.",
    "reference/_linear": "attn.reference.",
    "reference/_linear_backward": "attn.reference.",
    "reference/_packed": "attn.reference.",
    "reference/__init__": "attn.reference.",
    "plot": "attn.plot.",
    "jax": "attn.jax.",
    "xla/_xla_linear": "attn.jax.",
    "torch/_sdpa": "attn.torch.",
    "torch/_flex": "attn.torch.",
    "torch/_linear": "attn.torch.",
    "torch/_varlen": "attn.torch.",
    "torch/parallel/_call": "attn.torch.",
    "torch/parallel/_context_parallel": "attn.torch.",
    "torch/_appending": "attn.torch.",
    "torch/_serving": "attn.torch.",
    "torch/_transformers": "attn.torch.",
}
WIDTH = 100
INTERNAL = {"on_arrays", "new_shapes", "in_order", "run"}  # methods for other modules of the package
PROPERTIES = {"property", "cached_property"}
Definition = ast.FunctionDef | ast.ClassDef


def read_words() -> tuple[list[str], dict[str, str]]:
    """The keywords of `**words` as a signature has them, and what each means (attn.words._words)."""
    tree = ast.parse((PACKAGE / "words/_words.py").read_text(encoding="utf-8"))
    fields = next(x for x in tree.body if isinstance(x, ast.ClassDef)).body
    meanings = next(x for x in tree.body if isinstance(x, ast.Assign) and ast.unparse(x.targets[0]) == "MEANINGS")
    return (
        [f"{ast.unparse(x)} = None" for x in fields if isinstance(x, ast.AnnAssign)],
        ast.literal_eval(meanings.value),
    )


def read(module: str) -> dict[str, Definition]:
    """The definitions of a module by name, in their order."""
    tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
    return {x.name: x for x in tree.body if isinstance(x, Definition)}


def get_parameters(function: ast.FunctionDef, *, is_method: bool) -> list[str]:
    """`name: type = default`, and the separators, as they stand in the signature."""
    given = function.args
    positional = (given.posonlyargs + given.args)[is_method:]
    defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    words = [show(x, y) for x, y in zip(positional, defaults, strict=True)]
    if given.vararg:
        words.append("*" + show(given.vararg, None))
    elif given.kwonlyargs:
        words.append("*")
    words += [show(x, y) for x, y in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    if given.kwarg and given.kwarg.arg == "words":
        return words + read_words()[0]
    return words + (["**" + show(given.kwarg, None)] if given.kwarg else [])


def show(argument: ast.arg, default: ast.expr | None) -> str:
    """One parameter."""
    kind = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
    return f"{argument.arg}{kind}" + (f" = {ast.unparse(default)}" if default else "")


def get_signature(name: str, function: ast.FunctionDef, *, is_method: bool = False) -> str:
    """In one line, or a parameter a line."""
    words = get_parameters(function, is_method=is_method)
    result = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    line = f"{name}({', '.join(words)}){result}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {x},\n" for x in words) + f"){result}"


def get_heading(owner: str, method: ast.FunctionDef) -> str:
    """How a method is written where it is called, or a property where it is read."""
    name = f"{owner}.{method.name}"
    if any(ast.unparse(x).split(".")[-1] in PROPERTIES for x in method.decorator_list):
        return f"{name}: {ast.unparse(method.returns)}" if method.returns else name
    return get_signature(owner.lower() if method.name == "__call__" else name, method, is_method=True)


def format_docstring(text: str) -> str:
    """Paragraphs as they are; the sections Args, Returns and Raises as lists."""
    lines: list[str] = []
    section = ""
    for line in text.splitlines():
        heading = re.fullmatch(r"(Args|Returns|Raises|Yields|Attributes):", line)
        if heading:
            section = heading[1]
            lines += [f"*{section}*", ""]
        elif section and line.startswith("    "):
            lines.append("  " + line.strip())
        elif section and line.startswith("  "):
            word = re.match(r"  ([\w*, ]+): (.*)", line)
            if section == "Returns":
                lines.append(line.strip())
            else:
                lines.append(f"- `{word[1]}`: {word[2]}" if word else f"- {line.strip()}")
        else:
            section = section if not line else ""
            lines.append(line)
    return "\n".join(lines)


def document(name: str, definition: Definition, prefix: str) -> str:
    """The entry of one name."""
    parts = [f"### `{prefix}{name}`"]
    if isinstance(definition, ast.FunctionDef):
        parts.append(f"```python\n{get_signature(prefix + name, definition)}\n```")
    meanings = "\n".join(f"  {name}: {text}" for name, text in read_words()[1].items())
    parts.append(format_docstring((ast.get_docstring(definition) or "").replace("  {words}", meanings)))
    if isinstance(definition, ast.ClassDef):
        for method in definition.body:
            is_public = isinstance(method, ast.FunctionDef) and (
                not method.name.startswith("_") or method.name == "__call__"
            )
            is_public = is_public and method.name not in INTERNAL
            if is_public and (docstring := ast.get_docstring(method)):
                parts.append(f"```python\n{get_heading(name, method)}\n```")
                parts.append(format_docstring(docstring))
    return "\n\n".join(parts)


def main() -> None:
    """Prints the page."""
    print("<!-- Autogenerated by scripts/gen-docs.sh from the docstrings of python/attn; don't manually edit -->\n")
    print("# Python\n")
    print((ast.get_docstring(ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))) or "") + "\n")
    print("## Types\n")
    print("| in signatures | |\n| --- | --- |")
    print("| `Tensor` | anything with `__dlpack__`: arrays of NumPy, PyTorch, JAX, CuPy; on a GPU see below |")
    print("| `TensorT` | a `Tensor`; results are of its kind |")
    print("| `Integers` | a sequence or a `Tensor` of integers |")
    print('| `Alignment` | `"top_left"`, `"bottom_right"`, or `Integers`: an offset for each batch index |')
    print("| `Value` | what a traced function calculates with: a symbol, a number, an array |")
    print("| `ScoreMod`, `MaskMod` | functions `(score, b, h, i, j) -> Value` and `(b, h, i, j) -> Value` |")
    print("\n## GPUs\n")
    print(ast.get_docstring(ast.parse((PACKAGE / "kernel/_cuda.py").read_text(encoding="utf-8"))))
    for heading, module, names in SECTIONS:
        definitions = read(module)
        chosen = names or [x for x in definitions if not x.startswith("_")]
        print(f"\n## {heading}")
        for name in chosen:
            print("\n" + document(name, definitions[name], PREFIXES.get(module, "attn.")))


if __name__ == "__main__":
    main()
