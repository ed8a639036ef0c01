"""Operands that are views, in the emulator: transposed, with elements apart, with rows between multiples of 16 bytes.

docs/Semantics.md: such operands are read where they lie.
"""

from typing import NamedTuple

import pytest

from test_gpu_run import check

H, SQ, SK, D = 2, 40, 70, 64


class View(NamedTuple):
    """Of a tensor of `shape`, the elements [offsets][sizes][strides], with the map that has `results`."""

    shape: str
    sizes: str
    results: str
    offsets: str = "0, 0, 0"
    strides: str = "1, 1, 1"

    def tensor(self, type_):
        """The type of the view."""
        return f"tensor<{self.sizes.replace(', ', 'x')}x{type_}>"

    def define(self, name, type_):
        """The slice, and the argument that it is of."""
        place = f"[{self.offsets}] [{self.sizes}] [{self.strides}]"
        whole = f"tensor<{self.shape.replace(', ', 'x')}x{type_}>"
        return (
            f"%{name} = tensor.extract_slice %{name}0 {place} : {whole} to {self.tensor(type_)}",
            f"%{name}0: {whole}",
        )


def plain(rows, results):
    return View(f"{H}, {rows}, {D}", f"{H}, {rows}, {D}", results)


Q, K, V, OUT = plain(SQ, "h, i, d"), plain(SK, "h, j, d"), plain(SK, "h, j, e"), plain(SQ, "h, i, e")


def sdpa(type_, q=Q, k=K, v=V, out=OUT):
    slices, arguments = zip(
        *(view.define(name, type_) for name, view in zip("qkv", (q, k, v), strict=True)), strict=True
    )
    maps = ", ".join(f"affine_map<(h, i, j, d, e) -> ({view.results})>" for view in (q, k, v, out))
    types = ", ".join(view.tensor(type_) for view in (q, k, v))
    result = out.tensor(type_)
    return f"""func.func @k({", ".join(arguments)}) -> {result} {{
  {chr(10).join(slices)}
  %empty = tensor.empty() : {result}
  %r = attn.sdpa ins(%q, %k, %v : {types}) outs(%empty : {result}) {{maps = [{maps}]}} -> {result}
  return %r : {result}
}}"""


def apart(view):
    """Every second element of rows twice as long."""
    rows = view.sizes.split(", ")[1]
    return view._replace(shape=f"{H}, {rows}, {2 * D}", strides="1, 1, 2")


def part(view, columns, first=0):
    """Columns first ... first + D of longer rows."""
    rows = view.sizes.split(", ")[1]
    return view._replace(shape=f"{H}, {rows}, {columns}", offsets=f"0, 0, {first}")


def transposed(view):
    head, row, column = view.results.split(", ")
    sizes = f"{H}, {D}, {view.sizes.split(', ')[1]}"
    return View(sizes, sizes, f"{head}, {column}, {row}")


def heads_last(view):
    head, row, column = view.results.split(", ")
    sizes = f"{view.sizes.split(', ')[1]}, {D}, {H}"
    return View(sizes, sizes, f"{row}, {column}, {head}")


CASES = {
    "q apart": {"q": apart(Q)},
    "k apart": {"k": apart(K)},
    "v apart": {"v": apart(V)},
    "q transposed": {"q": transposed(Q)},
    "k transposed": {"k": transposed(K)},
    "v transposed": {"v": transposed(V)},
    "out transposed": {"out": transposed(OUT)},
    "heads last": {"k": heads_last(K), "v": heads_last(V), "out": heads_last(OUT)},
    "q of rows of 68": {"q": part(Q, 68)},
    "k of rows of 68": {"k": part(K, 68)},
    "v of rows of 68": {"v": part(V, 68)},
    "k of rows of 65": {"k": part(K, 65, 1)},
    "aligned rows from 4": {"q": part(Q, 128, 4), "k": part(K, 128, 4), "v": part(V, 128, 4)},
}


@pytest.mark.parametrize("name", CASES)
def test_bf16(name):
    check("-", text=sdpa("bf16", **CASES[name]))


@pytest.mark.parametrize("name", ["v transposed", "k of rows of 65"])
def test_f32(name):
    check("-", text=sdpa("f32", **CASES[name]))
