"""The backends of examples/serving by stubs of the classes of vLLM and SGLang, which are not installed.

The stubs have the methods and fields that the engines declare, by name: vllm/v1/attention/backend.py, and of SGLang
srt/layers/attention/base_attn_backend.py, radix_attention.py, and what these read of a batch and its pools.
"""
# ruff: noqa: D102, D107 - methods are the engines'

import abc
import dataclasses
import enum
import importlib.util
import inspect
import sys
import types
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
T = TypeVar("T")


class AttentionBackend(abc.ABC):
    """Of vLLM."""

    supported_dtypes = [torch.float16, torch.bfloat16]  # noqa: RUF012

    @staticmethod
    @abc.abstractmethod
    def get_name(): ...

    @staticmethod
    @abc.abstractmethod
    def get_impl_cls(): ...

    @staticmethod
    @abc.abstractmethod
    def get_builder_cls(): ...

    @staticmethod
    @abc.abstractmethod
    def get_kv_cache_shape(num_blocks, block_size, num_kv_heads, head_size, cache_dtype_str="auto"): ...

    @classmethod
    def supports_sink(cls):
        return False


class AttentionMetadata:
    """Of vLLM."""


@dataclasses.dataclass
class CommonAttentionMetadata:
    """Of vLLM, what its engine fills."""

    query_start_loc: torch.Tensor
    query_start_loc_cpu: torch.Tensor
    seq_lens: torch.Tensor
    num_reqs: int
    num_actual_tokens: int
    max_query_len: int
    max_seq_len: int
    block_table_tensor: torch.Tensor
    slot_mapping: torch.Tensor
    causal: Any = True


class AttentionMetadataBuilder(abc.ABC, Generic[T]):
    """Of vLLM."""

    @abc.abstractmethod
    def __init__(self, kv_cache_spec, layer_names, vllm_config, device):
        self.kv_cache_spec, self.layer_names, self.vllm_config = kv_cache_spec, layer_names, vllm_config

    @abc.abstractmethod
    def build(self, common_prefix_len, common_attn_metadata, fast_build=False): ...


class AttentionImpl(abc.ABC, Generic[T]):
    """Of vLLM."""

    @abc.abstractmethod
    def __init__(
        self,
        num_heads,
        head_size,
        scale,
        num_kv_heads=None,
        alibi_slopes=None,
        sliding_window=None,
        kv_cache_dtype="auto",
        logits_soft_cap=None,
        attn_type="decoder",
        kv_sharing_target_layer_name=None,
    ): ...

    @abc.abstractmethod
    def forward(
        self, layer, query, key, value, kv_cache, attn_metadata, output, output_scale=None, output_block_scale=None
    ): ...


class SglangBackend(abc.ABC):
    """AttentionBackend of SGLang."""

    @abc.abstractmethod
    def init_forward_metadata(self, forward_batch): ...

    def forward(self, q, k, v, layer, forward_batch, save_kv_cache=True, **kwargs):
        if forward_batch.forward_mode.is_idle():
            return q.new_empty(q.shape[0], layer.tp_q_head_num * layer.v_head_dim)
        run = self.forward_decode if forward_batch.forward_mode.is_decode() else self.forward_extend
        return run(q, k, v, layer, forward_batch, save_kv_cache=save_kv_cache, **kwargs)

    def forward_decode(self, q, k, v, layer, forward_batch, save_kv_cache=True):
        raise NotImplementedError

    def forward_extend(self, q, k, v, layer, forward_batch, save_kv_cache=True):
        raise NotImplementedError


class ForwardMode(enum.Enum):
    """Of SGLang."""

    EXTEND, DECODE, IDLE = 1, 2, 3

    def is_idle(self):
        return self is ForwardMode.IDLE

    def is_decode(self):
        return self is ForwardMode.DECODE

    def is_decode_or_idle(self):
        return self is not ForwardMode.EXTEND


class AttentionType(enum.Enum):
    """Of SGLang."""

    DECODER, DECODER_BIDIRECTIONAL, ENCODER_ONLY = "decoder", "decoder_bidirectional", "encoder_only"


