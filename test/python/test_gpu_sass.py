"""What a GPU executes, by the machine code of ptxas: instructions of the main loops for each HMMA stay few.

PTX does not say it: ptxas adds moves where operands of a product are not adjacent registers. nvdisasm is installed by
scripts/setup.sh --sass; where it or ptxas is missing, this is skipped, with what to install.
"""

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

from paths import ATTNC

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture(scope="module")
def table():
    """scripts/ptxas-table.py."""
    sys.path.insert(0, str(SCRIPTS))
    spec = importlib.util.spec_from_file_location("ptxas_table", SCRIPTS / "ptxas-table.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["ptxas_table"] = module
    spec.loader.exec_module(module)
    return module


def find_tools(table) -> tuple[str, str]:
    """Paths of ptxas and nvdisasm."""
    ptxas = shutil.which("ptxas") or shutil.which("ptxas", path=table.CUDA_FOLDER)
    nvdisasm = table.sass.find_nvdisasm()
    if not ptxas or not nvdisasm:
        pytest.skip(table.sass.NO_NVDISASM if ptxas else f"no ptxas in PATH or {table.CUDA_FOLDER}")
    return ptxas, nvdisasm


def read_main_loop(table, shape: str, target: str):
    """The loop without masks of a kernel."""
    ptxas, nvdisasm = find_tools(table)
    return table.read_loops(ATTNC, ptxas, nvdisasm, table.COUNTED[shape], target)[0]


# All, moves and ldmatrix for each HMMA (m16n8k16 of a warp) in a round without masks that does not rescale.
LIMITS = {
    "D 64 full": (4.4, 0.10, 0.32),
    "D 64 causal": (4.45, 0.10, 0.32),
    "D 128 full": (3.1, 0.05, 0.32),
    "D 128 causal": (3.4, 0.05, 0.57),
    "D 256 full": (2.9, 0.05, 0.63),
    "D 256 causal": (2.95, 0.05, 0.63),
}


@pytest.mark.parametrize("shape", LIMITS)
def test_few_instructions_for_each_product(table, shape):
    loop = read_main_loop(table, shape, "sm_80")
    assert loop.products > 0
    assert loop.executed["spill"] == 0
    found = [loop.executed.total(), loop.executed["MOV"], loop.executed["LDSM"]]
    for number, limit in zip(found, LIMITS[shape], strict=True):
        assert number / loop.products <= limit, found


# With wgmma, of a round on 128 keys: all instructions, without and with the rescale of acc.
TILE_LIMITS = {"D 64 full": (410, 440), "D 64 causal": (410, 440), "D 128 full": (420, 480), "D 128 causal": (420, 480)}


@pytest.mark.parametrize("shape", TILE_LIMITS)
def test_few_instructions_for_each_tile(table, shape):
    loop = read_main_loop(table, shape, "sm_90a")
    assert loop.executed["spill"] == 0
    found = loop.executed.total(), loop.rescaled.total()
    assert found[0] < found[1]
    assert all(number <= limit for number, limit in zip(found, TILE_LIMITS[shape], strict=True)), found


# Of tiles of 256 keys, whose two rounds have much around them: instructions that the emulator executes for a round.
SHORT_LIMITS = {"b4 hq16 sq4096 sk256 d64 bf16": 560, "b4 hq16 sq4096 sk256 d128 bf16": 660}


@pytest.mark.parametrize("line", SHORT_LIMITS)
def test_few_instructions_around_short_loops(table, line):
    found = table.measure_round(ATTNC, *find_tools(table), line)
    assert found.sass < found.executed <= SHORT_LIMITS[line]
    assert found.all_issue <= 1.15 * found.bound
