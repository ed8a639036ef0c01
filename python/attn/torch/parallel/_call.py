"""`attn.torch.sharded_sdpa`: attention of a sequence whose rows and keys are on several ranks."""

from __future__ import annotations

import itertools
import sys
from typing import Any, NamedTuple, Unpack

import torch

from attn.call import _checks
from attn.torch import _broadcast, _context
from attn.torch.parallel import _blocks, _keys, _layout, _ordered, _positions, _ulysses
from attn.torch.parallel._group import Group
from attn.torch.parallel._layout import Layout, Mask
from attn.words import _signatures, _words
from attn.words._words import Words

Tensor = torch.Tensor
METHODS = ("allgather", "ring", "ulysses")
BLOCKS = 8  # of ordered=True
# The keywords of `attn.torch.sdpa` that mean there what they mean outside; any other is refused, none is dropped.
TAKEN = frozenset({"is_causal", "causal", "align", "window", "chunk", "prefix", "softcap", "score_mod", "mask_mod"})
TAKEN |= {"dropout_p", "scale", "sink", "enable_gqa", "return_lse"}
# What to write for those that shards do not have.
ADVICE = {
    "attn_mask": "write is_causal, window, cu_seqlens or mask_mod, which count from the start of the whole",
    "bias": "write score_mod, which counts from the start of the whole, or attention on one rank",
    "q_lengths": "write cu_seqlens",
    "kv_lengths": "write cu_seqlens",
    "return_max": "write return_lse",
    "dynamic": "leave it out: which kernels have open sizes follows from the layout, on all ranks alike",
}


class Settings(NamedTuple):
    """How ranks share attention.

    Attributes:
      given: the mesh or the process group.
      layout: as in `layout_of`.
      ordered: the number of blocks; 0 for results in the order in which they come.
      cu_seqlens: of packed documents of the whole.
    """

    given: Any
    method: str = "allgather"
    layout: str | Tensor = "zigzag"
    ordered: int = 0
    cu_seqlens: tuple[int, ...] | None = None


def settings(given: Any, method: str, layout: str | Tensor, ordered: bool | int, cu_seqlens: Any) -> Settings:
    """The settings, checked as far as one rank can."""
    if method not in METHODS:
        raise ValueError(f"expected method to be one of {', '.join(METHODS)}, found {method!r}")
    if isinstance(ordered, bool):
        ordered = BLOCKS if ordered else 0
    starts = None
    if cu_seqlens is not None:
        starts = tuple(int(x) for x in (cu_seqlens.tolist() if hasattr(cu_seqlens, "tolist") else cu_seqlens))
        if not starts or starts[0] != 0 or any(a > b for a, b in itertools.pairwise(starts)):
            raise ValueError(f"expected cu_seqlens to rise from 0 to the length of the whole, found {list(starts)}")
    return Settings(given, method, layout, ordered, starts)


class _Plan(NamedTuple):
    group: Group
    layout: Layout
    method: str
    ordered: int
    mask: Mask
    scale: float | None
    softcap: float | None
    chunk: int | None = None
    functions: tuple[str, ...] = ()
    dropout: float = 0.0

    def kernels(self, sink: Tensor | None, positions: _positions.Positions | None = None) -> _blocks.Kernels:
        dynamic = True if self.mask.starts is not None else positions is None if self.ordered else None
        return _blocks.Kernels(self.mask, self.scale, self.softcap, sink, dynamic, positions)

    def stream(self, k: Tensor, v: Tensor) -> Any:
        return _keys.KEYS[self.method](self.group, self.layout, k, v)