class TokenPool:
    """MHATokenToKVPool of SGLang: a page more than its size."""

    def __init__(self, layers, pages, page, heads, sizes):
        rows = (pages + 1) * page
        self.buffers = [[torch.full((rows, heads, x), torch.nan) for x in sizes] for _ in range(layers)]

    def get_kv_buffer(self, layer_id):
        return self.buffers[layer_id]

    def set_kv_buffer(self, layer, loc, cache_k, cache_v):
        for buffer, new in zip(self.buffers[layer.layer_id], (cache_k, cache_v), strict=True):
            buffer[loc] = new


STUBS = {
    "vllm.v1.attention.backend": {
        x.__name__: x for x in (AttentionBackend, AttentionImpl, AttentionMetadata, AttentionMetadataBuilder)
    },
    "sglang.srt.layers.attention.base_attn_backend": {"AttentionBackend": SglangBackend},
}


def load(path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, path.stem, module)  # dataclasses looks for it
        for name, members in STUBS.items():
            parts = name.split(".")
            for n in range(1, len(parts)):
                patch.setitem(sys.modules, ".".join(parts[:n]), types.ModuleType(parts[n - 1]))
            stub = types.ModuleType(name)
            vars(stub).update(members)
            patch.setitem(sys.modules, name, stub)
        specification.loader.exec_module(module)
    return module


vllm = load(ROOT / "examples/serving/vllm_backend.py")
sglang = load(ROOT / "examples/serving/sglang_backend.py")
serving = load(ROOT / "examples/python/serving.py")


