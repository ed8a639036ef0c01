"""Keywords that functions of `attn.torch` do not have: refused on every road, with what to write instead.

As test/python/test_mistakes.py, of what needs PyTorch.
"""

import inspect
import re

import pytest
import torch
import torch.distributed as dist

import attn.torch as at
from attn.words import _keywords, _words

X = torch.zeros(1, 2, 8, 4)
ROWS = X[0].transpose(0, 1)
SUMS = torch.tensor([0, 8], dtype=torch.int32)
CACHE, TABLE, LENGTHS = torch.zeros(2, 4, 2, 4), torch.tensor([[1, 0]]).int(), torch.tensor([8]).int()


def nested():
    return torch.nested.nested_tensor([X[0, 0]] * 2, layout=torch.jagged)


def shared(call):
    """The call inside of the context."""

    def run(**options):
        with at.context_parallel():
            return call(**options)

    return run


# The roads that a call takes, by the function that they are of.
ROADS = {
    "sdpa": lambda **x: at.sdpa(X, X, X, **x),
    "sdpa of nested": lambda **x: at.sdpa(*[nested()] * 3, **x),
    "sdpa on ranks": shared(lambda **x: at.sdpa(X, X, X, **x)),
    "sdpa in a graph": lambda **x: torch.compile(lambda y: at.sdpa(y, y, y, **x), backend="eager")(X),
    "sdpa of fx": lambda **x: torch.fx.symbolic_trace(lambda y: at.sdpa(y, y, y, **x)),
    "flex_attention": lambda **x: at.flex_attention(X, X, X, **x),
    "flex_attention on ranks": shared(lambda **x: at.flex_attention(X, X, X, **x)),
    "varlen_sdpa": lambda **x: at.varlen_sdpa(ROWS, ROWS, ROWS, SUMS, SUMS, **x),
    "varlen_sdpa on ranks": shared(lambda **x: at.varlen_sdpa(ROWS, ROWS, ROWS, SUMS, SUMS, **x)),
    "paged_sdpa": lambda **x: at.paged_sdpa(ROWS, CACHE, CACHE, TABLE, LENGTHS, cu_seqlens_q=SUMS, **x),
    "paged_sdpa of 16 bits": lambda **x: at.paged_sdpa(
        ROWS.bfloat16(), CACHE.bfloat16(), CACHE.bfloat16(), TABLE, LENGTHS, cu_seqlens_q=SUMS, **x
    ),
    "paged_sdpa, dense": lambda **x: at.paged_sdpa(X, CACHE, CACHE, TABLE, LENGTHS, **x),
    "sharded_sdpa": lambda **x: at.sharded_sdpa(X, X, X, **x),
}
SLOW = ("sdpa in a graph", "sdpa of nested")  # of which a few keywords are asked
OWN = (
    "query",
    "key",
    "value",
    *_keywords.HOMES["attn.torch.sdpa"],
    "block_mask",
    "cu_seqlens",
    "kv_indptr",
    "kv_indices",
)  # of one of them


@pytest.fixture(scope="module", autouse=True)
def one_rank():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def refusal(road, keyword, value=None):
    with pytest.raises(TypeError) as found:
        ROADS[road](**{keyword: value})
    return str(found.value)


@pytest.mark.parametrize("road", ROADS)
def test_each_keyword_of_others_is_answered(road):
    name = re.match(r"\w+", road)[0]
    keywords = {x for x in _keywords.OTHERS if x not in OWN} - set(inspect.signature(getattr(at, name)).parameters)
    keywords = sorted(keywords)
    for keyword in keywords[::20] if road in SLOW else keywords:
        wanted = rf"attn\.torch\.{name}\(\) has no keyword '{keyword}'; (write \w|attn\.[\w.]+ has \w)"
        assert re.search(wanted, refusal(road, keyword))


@pytest.mark.parametrize("road", ROADS)
def test_keywords_that_nobody_has(road):
    for keyword, value in {"foo": 1, "windw": (3, 0), "return_weights": True, "into": None}.items():
        assert f"() has no keyword {keyword!r}; " in refusal(road, keyword, value)


REFUSED_ON_RANKS = {
    "return_max": True,
    "dynamic": False,
    "q_lengths": LENGTHS,
    "kv_lengths": LENGTHS,
    "bias": X[:, :1, :, :1],
    "attn_mask": torch.ones(8, 8).bool(),
}


@pytest.mark.parametrize("keyword", REFUSED_ON_RANKS)
def test_keywords_that_ranks_do_not_have(keyword):
    with pytest.raises(ValueError, match=rf"expected no {keyword} in a sequence on several ranks, found it; \w"):
        ROADS["sdpa on ranks"](**{keyword: REFUSED_ON_RANKS[keyword]})


def test_a_word_of_the_table_that_ranks_do_not_have(monkeypatch):
    """As one that is added tomorrow."""
    monkeypatch.setitem(_words.FORMS, "dilate", "Integer")
    message = "expected no dilate in a sequence on several ranks, found it; leave it out"
    for road in ("sdpa on ranks", "varlen_sdpa on ranks", "sharded_sdpa"):
        with pytest.raises(ValueError, match=message):
            ROADS[road](dilate=2)


WRONG_ON_RANKS = {
    "causal twice": (dict(is_causal=True, causal="top_left"), ValueError, "expected is_causal without causal"),
    "align of nothing": (dict(align="bottom_right"), ValueError, "expected align only for a window or chunk without"),
    "align twice": (dict(is_causal=True, window=(3, 0), align="top_left"), ValueError, "expected align only for"),
    "window": (dict(window=4), ValueError, r"expected window to be a pair \(left, right\), found 4"),
    "no bounds": (dict(window=()), ValueError, r"expected window to be a pair \(left, right\), found \(\)"),
    "softcap": (dict(softcap=-1.0), ValueError, "expected softcap > 0, found -1.0"),
    "bool": (dict(causal=True), TypeError, "expected causal to say its alignment, found True"),
    "word": (dict(causal="middle"), ValueError, 'expected causal to be "top_left", "bottom_right" or offsets'),
    "offsets": (dict(causal=torch.tensor([1])), ValueError, "found offsets; write window"),
}


@pytest.mark.parametrize("name", WRONG_ON_RANKS)
def test_values_that_are_wrong_on_ranks(name):
    options, error, message = WRONG_ON_RANKS[name]
    with pytest.raises(error, match=message):
        ROADS["sdpa on ranks"](**options)
