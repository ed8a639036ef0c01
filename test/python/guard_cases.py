"""What runs between guard pages: for each target the same problems in all types, as functions by name.

Shapes, types and features meet by turns: their counts have no common divisor, so that each pair of two of them is met.
"""

import functools
import itertools

import ml_dtypes
import numpy as np

import attn
import decode_cases
import test_positions
from features import ALTERNATIVES, FEATURES, make, quantise
from helpers import Shape, draw
from test_paged import Pages

TARGETS = ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "host"]
TYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f64": np.float64, "f16": np.float16}
KINDS = (np.int8, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)
# Odd, so that with four types each shape meets each type, and five targets meet them at different features.
SHAPES = [
    Shape(113, 203, 64, 64, hq=2, hkv=1),
    Shape(1, 1, 59, 59),
    Shape(113, 203, 40, 59, b=2, hq=2, hkv=2),
    Shape(1, 203, 128, 128, hq=4, hkv=1),
    Shape(33, 31, 111, 128, b=2),
    Shape(5, 0, 64, 40),
    Shape(31, 65, 128, 111, hq=3, hkv=3),
    Shape(3, 129, 64, 64, b=2, hq=4, hkv=2),
    Shape(64, 64, 1, 3),
]
PROBLEMS, DECODERS = 8, 3  # a target
FEATURES_OF_A_PROBLEM = 3
PAGES = [1, 16, 48, 128]
VARLEN = [0, 40, 40, 41, 113], [0, 25, 60, 125, 203]


def cases_of(target: str) -> dict[str, functools.partial]:
    """The cases of one target by name."""
    start = TARGETS.index(target)
    indices = range(start * PROBLEMS, (start + 1) * PROBLEMS)
    cases = dict(dense(target, index) for index in indices)
    cases |= dict(
        paged(target, page, TYPES_BY_TURNS[start + i], sq=5 if (start + i) % 2 else 1) for i, page in enumerate(PAGES)
    )
    cases |= dict([packed(target, TYPES_BY_TURNS[start])])
    cases |= dict(decode(target, DECODERS * start + i) for i in range(DECODERS))
    cases |= {"pairs": functools.partial(pairs, target)}
    cases |= {"quantised": functools.partial(quantised, target, start)}
    cases |= {"gradients": functools.partial(gradients, target, start)}
    cases |= {"bytes": functools.partial(bytes_of_keys, target)}
    cases |= {"positions": functools.partial(positions, target)}
    cases |= {"captured masks": functools.partial(captured_masks, target)}
    cases |= {"heads side by side": functools.partial(heads_side_by_side, target)}
    return cases | {"append": functools.partial(append, target, TYPES_BY_TURNS[start])}


TYPES_BY_TURNS = list(itertools.islice(itertools.cycle(TYPES), 16))