class Vllm:
    """A cache of layers and the step of an engine, as vLLM makes them: with padded rows, slots and requests."""

    def __init__(self, layers, requests, longest, heads, key_heads, size, page=16, dtype=torch.float32, **options):
        backend = vllm.AttnBackend
        self.width, self.page = -(-longest // page), page
        pages = requests * self.width
        shape = backend.get_kv_cache_shape(pages, page, key_heads, size)
        self.caches = [torch.full(shape, torch.nan, dtype=dtype) for _ in range(layers)]
        self.tables = torch.randperm(pages, dtype=torch.int32).reshape(requests, self.width)
        self.builder = backend.get_builder_cls()(None, [], None, torch.device("cpu"))
        self.impl = backend.get_impl_cls()(heads, size, size**-0.5, key_heads, **options)
        self.causal = True

    def attend(self, which, counts, before):
        """As that of `serving.Paged`: counts[b] new tokens of request which[b], which has before[b] tokens."""
        tokens, starts = int(counts.sum()), [0, *counts.cumsum(0).tolist()]
        slots = [
            int(self.tables[r, j // self.page]) * self.page + j % self.page
            for r, n, old in zip(which.tolist(), counts.tolist(), before.tolist(), strict=True)
            for j in range(old, old + n)
        ]
        common = CommonAttentionMetadata(
            query_start_loc=torch.tensor([*starts, tokens, tokens], dtype=torch.int32),
            query_start_loc_cpu=torch.tensor(starts, dtype=torch.int32),
            seq_lens=torch.tensor([*(before + counts).tolist(), 0, 0], dtype=torch.int32),
            num_reqs=len(which),
            num_actual_tokens=tokens,
            max_query_len=int(counts.max()),
            max_seq_len=int((before + counts).max()),
            block_table_tensor=torch.cat([self.tables[which], torch.full((2, self.width), -1, dtype=torch.int32)]),
            slot_mapping=torch.tensor([*slots, -1, -1, -1]),
            causal=self.causal,
        )
        step = self.builder.build(0, common)

        def run(layer, q, k, v):
            q, k, v = (torch.cat([x, torch.full((3, *x.shape[1:]), torch.nan, dtype=x.dtype)]) for x in (q, k, v))
            out = torch.full_like(q, 7)
            assert self.impl.forward(None, q, k, v, self.caches[layer], step, out) is out
            assert (out[tokens:] == 7).all()
            return out[:tokens]

        return run


class Sglang:
    """The pools and the batch of an engine, as SGLang makes them."""

    def __init__(self, layers, requests, longest, heads, key_heads, size, page=16, sizes=None, sinks=None, **options):
        self.width, self.page = -(-longest // page) * page, page
        pages = requests * self.width // page
        order = 1 + torch.randperm(pages)  # page 0 is for padding
        slots = order[:, None] * page + torch.arange(page)
        pool = types.SimpleNamespace(req_to_token=slots.reshape(requests, self.width).to(torch.int32))
        self.pool, self.kv = pool, TokenPool(layers, pages, page, key_heads, sizes or (size, size))
        self.backend = sglang.AttnBackend(types.SimpleNamespace(page_size=page, req_to_token_pool=pool))
        given = {"logit_cap": 0.0, "sliding_window_size": -1, "attn_type": AttentionType.DECODER} | options
        fields = {"tp_q_head_num": heads, "qk_head_dim": size, "v_head_dim": (sizes or (size, size))[1]}
        fields |= {"scaling": size**-0.5, "is_cross_attention": False} | given
        self.layers = [types.SimpleNamespace(layer_id=n, **fields) for n in range(layers)]
        self.sinks = {} if sinks is None else {"sinks": sinks}

    def attend(self, which, counts, before):
        """As that of `serving.Paged`."""
        pairs = zip(which.tolist(), counts.tolist(), before.tolist(), strict=True)
        batch = types.SimpleNamespace(
            forward_mode=ForwardMode.DECODE if int(counts.max()) == 1 else ForwardMode.EXTEND,
            req_pool_indices=which,
            seq_lens=before + counts,
            seq_lens_cpu=before + counts,
            extend_seq_lens=counts.to(torch.int32),
            out_cache_loc=torch.cat([self.pool.req_to_token[r, old : old + n] for r, n, old in pairs]).long(),
            token_to_kv_pool=self.kv,
        )
        self.backend.init_forward_metadata(batch)

        def run(layer, q, k, v):
            out = self.backend.forward(q.flatten(1), k, v, self.layers[layer], batch, **self.sinks)
            return out.unflatten(1, (q.shape[1], -1))

        return run


@pytest.mark.parametrize("engine", [Vllm, Sglang])
@torch.inference_mode()
def test_the_mini_engine_generates_the_same_tokens(engine):
    """examples/python/serving.py: prompts in parts beside single tokens."""
    torch.manual_seed(0)
    model = serving.Llama().eval()
    prompts = [torch.randint(serving.VOCABULARY, (n,)) for n in (3, 300, 17, 120, 64, 1)]
    longest = 300 + 8
    expected = serving.serve(model, prompts, 8, serving.Contiguous(6, longest, torch.float32))
    made = engine(serving.LAYERS, 6, longest, serving.HEADS, serving.KV_HEADS, serving.SIZE)
    assert serving.serve(model, prompts, 8, made) == expected


HEADS, KEY_HEADS, SIZE = 4, 2, 24
SINKS, SLOPES = torch.tensor([1.0, -1.0, 0.5, 2.0]), [0.5, 0.25, 0.125, 0.0625]
STEPS = [  # requests, new tokens, and tokens before
    ([0, 2], [40, 1], [0, 0]),
    ([1, 0, 2], [13, 1, 7], [0, 40, 1]),
    ([0, 1, 2], [1, 1, 1], [41, 13, 8]),
]


def expected(q, k, v, window=None, softcap=None, sinks=None, slopes=None, causal=True):
    """Of one request in f64: q are the last of its rows."""
    q, k, v = (x.double().transpose(0, 1) for x in (q, *(x.repeat_interleave(2, 1) for x in (k, v))))
    scores = q @ k.mT * q.shape[-1] ** -0.5
    scores = scores if softcap is None else softcap * (scores / softcap).tanh()
    distance = torch.arange(k.shape[1]) - (torch.arange(q.shape[1])[:, None] + k.shape[1] - q.shape[1])
    if slopes is not None:
        scores = scores + torch.tensor(slopes)[:, None, None] * distance
    removed = (distance > 0) & (causal or window is not None)
    scores = scores.masked_fill(removed if window is None else removed | (distance <= -window), -torch.inf)
    if sinks is not None:
        scores = torch.cat([scores, sinks.double()[:, None, None].expand(-1, scores.shape[1], 1)], -1)
        v = torch.cat([v, torch.zeros_like(v[:, :1])], 1)
    return (scores.softmax(-1) @ v).transpose(0, 1)


def check(engine, value_size=SIZE, **options):
    torch.manual_seed(0)
    seen = {r: (torch.zeros(0, KEY_HEADS, SIZE), torch.zeros(0, KEY_HEADS, value_size)) for r in range(3)}
    for which, counts, before in STEPS:
        total = sum(counts)
        q, k = torch.randn(total, HEADS, SIZE), torch.randn(total, KEY_HEADS, SIZE)
        v = torch.randn(total, KEY_HEADS, value_size)
        run = engine.attend(*map(torch.tensor, (which, counts, before)))
        wanted = []
        for r, *rows in zip(which, *(x.split(counts) for x in (q, k, v)), strict=True):
            seen[r] = tuple(torch.cat(x) for x in zip(seen[r], rows[1:], strict=True))
            wanted.append(expected(rows[0], *seen[r], **options))
        torch.testing.assert_close(run(0, q, k, v).double(), torch.cat(wanted), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("page", [1, 7, 16])
@pytest.mark.parametrize(
    ("given", "means"),
    [
        ({}, {}),
        ({"sliding_window": 5}, {"window": 5}),
        ({"logits_soft_cap": 0.7, "sinks": SINKS}, {"softcap": 0.7, "sinks": SINKS}),
        ({"alibi_slopes": SLOPES}, {"slopes": SLOPES}),
    ],
    ids=["plain", "window", "softcap and sinks", "ALiBi"],
)
def test_options_of_vllm(given, means, page):
    check(Vllm(1, 3, 50, HEADS, KEY_HEADS, SIZE, page=page, **given), **means)


@pytest.mark.parametrize("page", [1, 7, 16])
@pytest.mark.parametrize(
    ("given", "means"),
    [
        ({}, {}),
        ({"sliding_window_size": 4}, {"window": 5}),  # keys before a query's own
        ({"logit_cap": 0.7, "sinks": SINKS}, {"softcap": 0.7, "sinks": SINKS}),
        ({"attn_type": AttentionType.ENCODER_ONLY}, {"causal": False}),
        ({"attn_type": AttentionType.ENCODER_ONLY, "sliding_window_size": 4}, {"causal": False, "window": 5}),
    ],
    ids=["plain", "window", "softcap and sinks", "encoder", "encoder's window"],
)
def test_options_of_sglang(given, means, page):
    check(Sglang(1, 3, 50, HEADS, KEY_HEADS, SIZE, page=page, **given), **means)


def test_values_of_another_size_in_sglang():
    check(Sglang(1, 3, 50, HEADS, KEY_HEADS, SIZE, sizes=(SIZE, 40)), value_size=40)


@pytest.mark.parametrize("window", [None, 5])
def test_steps_of_vllm_that_are_not_causal(window):
    engine = Vllm(1, 3, 50, HEADS, KEY_HEADS, SIZE, sliding_window=window)
    engine.causal = False
    check(engine, causal=False, window=window)


def test_layers_of_vllm_that_share_a_cache_and_runs_that_measure():
    engine = Vllm(1, 3, 50, HEADS, KEY_HEADS, SIZE)
    q, k = torch.randn(5, HEADS, SIZE), torch.randn(5, KEY_HEADS, SIZE)
    arguments = torch.tensor([1]), torch.tensor([5]), torch.tensor([0])
    first = engine.attend(*arguments)(0, q, k, k)
    cache = engine.caches[0].clone()
    engine.impl = vllm.AttnImpl(HEADS, SIZE, SIZE**-0.5, KEY_HEADS, kv_sharing_target_layer_name="another")
    torch.testing.assert_close(engine.attend(*arguments)(0, q, k + 1, k + 1), first)
    torch.testing.assert_close(engine.caches[0], cache, equal_nan=True)
    assert (engine.impl.forward(None, q, k, k, torch.empty(0), None, torch.full_like(q, 3)) == 0).all()
    with pytest.raises(NotImplementedError, match="attn writes no quantised output"):
        engine.impl.forward(None, q, k, k, cache, None, q, output_scale=SINKS)


@pytest.mark.parametrize(
    ("made", "declared"),
    [
        (vllm.AttnBackend, AttentionBackend),
        (vllm.AttnImpl, AttentionImpl),
        (vllm.AttnMetadataBuilder, AttentionMetadataBuilder),
        (sglang.AttnBackend, SglangBackend),
    ],
)
def test_methods_take_what_the_engines_give(made, declared):
    """The parameters of each that an engine declares come first, by name."""
    assert not inspect.isabstract(made)
    for name in ("get_kv_cache_shape", "__init__", "build", "forward", "forward_extend", "forward_decode"):
        if name in vars(declared):
            wanted, found = (list(inspect.signature(getattr(x, name)).parameters) for x in (declared, made))
            assert found[: len(wanted)] == wanted
