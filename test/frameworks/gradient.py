"""The formulas of the gradients in NumPy, in float64 and materialised: what `attn.sdpa_backward` has to return."""

import numpy as np

from attn import _tensor, reference


def sdpa_backward(q, k, v, out, lse, dout, *, dlse=None, grad=("q", "k", "v"), dynamic=False, **options):
    arrays = {"q": q, "k": k, "v": v, "out": out, "lse": lse, "dout": dout, "dlse": dlse}
    arrays |= {x: options.get(x) for x in ("bias", "sink")}
    a = {n: np.asarray(_tensor.as_array(n, x), np.float64) for n, x in arrays.items() if x is not None}
    a |= {n: np.nan_to_num(a[n]) for n in ("q", "k", "v", "dout")}
    named = {n: (_tensor.as_array(n, x) if hasattr(x, "__dlpack__") else x) for n, x in options.items()}
    for n in ("bias", "sink"):
        if n in named:
            named[n] = a[n]
    traced = named.pop("score_mod", None)
    if traced is not None:
        raise NotImplementedError("functions")
    weights = reference.sdpa(a["q"], a["k"], a["v"], **{**named, "dropout": None}, return_weights=True)[1]
    dropped = reference.sdpa(a["q"], a["k"], a["v"], **named, return_weights=True)[1]
    with np.errstate(all="ignore"):
        z = np.where(weights > 0, dropped / weights, 0)
    group = a["q"].shape[1] // a["k"].shape[1]
    kk, vv = (np.repeat(a[n], group, axis=1) for n in "kv")
    scale = options.get("scale")
    scale = 1 / np.sqrt(a["q"].shape[-1]) if scale is None else scale
    delta = (a["dout"] * a["out"]).sum(-1)
    if "dlse" in a:
        delta = delta - np.where(np.isfinite(a["lse"]), a["dlse"], 0)
    dp = np.einsum("bhie,bhje->bhij", a["dout"], vv) * z
    ds = weights * (dp - delta[..., None])
    result = {}
    if "bias" in a:
        axes = tuple(n for n, size in enumerate(a["bias"].shape) if size == 1)
        result["bias"] = np.where(np.isneginf(a["bias"]), 0, ds.sum(axes, keepdims=True))
    if "sink" in a:
        with np.errstate(all="ignore"):
            p = np.where(np.isfinite(a["lse"]), np.exp(a["sink"][:, None] - a["lse"]), 0)
        result["sink"] = -(p * delta).sum((0, 2))
    if options.get("softcap"):
        t = np.einsum("bhid,bhjd->bhij", a["q"], kk) * scale
        ds = ds * (1 - np.tanh(t / options["softcap"]) ** 2)
    result["q"] = scale * np.einsum("bhij,bhjd->bhid", ds, kk)
    shape = (a["q"].shape[0], a["k"].shape[1], group, *a["k"].shape[2:])
    result["k"] = scale * np.einsum("bhij,bhid->bhjd", ds, a["q"]).reshape(shape).sum(2)
    result["v"] = np.einsum("bhij,bhie->bhje", dropped, a["dout"]).reshape(*shape[:-1], a["v"].shape[-1]).sum(2)
    like = {**dict(q=q, k=k, v=v), **{n: options[n] for n in ("bias", "sink") if n in options}}
    return {n: _tensor.like(result[n].astype(_tensor.as_array(n, like[n]).dtype), q) for n in grad}


def run_in_jax(run):
    """attn.jax._run, whose backward calls are what the function above returns."""
    import jax

    def call(what, *arrays):
        if not what.grad:
            return run(what, *arrays)
        named = what.named(arrays)
        out, lse, dout, *dlse = arrays[len(arrays) - 3 - what.has_dlse :]
        options = dict(what.options)

        def compute(given, results):
            given = dict(given)
            offsets = given.pop("offsets", None)
            words = {n: offsets if x == "offsets" else x for n, x in options.items() if n != "layout"}
            found = sdpa_backward(**given, **words, **results, grad=what.grad)
            return tuple(found[n] for n in what.grad)

        results = {"out": out, "lse": lse, "dout": dout} | ({"dlse": dlse[0]} if dlse else {})
        types = tuple(jax.ShapeDtypeStruct(named[n].shape, named[n].dtype) for n in what.grad)
        return jax.pure_callback(compute, types, named, results)

    return call