def sharded_sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mesh: Any = None,
    *,
    method: str = "allgather",
    layout: str | Tensor = "zigzag",
    ordered: bool | int = False,
    is_causal: bool = False,
    cu_seqlens: Any = None,
    score_mod: Any = None,
    mask_mod: Any = None,
    dropout_p: float = 0.0,
    scale: float | None = None,
    sink: Tensor | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    **words: Unpack[Words],
) -> Tensor | tuple[Tensor, Tensor]:
    """Attention of a sequence whose rows are on several ranks, with gradients: each has its rows of q, k, v and out.

    All ranks call it alike. What masks say counts from the start of the whole sequence of S = n · rows tokens.

    Args:
      query, key, value: (B, Hq, S/n, D), (B, Hkv, S/n, D), (B, Hkv, S/n, Dv), the rank's rows, of one float type.
      mesh: a DeviceMesh of one dimension or a process group; None for all ranks.
      method: "allgather": every rank gathers all keys and values. "ring": they travel, a shard at a time, while kernels
        run. "ulysses": rows of some heads are gathered; ranks divide the heads.
      layout: which rows a rank has: "zigzag", one block from the front and one from the back, as torch's
        context_parallel has them; "contiguous"; or a permutation (S,) of the rows in the order of the ranks.
      ordered: True, or a number of blocks: out and all gradients have the same bits on any number
        of ranks. Kernels then run for pairs of blocks, 8 for True, whose results are joined in one tree.
      is_causal: a query sees the keys j ≤ i.
      cu_seqlens: (documents + 1,) prefix sums of the lengths of packed documents of the whole; the batch is 1.
      score_mod, mask_mod: as in `attn.torch.sdpa`, the same on all ranks: i and j are positions of the whole, and
        tensors that they read are those of the whole, without gradient. Not with "ulysses".
      dropout_p: how many weights are dropped, drawn from rank 0's generator of PyTorch: those that one rank would drop.
        Not with "ulysses".
      scale, enable_gqa: as in `attn.torch.sdpa`.
      sink: (Hq,) floats, the same on all ranks. Its gradient is the part of this rank's rows (ulysses: heads): the sum
        over ranks is the whole, as of other parameters. With ordered rank 0 has all of it, and others have 0.
      return_lse: return lse (B, Hq, S/n) too; it has a gradient.
      window, chunk, prefix, softcap: as in `attn.sdpa`; prefix beside is_causal, window or chunk.

    Returns:
      out (B, Hq, S/n, Dv), or (out, lse).

    Raises:
      TypeError, ValueError: an argument that shards do not have, or sizes that ranks do not divide.
      RuntimeError: ranks make other calls. Which errors there are is agreed on before anything is sent, by one exchange
        at the first call of its kind, so that each rank has one.
    """
    if words:
        _signatures.words("attn.torch.sharded_sdpa", sharded_sdpa, words)
    chosen = settings(mesh, method, layout, ordered, cu_seqlens)
    options = {"is_causal": is_causal, "scale": scale, "sink": sink, **words}
    options |= {"score_mod": score_mod, "mask_mod": mask_mod, "dropout_p": dropout_p}
    return run(chosen, query, key, value, options | {"enable_gqa": enable_gqa}, return_lse)


