"""Gradients of the reference against differences of its forward."""

import numpy as np

from attn import reference

STEP = 1e-5


def gradients_agree(q, k, v, *, of=("q", "k", "v", "scale"), captured=None, directions=2, seed=0, **options):
    """Compares <gradient, u> along random directions u with differences of fourth order of the loss.

    The loss has cotangents for out, lse and weights. `captured` has the arrays of score_mod, changed where they lie.
    """
    rng = np.random.default_rng(seed)
    captured = captured or {}
    scale = q.shape[-1] ** -0.5 if options.get("scale") is None else options["scale"]
    if options.get("layout") == "bsd":
        scale = (q.shape[-1] // options["heads"][0]) ** -0.5
    inputs = {"q": q, "k": k, "v": v, **options, "scale": scale}
    out, lse, weights = reference.sdpa(**inputs, return_lse=True, return_weights=True)
    dout, dlse, dweights = (rng.standard_normal(x.shape) for x in (out, lse, weights))
    of = [*of, *(x for x in ("bias", "sink", "softcap", "k_scale", "v_scale") if x in options), *captured]

    def loss(**changed):
        out, lse, weights = reference.sdpa(**{**inputs, **changed}, return_lse=True, return_weights=True)
        finite = lse != -np.inf
        return (dout * out).sum() + (dlse * np.where(finite, lse, 0)).sum() + (dweights * weights).sum()

    def along(name, u, step):
        if name not in captured:
            return loss(**{name: float(scale + step * u) if name == "scale" else inputs[name] + step * u})
        array = captured[name]
        before = array.copy()
        array += step * u
        found = loss()
        array[...] = before
        return found

    for given in ((out, lse), (None, None)):
        found = reference.sdpa_backward(
            q, k, v, *given, dout, dlse=dlse, dweights=dweights, grad=of,
            **{x: y for x, y in inputs.items() if x not in ("q", "k", "v")},
        )  # fmt: skip
        assert list(found) == list(of)
        for name in of:
            x = np.asarray(captured[name] if name in captured else inputs[name])
            assert found[name].shape == x.shape
            assert np.isfinite(found[name]).all(), name
            for _ in range(directions):
                u = rng.standard_normal(x.shape)
                low, high = (along(name, u, s * STEP) - along(name, u, -s * STEP) for s in (1, 2))
                np.testing.assert_allclose(
                    (found[name] * u).sum(), (8 * low - high) / (12 * STEP), rtol=1e-7, atol=1e-8, err_msg=name
                )
    return found
