"""Blocks of sm_90a that go through several tiles (attn-make-persistent): as many as the device has multiprocessors.

The bits are the same whatever that number is, and faults at the seam of two tiles are seen.
"""

import shutil

import ml_dtypes
import numpy as np
import pytest

from attn import reference
from fake_cuda import EMULATOR, Driver, FakeArray
from paths import attnc
from test_gpu_targets import Code
from test_gpu_wgmma import expect_seen, plant, replace

pytestmark = pytest.mark.skipif(not EMULATOR.is_file(), reason="the emulated driver is not built")
TARGET = "sm_90a"
HEADS = 2
# (Hq, Hkv, Sq, Sk, D, Dv, words): the tiles of two heads are few or many, the key tiles of a tile an odd number or
# none. Of latent heads two groups of warps share the rows, and a tile is the heads of a head of K.
PROBLEMS = [
    (HEADS, HEADS, 129, 330, 40, 136, ""),
    (HEADS, HEADS, 300, 203, 128, 128, "causal=bottom_right"),
    (HEADS, HEADS, 300, 60, 64, 64, "causal=bottom_right"),
    (120, 3, 1, 150, 64, 384, ""),
]


@pytest.fixture
def multiprocessors():
    """Sets the device's number, and restores it."""
    library = Driver().library
    yield library.attn_emulator_set_multiprocessors
    library.attn_emulator_set_multiprocessors(3)


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_bits_do_not_depend_on_the_device(problem, tmp_path, multiprocessors):
    hq, hkv, sq, sk, d, dv, words = problem
    queries = sq if sq == 1 else "?"
    line = f"b1 hq{hq} hkv{hkv} sq{queries} sk? d{d} dv{dv} bf16 {words}"
    attnc(f"--problem={line}", f"--target={TARGET}", "--emit=shared", "-o", tmp_path / "libk.so")
    driver, rng = Driver(), np.random.default_rng(3)
    shapes = [(1, hq, sq, d), (1, hkv, sk, d), (1, hkv, sk, dv)]
    arrays = [rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in shapes]
    on_device = [FakeArray.of(driver, array) for array in arrays]
    outputs = []
    # One block has all tiles; two, or three, have unequal numbers of them; each has one, and more would have none.
    for count in (1, 2, 3, 100):
        multiprocessors(count)
        library = tmp_path / f"libk{count}.so"  # a launcher asks the device once
        shutil.copy(tmp_path / "libk.so", library)
        out = FakeArray(driver, (1, hq, sq, dv), ml_dtypes.bfloat16)
        code, message = Code(library).call("sdpa", driver, [*on_device, out])
        assert code == 0, message
        outputs.append(out.numpy())
    assert all(np.array_equal(outputs[0].view(np.uint16), other.view(np.uint16)) for other in outputs)
    options = {"causal": "bottom_right"} if words else {}
    expected = reference.sdpa(*(array.astype(np.float64) for array in arrays), **options)
    assert np.abs(outputs[0].astype(np.float64) - expected).max() <= 0.012 * np.abs(expected).max()


# Four tiles, of which one block has two, of three key tiles: a ring whose count begins again is out of step.
LINE = "b1 hq2 sq300 sk300 d64 bf16"
# Of this one shared memory has one place for Q, and the output is written from there.
LARGE = "b1 hq2 sq300 sk300 d192 bf16"
SELECT = r"selp\.b32 \t%r\d+, "  # of a tile of the round
FAULTS = {
    "more registers than there are": (plant("registers of a role", "inc"), "invalid-value|deadlock"),
    "Q is copied over the output": (plant("barrier removed", r"sync\s+1,"), "race"),
    "the producer's ring begins again": (replace(r"(not\.b32 \t%r\d+, (%r\d+);)", r"mov.b32 \t\2, 0;\n\t\1"),
                                         "deadlock|race|mbarrier"),
    "the consumers' ring begins again": (
        replace(r"(bfe\.u32 \t%r\d+, (%r\d+), 1, 1;)", r"mov.b32 \t\2, 0;\n\t\1"),
        "deadlock|race|mbarrier",
    ),
    "a block has a tile too few": (replace(r"setp\.lt\.u32( \t%p\d+, %r\d+, %r\d+;\n\tselp\.b32 \t%r\d+, 1, 0)",
                                           r"setp.gt.u32\1"), "FAILED|finding|invalid|written"),
    "the consumers of a block do not turn back": (
        replace(rf"(nctaid(?:.*\n)+?.*{SELECT}%r\d+(?:.*\n)+?.*{SELECT})(%r\d+), (%r\d+)", r"\1\3, \3"),
        "out-of-bounds|race|written",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_seen(name, tmp_path):
    expect_seen(tmp_path, LARGE if name == "Q is copied over the output" else LINE, *FAULTS[name])
