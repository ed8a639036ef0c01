"""Pictures: attention weights as heat maps, and which tiles of the score matrix a mask fills, cuts and skips.

Needs matplotlib: pip install "attn[plot]".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attn import reference
from attn.call import _checks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = npt.NDArray[Any]

SKIPPED, PARTIAL, FULL = 0, 1, 2
TILE_NAMES = ("skipped", "partial", "full")
TILE_COLORS = ("#f2f2f2", "#f4a582", "#2166ac")
PANEL_INCHES = 3.2


class TileCounts(NamedTuple):
    """How many tiles of queries × keys keep no key, some, and all."""

    skipped: int
    partial: int
    full: int


def weights(
    weights: npt.ArrayLike,
    *,
    batch: int = 0,
    heads: Iterable[int] | None = None,
    query_labels: list[str] | None = None,
    key_labels: list[str] | None = None,
    kept: npt.ArrayLike | None = None,
    title: str = "",
) -> Figure:
    """Draws attention weights as heat maps, one panel a head; queries run down, keys to the right.

    Masked cells are hatched: their weight of 0 is not a result of the softmax.

    Args:
      weights: (B, Hq, Sq, Sk), as `attn.sdpa(…, return_weights=True)` returns them.
      batch: which batch.
      heads: which heads, an iterable of integers; all if it is None.
      query_labels, key_labels: a word for each query and each key.
      kept: bool, broadcast to the weights: which keys each query keeps, as `attn.reference.predicate` gives it. If it
        is None, weights of exactly 0 are taken for masked, which those that dropout removes or that are too small for
        their type are too.
      title: a line above the panels.

    Returns:
      The matplotlib figure; `figure.savefig("weights.png")` writes it.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: the weights have another rank, there is no such batch or head, or kept has another shape.
    """
    array = np.asarray(weights, dtype=np.float64)
    if array.ndim != 4:
        raise ValueError(f"expected weights of rank 4 (batch, heads, queries, keys), found shape {array.shape}")
    chosen = list(range(array.shape[1])) if heads is None else list(heads)
    if not 0 <= batch < array.shape[0] or not chosen or any(not 0 <= h < array.shape[1] for h in chosen):
        raise ValueError(f"expected a batch and heads of weights of shape {array.shape}, found {batch} and {chosen}")
    try:
        masked = array == 0 if kept is None else ~np.broadcast_to(np.asarray(kept, dtype=bool), array.shape)
    except ValueError:
        raise ValueError(
            f"expected kept to broadcast to the weights, {array.shape}, found shape {np.shape(kept)}"
        ) from None
    columns = min(len(chosen), 4)
    rows = -(-len(chosen) // columns)
    figure = _figure((PANEL_INCHES * columns + 0.8, PANEL_INCHES * rows + 0.5 * bool(title)))
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    image = None
    for panel, h in zip(axes.flat, chosen, strict=False):
        image = panel.imshow(array[batch, h], vmin=0.0, vmax=1.0, cmap="viridis", aspect="auto", interpolation="none")
        _hatch(panel, masked[batch, h])
        panel.set_title(f"head {h}", fontsize="medium")
        if key_labels is not None:
            panel.set_xticks(range(len(key_labels)), key_labels, rotation=90, fontsize="small")
        if query_labels is not None:
            panel.set_yticks(range(len(query_labels)), query_labels, fontsize="small")
    for panel in axes.flat[len(chosen) :]:
        panel.set_axis_off()
    figure.supxlabel("key j")
    figure.supylabel("query i")
    if title:
        figure.suptitle(title)
    figure.colorbar(image, ax=axes, label="weight")
    return figure


def _hatch(panel: Any, cells: Array) -> None:
    """Hatches the cells of a heat map; a rectangle for each run of cells in a row, so that large masks stay quick."""
    from matplotlib.collections import PolyCollection

    # Where a run begins, and behind its end: in row order, as pairs.
    changes = np.diff(np.pad(cells.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    (rows, begins), (_, ends) = np.nonzero(changes == 1), np.nonzero(changes == -1)
    left, right, top, bottom = begins - 0.5, ends - 0.5, rows - 0.5, rows + 0.5
    corners = np.stack([left, top, right, top, right, bottom, left, bottom], axis=1).reshape(-1, 4, 2)
    panel.add_collection(
        PolyCollection(corners, facecolor="#f2f2f2", edgecolor="#888888", hatch="////", linewidth=0), autolim=False
    )


def count_tiles(kept: npt.ArrayLike, tile: tuple[int, int]) -> tuple[Array, TileCounts]:
    """Which tiles of one (Sq, Sk) predicate are skipped (0), partial (1) and full (2), and how many of each.

    Args:
      kept: bool (Sq, Sk), which keys each query keeps: `attn.reference.predicate(…)[b, h]`.
      tile: queries and keys of a tile; the last ones may be smaller.
    """
    predicate = np.asarray(kept, dtype=bool)
    if predicate.ndim != 2 or min(tile) < 1:
        raise ValueError(
            f"expected a predicate of rank 2 and a tile of at least 1 x 1, found {predicate.shape}, {tile}"
        )
    starts = [np.arange(0, size, step) for size, step in zip(predicate.shape, tile, strict=True)]
    kinds = np.zeros([len(x) for x in starts], dtype=np.int64)
    for at in np.ndindex(*kinds.shape):
        i, j = (x[n] for x, n in zip(starts, at, strict=True))
        block = predicate[i : i + tile[0], j : j + tile[1]]
        kinds[at] = FULL if block.all() else PARTIAL if block.any() else SKIPPED
    return kinds, TileCounts(*(int((kinds == kind).sum()) for kind in (SKIPPED, PARTIAL, FULL)))


def tiles(
    sq: int,
    sk: int,
    tile: tuple[int, int] = (64, 64),
    *,
    batch: int = 0,
    head: int = 0,
    b: int = 1,
    hq: int = 1,
    title: str = "",
    **structure: Any,
) -> Figure:
    """Draws which tiles of the score matrix are full, partial and skipped for a mask, and states how many.

    Args:
      sq, sk: the numbers of queries and keys.
      tile: queries and keys of a tile.
      batch, head: which score matrix of the b x hq is drawn.
      b, hq: batch and query heads, for masks that depend on them.
      title: a line above the picture; the counts stand below it.
      structure: causal, window, align, mask, q_lengths, kv_lengths, mask_mod as in `attn.sdpa`.

    Returns:
      The matplotlib figure.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError, TypeError: as `attn.sdpa`.
    """
    sizes = _checks.Sizes(b, hq, hq, sq, sk, 1, 1)
    kept = np.broadcast_to(reference.predicate(sizes, **structure), sizes.scores)[batch, head]
    kinds, counts = count_tiles(kept, tile)
    figure = _figure((2 * PANEL_INCHES + 1.4, 2 * PANEL_INCHES * min(max(sq / max(sk, 1), 0.4), 1.6) + 0.8))
    from matplotlib import colors, patches

    axes = figure.subplots()
    edges = [np.append(np.arange(0, size, step), size) for size, step in zip((sq, sk), tile, strict=True)]
    axes.pcolormesh(
        edges[1], edges[0], kinds, cmap=colors.ListedColormap(TILE_COLORS), vmin=0, vmax=2,
        edgecolors="white", linewidth=0.5,
    )  # fmt: skip
    axes.invert_yaxis()
    axes.set_xlabel("key j")
    axes.set_ylabel("query i")
    stated = ", ".join(f"{count} {name}" for name, count in zip(TILE_NAMES, counts, strict=True))
    axes.set_title("\n".join(x for x in (title, f"tiles of {tile[0]} x {tile[1]}: {stated}") if x), fontsize="medium")
    handles = [patches.Patch(color=color, label=name) for name, color in zip(TILE_NAMES, TILE_COLORS, strict=True)]
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return figure


def _figure(inches: tuple[float, float]) -> Any:
    """A figure of its own, which no window shows and no global state holds."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('expected matplotlib for attn.plot, found none; write pip install "attn[plot]"') from error
    return Figure(figsize=inches, layout="constrained")