def run(
    chosen: Settings, query: Tensor, key: Tensor, value: Tensor, options: dict[str, Any], return_lse: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """The call with the keywords of `attn.torch.sdpa`; it is not compiled.

    Where nothing has imported PyTorch's compiler, which takes 1.5 s, this does not either.
    """
    is_compiler_there = torch.compiler.is_compiling() or "torch._dynamo" in sys.modules
    function = _run_eagerly if is_compiler_there else _run
    return function(chosen, query, key, value, options, return_lse)


def _run(
    chosen: Settings, query: Tensor, key: Tensor, value: Tensor, options: dict[str, Any], return_lse: bool
) -> Tensor | tuple[Tensor, Tensor]:
    group = Group(chosen.given)
    plan, error = None, None
    sink = options.get("sink")
    try:
        query, key, value = _autocast(query, key, value)
        plan = _plan(group, chosen, query, key, value, options)
    except (TypeError, ValueError, RuntimeError) as found:
        error = found
    shapes = [(tuple(x.shape), str(x.dtype)) for x in (query, key, value) if isinstance(x, Tensor)]
    needs = [x.requires_grad for x in (query, key, value, sink) if isinstance(x, Tensor)] + [torch.is_grad_enabled()]
    what = (*shapes, *needs, *(plan[1:] if plan else ()), sink is None)
    group.agree(what, error)
    assert plan is not None
    with torch.autocast(query.device.type, enabled=False):
        if plan.method == "ulysses":
            out, lse = _ulysses.sdpa(plan, query, key, value, sink)
        else:
            positions = _positions.positions_of(group, plan.layout, options, query.device)
            out, lse = _Sharded.apply(plan, positions, query, key, value, sink)
    return (out, lse) if return_lse else out


# As torch.compiler.disable, which would import the compiler here.
_run_eagerly = torch._disable_dynamo(_run)


def _autocast(*tensors: Tensor) -> list[Tensor]:
    """The tensors in the type of autocast; float64 stays."""
    kind = tensors[0].device.type
    if not torch.is_autocast_enabled(kind):
        return list(tensors)
    wanted = torch.get_autocast_dtype(kind)
    return [x if x.dtype == torch.float64 else x.to(wanted) for x in tensors]


def _plan(group: Group, chosen: Settings, q: Tensor, k: Tensor, v: Tensor, options: dict[str, Any]) -> _Plan:
    for name, x in {"query": q, "key": k, "value": v}.items():
        if x.dim() != 4 or x.is_nested:
            raise ValueError(f"expected {name} of rank 4 (B, H, rows of the rank, D), found shape {tuple(x.shape)}")
    _context.check(query=q, key=k, value=v, **options)
    if not q.shape[2] == k.shape[2] == v.shape[2] or q.shape[0] != k.shape[0]:
        raise ValueError(
            f"expected the same rows of query, key and value on a rank, found shapes {tuple(q.shape)}, "
            f"{tuple(k.shape)}, {tuple(v.shape)}; attention to other sequences, caches and padding have no shards"
        )
    _broadcast.check_heads(q.shape[1], k.shape[1], bool(options.get("enable_gqa")))
    for name, given in options.items():
        if name not in TAKEN and given is not None and (given is not False or name == "dynamic"):
            advice = ADVICE.get(name, "leave it out, or write attention on one rank")
            raise ValueError(f"expected no {name} in a sequence on several ranks, found it; {advice}")
    words = _checks.words({name: options.get(name) for name in _words.FORMS})
    is_causal = _is_causal(options, words, q.shape[0])
    length = q.shape[2] * group.size
    layout = _layout.layout_of(chosen.layout, length, group.size)
    starts = chosen.cu_seqlens
    if starts is not None and (starts[-1] != length or q.shape[0] != 1):
        raise ValueError(
            f"expected cu_seqlens to end at the {length} rows of the whole and a batch of 1, found {starts[-1]} and a "
            f"batch of {q.shape[0]}"
        )
    left, right = words.get("window", (None, None))
    chunk, prefix, dropout = words.get("chunk"), words.get("prefix"), float(options.get("dropout_p") or 0.0)
    if prefix is not None and not is_causal and _checks.placed(words) is None:
        raise ValueError("expected prefix beside causal, window or chunk, found it alone; leave it out")
    if dropout:
        _checks.dropout((dropout, 0, 0))
    _positions.check(chosen.method, q, k, options, starts)
    functions = tuple(name for name in _positions.FUNCTIONS if options.get(name) is not None)
    mask = Mask(is_causal, left, right, starts, prefix or 0)
    if chosen.method == "ulysses":
        _ulysses.heads_of(q.shape[1], k.shape[1], group.size)
        if chosen.ordered and k.shape[1] % group.size:
            raise ValueError(
                f'expected ordered with method="ulysses" on ranks that divide the key heads, found {group.size} ranks '
                f'and {k.shape[1]} heads; write method="ring"'
            )
    elif chosen.ordered:
        layout = _ordered.layout_of(layout, chosen.ordered)
    elif (
        mask.is_full and chosen.method == "ring" and not (chunk or functions or dropout)
    ):  # no order of the rows matters: one call a step
        n = q.shape[2]
        layout = Layout(tuple(((r * n, n),) for r in range(group.size)))
    own = (options.get("scale"), words.get("softcap"), chunk, functions, dropout)
    return _Plan(group, layout, chosen.method, chosen.ordered, mask, *own)


def _is_causal(options: dict[str, Any], words: dict[str, Any], batch: int) -> bool:
    """Whether rows see no later keys; of as many rows as keys every alignment is one.

    Raises:
      TypeError, ValueError: an alignment is none, or is there without what it is of; or there are offsets.
    """
    causal, align = options.get("causal"), options.get("align")
    for name, given in (("causal", causal), ("align", align)):
        if given is not None and not isinstance(given, str | bool):
            raise ValueError(
                f'expected {name} to be "top_left" or "bottom_right" in a sequence on several ranks, found offsets; '
                "write window, which counts from the start of the whole"
            )
        _checks.alignment(name, given, batch)
    is_causal = bool(options.get("is_causal")) or causal is not None
    _checks.placement(is_causal or None, align, words, are_lengths_equal=True)
    return is_causal


class _Sharded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plan: _Plan, positions: Any, q: Tensor, k: Tensor, v: Tensor, sink: Tensor | None) -> Any:
        mine, stream, kernels = plan.layout.segments[plan.group.rank], plan.stream(k, v), plan.kernels(sink, positions)
        if plan.ordered:
            state = _ordered.forward(plan.group, plan.layout, stream, kernels, q, plan.ordered)
        else:
            state = _keys.forward(stream, kernels, mine, q)
        ctx.save_for_backward(q, k, v, sink, state.out.to(q.dtype), state.max, state.log_sum)
        ctx.plan, ctx.positions = plan, positions
        ctx.set_materialize_grads(False)
        return state.out.to(q.dtype), state.lse

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        plan = ctx.plan
        q, k, v, sink, *saved = ctx.saved_tensors
        state = _blocks.State(*saved)
        dout, dlse = grads
        rows = _blocks.Rows(q, state, torch.zeros_like(state.out) if dout is None else dout, dlse)
        mine, stream = plan.layout.segments[plan.group.rank], plan.stream(k, v)
        kernels = plan.kernels(sink, ctx.positions)
        if plan.ordered:
            found = _ordered.backward(plan.group, plan.layout, stream, kernels, rows, plan.ordered)
        else:
            found = _keys.backward(stream, kernels, mine, rows)
        found = [x.to(of.dtype) for x, of in zip(found, (q, k, v, sink), strict=False)]
        return None, None, *found, *([None] if sink is None else [])