def features_of(index: int) -> list[str]:
    """Some features, those in their turn; of alternatives one."""
    names = list(FEATURES)
    chosen = [names[(FEATURES_OF_A_PROBLEM * index + i * (1 + index // len(names))) % len(names)] for i in range(3)]
    for group in ALTERNATIVES:
        for extra in [x for x in chosen if x in group][1:]:
            chosen.remove(extra)
    return sorted(set(chosen))


def dense(target, index):
    shape, element = SHAPES[index % len(SHAPES)], list(TYPES)[index % len(TYPES)]
    names = features_of(index)

    def run():
        tensors, options = make(shape, TYPES[element], names, seed=index)
        poison(tensors, options)
        attn.sdpa(*tensors, **options, return_lse=index % 2 == 0, target=target)

    return f"{element}-{shape}-{'-'.join(names)}", run


def poison(tensors, options):
    """NaN in what the lengths leave out: it stays unread, or the results would differ by what lies around it."""
    for name, which in (("q_lengths", tensors[:1]), ("kv_lengths", tensors[1:])):
        for b, length in enumerate(options.get(name, ())):
            for array in which:
                rows = array[b] if options.get("layout", "bhsd") != "bhsd" else array[b].swapaxes(0, 1)
                rows[length:] = 77 if array.dtype.kind == "i" else np.nan


def paged(target, page, element, sq):
    layout = "nhd" if page % 3 else "hnd"

    def run():
        sizes = (64, 40) if page != 48 else (59, 64)
        pages = Pages(page, layout, dtype=TYPES[element], extra=3, sizes=sizes, sq=sq)
        options = dict(page_layout=layout, causal="bottom_right", return_lse=True, target=target)
        has_sums = page == 16 and target == "host"
        attn.paged_sdpa(*pages.arguments, **options, dynamic=page == 16, return_key_sums=has_sums)

    return f"{element}-pages of {page}-{layout}-sq{sq}", run


def decode(target, index):
    case = decode_cases.CASES[index % len(decode_cases.CASES)]
    words = "layout=bshd" if index % 3 == 0 else "sink" if index % 3 == 1 else ""

    def run():
        for b, sk in (2, decode_cases.SPLIT + 1), (1, 7), (1, 0):
            decode_cases.run(case, b, sk, words, target)

    return f"{case} {words}", run


def heads_side_by_side(target):
    """Decode that goes through heads inside of the loop over keys: its prefetches go beyond the last keys."""
    for element, sk in ("f32", 601), ("bf16", 17):
        tensors = draw(Shape(1, sk, 128, 128, b=2, hq=8, hkv=4), TYPES[element])
        q, k, v = (np.ascontiguousarray(x.swapaxes(1, 2)) for x in tensors)
        attn.sdpa(q, k, v, kv_lengths=[sk, 3], layout="bshd", return_lse=True, target=target)
        pages = Pages(16, "nhd", lengths=(sk, 16, 0), dtype=TYPES[element], extra=3, sizes=(128, 128), sq=1)
        attn.paged_sdpa(*pages.arguments, page_layout="nhd", target=target)


def pairs(target):
    """Prefill of bf16 where columns and keys are odd: what is multiplied in pairs has no partner at the end."""
    q, k, v = draw(Shape(70, 67, 59, 41, b=2, hq=2, hkv=1), TYPES["bf16"])
    attn.sdpa(q, k, v, kv_lengths=[67, 33], causal="bottom_right", return_lse=True, target=target)
    pages = Pages(3, lengths=(70, 1), dtype=TYPES["bf16"], sizes=(59, 41), sq=33)
    attn.paged_sdpa(*pages.arguments, target=target)


def quantised(target, index):
    kind, scales = KINDS[index % 3], ("head", "token")[index // 2 % 2]
    shape = Shape(1, decode_cases.SPLIT + 3, 59, 64, b=2, hq=4, hkv=2)
    q, k, v = draw(shape, list(TYPES.values())[index % 2])
    (k, k_scale), (v, v_scale) = quantise(k, kind, scales), quantise(v, kind, scales)
    options = dict(k_scale=k_scale, v_scale=v_scale, target=target)
    attn.sdpa(q, k, v, kv_lengths=[shape.sk, 40], **options)
    caches = [np.ascontiguousarray(x[:, :, :48].swapaxes(1, 2)) for x in (k, v)]
    if scales == "token":
        options |= {name: np.ascontiguousarray(options[name][:, :, :48]) for name in ("k_scale", "v_scale")}
    attn.paged_sdpa(q, *caches, np.array([[1], [0]]), [48, 17], causal="bottom_right", **options)


def bytes_of_keys(target):
    """Int8 K and V that are multiplied as bytes, of rows that are no whole vectors and any number of keys."""
    for sk in (decode_cases.SPLIT + 3, 50, 1):
        q, k, v = draw(Shape(1, sk, 80, 48, b=2, hq=4, hkv=2), TYPES["bf16"])
        (k, k_scale), (v, v_scale) = quantise(k, np.int8, "token"), quantise(v, np.int8, "token")
        attn.sdpa(q, k, v, kv_lengths=[sk // 2, sk], k_scale=k_scale, v_scale=v_scale, target=target)


def packed(target, element):
    def run():
        rng = np.random.default_rng(2)
        shapes = [(113, 4, 59), (203, 2, 59), (203, 2, 64)]
        tensors = [rng.standard_normal(shape).astype(TYPES[element]) for shape in shapes]
        for options in dict(causal="bottom_right"), dict(window=(20, 5), align="bottom_right", dynamic=True):
            attn.varlen_sdpa(*tensors, *VARLEN, **options, return_lse=True, target=target)

    return f"{element}-packed", run


def gradients(target, index):
    """Of packed sequences, and beside quantised keys those of their scales."""
    q, k, v = (np.ascontiguousarray(x[0].swapaxes(0, 1)) for x in draw(Shape(113, 203, 19, 12, hq=2, hkv=1)))
    options = dict(causal="bottom_right", target=target)
    out, lse = attn.varlen_sdpa(q, k, v, *VARLEN, return_lse=True, **options)
    attn.varlen_sdpa_backward(q, k, v, out, lse, out, *VARLEN, **options)
    kind, scales = KINDS[index % 3], ("head", "token")[index // 2 % 2]
    q, k, v = draw(Shape(31, 65, 19, 12, b=2, hq=2, hkv=1))
    (k, k_scale), (v, v_scale) = quantise(k, kind, scales), quantise(v, kind, scales)
    options |= dict(k_scale=k_scale, v_scale=v_scale, kv_lengths=[65, 17])
    out, lse = attn.sdpa(q, k, v, return_lse=True, **options)
    for grad in ("q",), ("q", "k_scale", "v_scale"):
        attn.sdpa_backward(q, k, v, out, lse, out, grad=grad, **options)


def positions(target):
    """Regions that read at numbers of a call, which may be any."""
    for rows, dynamic in itertools.product(test_positions.ROWS, (False, True)):
        for name in test_positions.POSITIONS:
            kernel = attn.compile(test_positions.write(rows, name, dynamic=dynamic), target)
            kernel(*test_positions.inputs(rows), 2**40)


def captured_masks(target):
    """Arrays that end with the last row and the last key, neither of which ends a tile."""
    shape = Shape(113, 203, 19, 12, hq=2, hkv=1)
    kept = np.random.default_rng(2).random((113, 203)) < 0.5
    rows, keys = np.arange(113, dtype=np.int32), np.arange(203)
    for mask_mod in (lambda b, h, i, j: kept[i, j]), (lambda b, h, i, j: keys[j] <= rows[i]):
        tensors, options = draw(shape), dict(mask_mod=mask_mod, target=target)
        out, lse = attn.sdpa(*tensors, return_lse=True, **options)
        attn.sdpa_backward(*tensors, out, lse, out, **options)


def append(target, element):
    rng = np.random.default_rng(4)
    cache, new = (rng.standard_normal((3, 2, rows, 59)).astype(TYPES[element]) for rows in (50, 4))
    attn.kv_append(cache, new, [0, 46, 7], target=target)
    pages = rng.standard_normal((9, 2, 16, 59)).astype(TYPES[element])
    table = np.array([[0, 99, 99], [2, 3, 4], [5, 6, 99]])
    attn.kv_append(pages, new, [0, 44, 15], block_table=table, page_layout="hnd", target=target)
