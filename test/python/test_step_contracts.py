"""One op of a kernel dropped, doubled or moved at phase `steps`: refused by attn-verify-phase or found by the emulator.

The changes are of the protocol between the roles of a kernel: copies, waits, releases, turns, orders, barriers and the
products that they guard.
"""

import re
import subprocess

import pytest

from paths import ATTNC

ATTN_OPT, ATTN_PTX_RUN = ATTNC.with_name("attn-opt"), ATTNC.with_name("attn-ptx-run")

FUSED = (
    "#attn.block<query_tile = 128, key_tile = 64, warps = 8, warp_rows = 16, instruction = wgmma, stages = 2, "
    "producer = true, fused = true>"
)
KERNELS = {
    "forward": ("sdpa", "b1 hq1 sq300 sk520 d128 bf16", []),
    "one place": ("sdpa", "b1 hq1 sq300 sk520 d192 bf16", []),
    "gradients": ("sdpa_backward", "b1 hq2 sq256 sk256 d64 bf16 grad=q,k,v", [f"--schedule={FUSED}"]),
}
# The op, by its text; what happens to it; for moves, the op that it is moved in front of or behind.
FORWARD = [
    (r"attn\.copy .* box\(", "drop"),
    (r"attn\.copy .* box\(", "double"),
    (r"attn\.wait  stages", "drop"),
    (r"attn\.wait  stages", "double"),
    (r"attn\.release", "drop"),
    (r"attn\.release", "double"),
    (r"attn\.take_turn", "drop"),
    (r"attn\.take_turn", "double"),
    (r"attn\.pass_turn$", "drop"),
    (r"attn\.pass_turn$", "double"),
    (r"attn\.pass_turn first", "drop"),
    (r"attn\.product", "double"),
    (r"attn\.release", "above", r"attn\.product"),
    (r"attn\.wait  stages", "below", r"attn\.product"),
    (r"attn\.pass_turn$", "above", r"attn\.take_turn"),
]
# Where shared memory has one place for Q, the warps that multiply copy it.
ONE_PLACE = [
    (r"attn\.wait %", "drop"),
    (r"attn\.wait %", "double"),
    (r"gpu\.barrier", "double"),
]
GRADIENTS = [
    (r"attn\.copy .* box\(", "drop"),
    (r"attn\.copy_statistics .*by_producer", "drop"),
    (r"attn\.copy_statistics .*by_producer", "double"),
    (r"attn\.wait  stages", "drop"),
    (r"attn\.wait  stages", "double"),
    (r"attn\.release", "drop"),
    (r"attn\.release", "double"),
    (r"attn\.release", "above", r"attn\.wait_product"),
    (r"attn\.wait  stages", "below", r"attn\.product"),
    (r"attn\.exchange", "drop"),
    (r"attn\.exchange", "double"),
    (r"gpu\.barrier", "drop"),
    (r"gpu\.barrier", "double"),
    (r"gpu\.barrier", "above", r"attn\.exchange"),
    (r"attn\.await_order .*by_producer", "double"),
    (r"attn\.await_order [^{]*$", "drop"),
    (r"attn\.await_order [^{]*$", "double"),
    (r"attn\.add_rows", "drop"),
    (r"attn\.add_rows", "double"),
    (r"attn\.add_rows", "above", r"attn\.await_order"),
    (r"attn\.pass_order", "drop"),
    (r"attn\.pass_order", "double"),
    (r"attn\.pass_order", "above", r"attn\.add_rows"),
    (r"attn\.product", "double"),
]
LISTS = {"forward": FORWARD, "one place": ONE_PLACE, "gradients": GRADIENTS}
CHANGES = [(name, *x) for name, changes in LISTS.items() for x in changes]


def run(command, limit=120):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)


@pytest.fixture(scope="module")
def steps():
    """The IR of each kernel at phase `steps`."""
    texts = {}
    for name, (_, problem, options) in KERNELS.items():
        made = run(
            [ATTNC, f"--problem={problem}", "--target=sm_90a", "--stop-after=steps", "--emit=mlir", *options, "-o", "-"]
        )
        assert made.returncode == 0, made.stderr
        texts[name] = made.stdout.split("\n")
    return texts


def find(lines, kernel, pattern):
    """The lines of the ops in the roles of the kernel, the inner loops first: what is in a loop is executed again."""
    begin = next(i for i, x in enumerate(lines) if f"gpu.module @{kernel}_gpu" in x)
    roles = next(i for i in range(begin, len(lines)) if "attn.warp_roles" in lines[i])
    end = next(i for i in range(roles, len(lines)) if "gpu.return" in lines[i])
    found = [i for i in range(roles + 1, end) if re.search(pattern, lines[i])]
    return sorted(found, key=lambda i: len(lines[i].lstrip()) - len(lines[i]))


def change(lines, kernel, pattern, what, other=None):
    """The lines with the innermost op of that pattern changed."""
    at = find(lines, kernel, pattern)[0]
    if what == "drop":
        return lines[:at] + lines[at + 1 :]
    if what == "double":
        twice = re.sub(r"^(\s*)%\w+( =|:)", r"\1%twice\2", lines[at])
        return [*lines[: at + 1], twice, *lines[at + 1 :]]
    rest = lines[:at] + lines[at + 1 :]
    indent = len(lines[at]) - len(lines[at].lstrip())
    inside = [i for i, x in enumerate(rest) if re.search(other, x) and len(x) - len(x.lstrip()) == indent]
    place = max(i for i in inside if i < at) if what == "above" else min(i for i in inside if i >= at) + 1
    return [*rest[:place], lines[at], *rest[place:]]


def emulate(tmp_path, kernel, problem, options, text):
    """What the emulator says of a kernel at phase `steps`."""
    source, ptx = tmp_path / "steps.mlir", tmp_path / "steps.ptx"
    source.write_text(text)
    made = run([ATTNC, source, "--target=sm_90a", f"--kernel={kernel}", "--emit=ptx", "-o", ptx])
    if made.returncode:
        return made
    return run([ATTN_PTX_RUN, ptx, f"--problem={problem}", f"--kernel={kernel}", *options])


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_at_steps_compiles_on(tmp_path, steps, name):
    kernel, problem, options = KERNELS[name]
    result = emulate(tmp_path, kernel, problem, options, "\n".join(steps[name]))
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("case", CHANGES, ids=lambda x: re.sub(r"[^\w,]+", "_", ",".join(x)))
def test_a_change_is_refused_or_found(tmp_path, steps, case):
    name, pattern, what, *other = case
    kernel, problem, options = KERNELS[name]
    text = "\n".join(change(steps[name], kernel, pattern, what, *other))
    source = tmp_path / "changed.mlir"
    source.write_text(text)
    refused = run([ATTN_OPT, source, "--attn-verify-phase=phase=steps", "-o", "/dev/null"])
    if refused.returncode:
        assert "expected" in refused.stderr
        return
    result = emulate(tmp_path, kernel, problem, options, text)
    assert result.returncode != 0, result.stdout + result.stderr
