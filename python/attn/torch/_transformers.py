"""attn as an attention implementation of Hugging Face transformers."""

from __future__ import annotations

from typing import Any

import torch

from attn.torch import _causal_bias, _context, _continuous, _interface, _windows
from attn.torch._sdpa import sdpa
from attn.torch.parallel import _active


def register_transformers(name: str = "attn") -> str:
    """Registers attn with transformers, for every model whose attention is chosen by `attn_implementation`.

    After it, `AutoModel.from_pretrained(…, attn_implementation="attn")` and `model.set_attn_implementation("attn")` use
    the kernels of attn, forward and backward. Masks are those that transformers makes for "sdpa"; causal ones and
    windows are words of the kernel, and only inside of torch.compile matrices. A model whose attention does not ask the
    interface of transformers refuses the implementation by a ValueError, as is output_attentions=True: attn makes no
    matrix of weights. PyTorch's MultiheadAttention beside layers that ask it, as in pooling heads, computes without
    attn: a warning names it. `generate_batch` and `ContinuousBatchingManager` take it too: keys are read in the pages
    of transformers' cache.

    Layers of linear attention have no interface to ask. On a CPU attn is what they call in place of the functions of
    their own module: the gated delta rule (Qwen3-Next, Qwen3.5, OLMo hybrid), KDA (Kimi Linear) and Mamba-2 (also of
    Falcon-H1, Bamba, Granite 4, Nemotron-H, Zamba2). Their gradient is that of `attn.torch.linear_attention`;
    their convolutions and norms stay transformers'. On other devices they stay as they are.

    Args:
      name: what the implementation is called.

    Returns:
      The name.

    Raises:
      ImportError: transformers is not installed.
    """
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(name, _attention)
    AttentionMaskInterface.register(name, _mask)
    _interface.guard(name)
    return name


def _mask(*arguments: Any, **keywords: Any) -> torch.Tensor | None:
    """The mask that transformers makes for "sdpa": where words say it, a tensor without memory (`_windows.Predicate`).

    In a graph it is dense.
    """
    from transformers.masking_utils import sdpa_mask

    mask: torch.Tensor | None
    if _active.stack:
        _interface.check_caller()
        return _windows.of_whole(keywords, _active.settings().cu_seqlens is not None)
    if torch.compiler.is_compiling() or torch.jit.is_tracing() or arguments:
        mask = sdpa_mask(*arguments, **keywords)
    else:
        _interface.check_caller()
        # That rows are causal is the mask's to say: layers of models that do not take "sdpa" may say it wrongly.
        may_skip = keywords["q_length"] == 1 and keywords.get("allow_is_causal_skip", True)
        mask = _windows.predicate(sdpa_mask, keywords | {"allow_is_causal_skip": may_skip})
    return mask


def _refuse_weights(is_wanted: Any) -> None:
    """For the attention of a layer: transformers collects weights from what layers return, and would find none.

    Raises:
      ValueError: the model is called for its attentions.
    """
    if not is_wanted:
        try:
            from transformers.utils.output_capturing import _active_collector
        except ImportError:  # a version that asks each layer
            return
        collected = _active_collector.get()
        is_wanted = collected is not None and any("attentions" in name for name in collected)
    if is_wanted:
        raise ValueError(
            "expected a model without output_attentions=True, as attn makes no matrix of weights, found it; write "
            'model.set_attn_implementation("eager") for calls that return them'
        )


def _attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    position_bias: torch.Tensor | None = None,
    output_attentions: bool | None = None,
    attn_step: _continuous.Step | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """An attention function of transformers: q, k, v (B, H, S, D); returns out (B, S, H, Dv) and no weights.

    Args:
      module: the layer; its `is_causal` holds where the call says nothing.
      query, key, value, attention_mask, dropout, scaling: as in `sdpa`.
      is_causal: whether the layer is causal; a mask has it already, and one query sees every key.
      softcap: of Gemma.
      s_aux: sinks of gpt-oss, one a head.
      position_bias: floats that are added to the scores.
      output_attentions: refused where it is true.
      attn_step: of continuous batching, where the keys and values of all requests lie.

    Raises:
      ValueError: the model is called for its attentions.
    """
    _refuse_weights(output_attentions)
    if attn_step is not None:
        return _continuous.attend(query, key, value, attn_step, scale=scaling, softcap=softcap, sink=s_aux), None
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    # Without a mask and with a cache, the queries are the first of as many keys: that is what "sdpa" computes.
    is_first = causal and attention_mask is None and query.shape[2] > 1
    words: dict[str, Any] = {"attn_mask": attention_mask, "causal": "top_left" if is_first else None}
    if isinstance(attention_mask, _windows.Predicate):
        words = attention_mask.options(query, key) or {"attn_mask": attention_mask.dense()}
    if position_bias is not None and attention_mask is not None and not _causal_bias.is_one(attention_mask):
        _context.check(attention_mask=attention_mask, position_bias=position_bias)
        if attention_mask.is_floating_point():
            words["attn_mask"], position_bias = attention_mask + position_bias, None
    out = sdpa(
        query,
        key,
        value,
        dropout_p=dropout,
        scale=scaling,
        enable_gqa=True,
        bias=position_bias,
        sink=s_aux,
        softcap=softcap,
        **words,
    )
    return out.transpose(1, 2).contiguous(), None
