"""The worked examples with their numbers, on every path (paths.py)."""

import numpy as np
import pytest

from attn import reference
from paths import PATHS

on_every_path = pytest.mark.parametrize("sdpa", PATHS.values(), ids=PATHS)


@on_every_path
def test_one_query(sdpa):
    q = np.array([[[[0.1, 0.2, 0.3, 0.4]]]])
    k = np.array([[[[0, 0.1, 0, 0.1], [0.2, 0.1, 0, 0], [0.1, 0, 0.3, 0.1]]]])
    v = np.array([[[[1.0, 0], [0, 1], [1, 1]]]])
    np.testing.assert_allclose(sdpa(q, k, v)[0, 0, 0], [0.673344, 0.670061], atol=5e-7)


@on_every_path
def test_causal_four_by_four(sdpa):
    i = np.arange(1, 5)[:, None]
    q = 0.1 * i + 0.01 * np.arange(1, 4)
    k = 0.05 * i + 0.02 * np.arange(1, 4)
    v = 0.2 * i + 0.1 * np.arange(2)
    out = sdpa(*(x[None, None] for x in (q, k, v)), causal="top_left")
    expected = [[0.2, 0.3], [0.300953, 0.400953], [0.403695, 0.503695], [0.509090, 0.609090]]
    np.testing.assert_allclose(out[0, 0], expected, atol=5e-7)


@on_every_path
def test_multi_head(sdpa):
    i, j = np.arange(1, 9)[:, None], np.arange(1, 9)
    x = 0.01 * i[:5] + 0.02 * j
    w_q, w_k, w_v, w_o = (base + 0.001 * i + 0.0001 * j for base in (0.05, 0.04, 0.03, 0.02))
    expected = [0.006773, 0.006800, 0.006828, 0.006855, 0.006883, 0.006910, 0.006938, 0.006965]
    # The projections, (S, 8), as two heads of four: (1, 2, S, 4); and back.
    q, k, v = ((x @ w).reshape(1, 5, 2, 4).swapaxes(1, 2).copy() for w in (w_q, w_k, w_v))
    out = sdpa(q, k, v).swapaxes(1, 2).reshape(5, 8) @ w_o
    np.testing.assert_allclose(out[0], expected, atol=5e-7)
    np.testing.assert_allclose(out, reference.multi_head(x[None], w_q, w_k, w_v, w_o, heads=2)[0], atol=1e-12)


SCORES = {
    0: ([2.75, -8.12, -7.71, 1.17, 2.54], [1, 0, 0, 0, 0]),
    1: ([12.48, -7.92, 3.38, -2.43, 7.11], [0.928, 0.072, 0, 0, 0]),
    4: ([-6.87, 10.78, -8.21, -6.12, 1.18], [0.068, 0.615, 0.057, 0.074, 0.185]),
}


@on_every_path
@pytest.mark.parametrize("row", SCORES)
def test_causal_softmax_on_given_scores(sdpa, row):
    # D = 64: the query picks the scores out of the keys' first component; V = I returns the weights.
    scores, expected = SCORES[row]
    q, k = np.zeros((1, 1, 5, 64)), np.zeros((1, 1, 5, 64))
    q[..., 0], k[0, 0, :, 0] = 1.0, scores
    out = sdpa(q, k, np.eye(5)[None, None], causal="top_left")
    np.testing.assert_allclose(out[0, 0, row], expected, atol=6e-4)
