"""Pictures: what they show, counted; how they look is looked at in the examples."""

import sys

import numpy as np
import pytest

import attn
from attn import plot


def test_tiles_of_a_causal_mask():
    kept = np.tril(np.ones((8, 8), bool))
    kinds, counts = plot.count_tiles(kept, (2, 2))
    assert counts == plot.TileCounts(skipped=6, partial=4, full=6)
    np.testing.assert_array_equal(kinds, np.tril(np.full((4, 4), plot.FULL)) - np.eye(4, dtype=int))


def test_tiles_at_the_edges_may_be_smaller():
    _, counts = plot.count_tiles(np.ones((5, 7), bool), (4, 4))
    assert counts == plot.TileCounts(0, 0, 4)
    assert plot.count_tiles(np.ones((5, 0), bool), (4, 4))[1] == plot.TileCounts(0, 0, 0)
    with pytest.raises(ValueError, match="a tile of at least 1 x 1"):
        plot.count_tiles(np.ones((5, 7), bool), (0, 4))


def test_the_picture_of_tiles_states_the_counts(tmp_path):
    figure = plot.tiles(256, 256, (64, 64), causal="top_left", window=(100, 0), title="window")
    assert "tiles of 64 x 64: 7 skipped, 9 partial, 0 full" in figure.axes[0].get_title()
    figure.savefig(tmp_path / "tiles.png")
    assert (tmp_path / "tiles.png").stat().st_size > 1000


def test_tiles_of_a_mask_mod_of_one_head():
    def mod(b, h, i, j):
        return (j <= i) | (h == 0)

    assert "0 skipped, 0 partial, 4 full" in plot.tiles(64, 64, (32, 32), hq=2, mask_mod=mod).axes[0].get_title()
    assert "1 skipped, 2 partial" in plot.tiles(64, 64, (32, 32), hq=2, head=1, mask_mod=mod).axes[0].get_title()


def test_the_heat_map_has_a_panel_for_each_head(tmp_path, rng):
    weights = rng.random((2, 6, 5, 7))
    figure = plot.weights(weights, batch=1, title="six heads", key_labels=list("abcdefg"), query_labels=list("vwxyz"))
    shown = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title() for axes in shown] == [f"head {h}" for h in range(6)]
    np.testing.assert_array_equal(shown[4].images[0].get_array(), weights[1, 4])
    figure.savefig(tmp_path / "weights.png")
    assert len([axes for axes in plot.weights(weights, heads=[2]).axes if axes.images]) == 1


def hatched(figure, panel=0):
    """Which cells of a panel are hatched, by their centres."""
    axes = [x for x in figure.axes if x.images][panel]
    cells = np.zeros(axes.images[0].get_array().shape, int)
    (collection,) = [x for x in axes.collections if x.get_hatch()]
    for path in collection.get_paths():
        for i, j in np.ndindex(*cells.shape):
            cells[i, j] += path.contains_point((j, i))
    return cells


def test_masked_cells_are_hatched(rng, tmp_path):
    kept = rng.random((1, 2, 9, 11)) < 0.6
    kept[0, 0, 3], kept[0, 0, 5] = False, True
    weights = rng.random(kept.shape) * kept
    figure = plot.weights(weights)
    for head in range(2):
        np.testing.assert_array_equal(hatched(figure, head), ~kept[0, head])
    figure.savefig(tmp_path / "weights.png")
    causal = np.tril(np.ones((9, 11), bool))
    np.testing.assert_array_equal(hatched(plot.weights(weights, kept=causal), 1), ~causal)
    assert hatched(plot.weights(np.ones((1, 1, 3, 3)))).sum() == 0
    assert hatched(plot.weights(np.zeros((1, 1, 3, 3)))).sum() == 9
    with pytest.raises(ValueError, match=r"expected kept to broadcast to the weights, .* found shape \(5, 5\)"):
        plot.weights(weights, kept=np.ones((5, 5), bool))


def test_bad_weights():
    with pytest.raises(ValueError, match="weights of rank 4"):
        plot.weights(np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"a batch and heads of weights of shape \(1, 2, 3, 3\), found 0 and \[5\]"):
        plot.weights(np.zeros((1, 2, 3, 3)), heads=[5])


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for draw in (lambda: attn.plot.tiles(4, 4), lambda: attn.plot.weights(np.zeros((1, 1, 2, 2)))):
        with pytest.raises(ImportError, match=r'write pip install "attn\[plot\]"'):
            draw()
