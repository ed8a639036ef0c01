"""attn.torch.with_kernels: exported programs whose calls of attn are kernels; one runs in a program in C++."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.export import Dim, export

import attn.torch as at
from attn.kernel import _library

ROOT = Path(__file__).resolve().parents[2]
B, HQ, HKV, SQ, SK, D = 2, 4, 2, 13, 21, 59
SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])
ALLOWED = torch.rand(SQ, SK) < 0.7
ALLOWED[:, 0] = True
LENGTHS = torch.tensor([9, 20])


def draw(dtype=torch.float32):
    return [torch.randn(B, heads, rows, D).to(dtype) for heads, rows in ((HQ, SQ), (HKV, SK), (HKV, SK))]


def dense(q, k, v, kept=None, bias=0.0, sink=None):
    """In f64, of grouped heads; rows without keys are 0."""
    q, k, v = q.double(), *(x.double().repeat_interleave(HQ // HKV, 1) for x in (k, v))
    scores = q @ k.mT * D**-0.5 + bias
    scores = scores if kept is None else scores.masked_fill(~kept, -torch.inf)
    if sink is not None:
        scores = torch.cat([scores, sink.double()[:, None, None].expand(*scores.shape[:3], 1)], -1)
        v = torch.cat([v, torch.zeros_like(v[:, :, :1])], 2)
    return scores.softmax(-1).nan_to_num() @ v


ROWS, KEYS = torch.arange(SQ)[:, None], torch.arange(SK)
DISTANCE = KEYS - ROWS - SK + SQ  # from the last query at the last key
BIAS, SINK = torch.randn(1, HQ, SQ, SK), torch.randn(HQ)
CALLS = {  # a call of q, k, v, and its f64 reference
    "plain": (lambda q, k, v: at.sdpa(q, k, v, enable_gqa=True), lambda *x: dense(*x)),
    "causal": (lambda q, k, v: at.sdpa(q, k, v, is_causal=True, enable_gqa=True), lambda *x: dense(*x, KEYS <= ROWS)),
    "lengths": (
        lambda q, k, v: at.sdpa(q, k, v, enable_gqa=True, kv_lengths=LENGTHS),
        lambda *x: dense(*x, (LENGTHS[:, None] > KEYS)[:, None, None]),
    ),
    "mask": (lambda q, k, v: at.sdpa(q, k, v, ALLOWED, enable_gqa=True), lambda *x: dense(*x, ALLOWED)),
    "bias": (lambda q, k, v: at.sdpa(q, k, v, BIAS, enable_gqa=True), lambda *x: dense(*x, bias=BIAS.double())),
    "sink": (lambda q, k, v: at.sdpa(q, k, v, enable_gqa=True, sink=SINK), lambda *x: dense(*x, sink=SINK)),
    "window": (
        lambda q, k, v: at.sdpa(q, k, v, enable_gqa=True, window=(3, 2), align="bottom_right"),
        lambda *x: dense(*x, (DISTANCE >= -3) & (DISTANCE <= 2)),
    ),
    "offsets": (
        lambda q, k, v: at.sdpa(q, k, v, enable_gqa=True, causal=torch.tensor([3, 7])),
        lambda *x: dense(*x, ROWS + torch.tensor([3, 7])[:, None, None, None] >= KEYS),
    ),
    "functions": (
        lambda q, k, v: at.flex_attention(
            q, k, v, lambda s, b, h, i, j: s - SLOPES[h] * (j - i), lambda b, h, i, j: ALLOWED[i, j], enable_gqa=True
        ),
        lambda *x: dense(*x, ALLOWED, bias=-SLOPES.double()[:, None, None] * (KEYS - ROWS)),
    ),
}


class Module(torch.nn.Module):
    """A function as a module."""

    def __init__(self, call):  # noqa: D107
        super().__init__()
        self.call = call

    def forward(self, *inputs):
        """What the function returns."""
        return self.call(*inputs)


def lowered(call, inputs, sizes=None):
    with torch.no_grad():
        program = at.with_kernels(export(Module(call), tuple(inputs), dynamic_shapes=sizes))
    names = {str(x.target) for x in program.graph.nodes if "attn" in str(x.target)}
    assert names == {"attn.kernel.default"}
    return program


def run(call, inputs, sizes=None, others=None):
    """What the program with kernels returns for the inputs, or for others that it was not exported with."""
    program = lowered(call, inputs, sizes)
    return program.module()(*(inputs if others is None else others))


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_kernels(name):
    call, expected = CALLS[name]
    inputs = draw()
    torch.testing.assert_close(run(call, inputs).double(), expected(*inputs), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64], ids=str)
def test_types(dtype):
    """The same bits as the operator."""
    inputs = draw(dtype)
    call = lambda q, k, v: at.sdpa(q, k, v, enable_gqa=True, sink=SINK.to(dtype))  # noqa: E731
    assert torch.equal(run(call, inputs), call(*inputs))


def test_views_are_read_in_place_and_others_are_copied():
    call, expected = CALLS["causal"]
    q, k, v = draw()
    inputs = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k)] + [v.mT.contiguous().mT]
    (copy,) = [x for x in lowered(call, inputs).graph.nodes if x.target == torch.ops.aten.clone.default]
    assert copy.args[0].meta["val"].stride(-1) != 1
    torch.testing.assert_close(run(call, inputs).double(), expected(q, k, v), rtol=1e-5, atol=1e-5)


def test_open_sizes_and_further_results():
    call = lambda q, k, v: at.sdpa(q, k, v, is_causal=True, enable_gqa=True, return_lse=True)  # noqa: E731
    batch, rows = Dim("batch"), Dim("rows")
    inputs = [x[:, :, :SQ].contiguous() for x in draw()]
    for count in (1, 5, 113):
        others = [torch.randn(3, x.shape[1], count, D) for x in inputs]
        found = run(call, inputs, (({0: batch, 2: rows},) * 3,), others)  # *inputs is one argument
        kept = torch.ones(count, count, dtype=torch.bool).tril()
        torch.testing.assert_close(found[0].double(), dense(*others, kept), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(found[1], call(*others)[1])


def test_packed_sequences_and_pages():
    sums, others = (torch.tensor(x, dtype=torch.int32) for x in ([0, 5, 5, 13], [0, 9, 10, 21]))
    q, k, v = (x[0].transpose(0, 1).contiguous() for x in draw())
    call = lambda q, k, v: at.varlen_sdpa(q, k, v, sums, others, causal="bottom_right", return_lse=True)  # noqa: E731
    assert all(map(torch.equal, run(call, (q, k, v)), call(q, k, v)))
    caches, table = torch.randn(5, 2, 8, HKV, D), torch.tensor([[4, 1, 0], [2, 2, 2], [3, 0, 1]], dtype=torch.int32)
    lengths = torch.tensor([21, 3, 8])
    pages = caches[:, 0], caches[:4, 1]  # views, of unlike numbers of pages: those of K are more

    def step(q, k, v, table, lengths, sums):
        options = dict(cu_seqlens_q=sums, causal="bottom_right", return_lse=True, return_key_sums=True)
        return at.paged_sdpa(q, k, v, table, lengths, **options)

    table = table.clamp(max=3)
    inputs = (q, *pages, table, lengths, sums)
    assert all(map(torch.equal, run(step, inputs), step(*inputs)))


MISTAKES = {
    "dropout": lambda q, k, v: at.sdpa(q, k, v, dropout_p=0.5, enable_gqa=True),
    "q_origin": lambda q, k, v: at.sdpa(q, k, v, causal="top_left", enable_gqa=True, q_origin=3),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_calls_that_have_no_kernel_of_their_own(name):
    with pytest.raises(ValueError, match=f"expected a call of attn without {name} in a program for C"):
        run(MISTAKES[name], draw())


def test_appending_is_written_by_operators_of_pytorch():
    q, k, _ = (x[0].transpose(0, 1).contiguous() for x in draw())
    table, lengths, sums = (torch.tensor(x, dtype=torch.int32) for x in ([[1, 0, 2]], [21], [0, 13]))
    slots = torch.cat([torch.arange(8, 16), torch.arange(0, 8), torch.arange(16, 21)])

    def step(cache, q, k, by_attn=False):
        if by_attn:
            at.kv_append(cache, k, slots=slots)
        else:
            cache.flatten(0, 1).index_copy_(0, slots, k)
        return at.paged_sdpa(q, cache, cache, table, lengths, cu_seqlens_q=sums, causal="bottom_right")

    found, wanted = (torch.zeros(3, 8, HKV, D) for _ in range(2))
    assert torch.equal(run(step, (found, q, k)), step(wanted, q, k, by_attn=True))
    assert torch.equal(found, wanted)
    with pytest.raises(ValueError, match=r"expected no attn\.kv_append\.default in a program for C"):
        run(lambda *x: step(*x, by_attn=True), (found, q, k))
    options = dict(cu_seqlens_q=sums, causal="bottom_right")
    with pytest.raises(ValueError, match=r"expected no attn\.paged_sdpa_out\.default in a program for C.*no out="):
        run(lambda q, x: at.paged_sdpa(q, x, x, table, lengths, out=torch.empty_like(q), **options), (q, found))


def test_a_program_in_cpp_runs_packages(tmp_path):
    """examples/aoti: the library, the packages and the program, by the commands that it says."""
    torch_folder, attn_folder = Path(torch.__file__).parent, _library.path().parent
    headers = ["-isystem", torch_folder / "include", "-isystem", torch_folder / "include/torch/csrc/api/include"]
    libraries = [f"-L{attn_folder}", "-lattn", f"-Wl,-rpath,{attn_folder}"]
    compiler = ["g++", "-std=c++20", "-O1", *headers]
    library, program = tmp_path / "libattn_torch.so", tmp_path / "aoti-run"
    source = ROOT / "lib/Torch/Kernel.cpp"
    commands = [[*compiler, "-shared", "-fPIC", f"-I{ROOT / 'include'}", source, "-o", library, *libraries]]
    libraries += [f"-L{torch_folder / 'lib'}", f"-Wl,-rpath,{torch_folder / 'lib'}", f"-L{tmp_path}"]
    libraries += [f"-Wl,-rpath,{tmp_path}", "-Wl,--no-as-needed", "-lattn_torch", "-ltorch", "-ltorch_cpu", "-lc10"]
    commands += [[*compiler, ROOT / "examples/aoti/main.cpp", "-o", program, *libraries]]
    commands += [[sys.executable, ROOT / "examples/aoti/models.py", tmp_path], [program, tmp_path]]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("right\n")
