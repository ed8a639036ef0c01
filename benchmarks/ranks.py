"""Attention of a sequence on several ranks: what its blocks, steps and transfers cost beside the kernels.

ordered: ordered=True beside the plain method on one rank.
step: a ring of several steps beside its kernels alone, in one process that sends nothing.
overlap: a ring on two processes of gloo beside its kernels alone, and beside itself where each transfer is waited for.
link: the same in one process, by a link on which a transfer takes a part of a step's kernel, and no processor.

One thread a rank, the ways in turn; ratios of the best and of the median rounds. ordered and step have the processor's
time, which others on the machine hardly change; overlap and link have that of the clock, of the slowest rank.

    build/frameworks/bin/python benchmarks/ranks.py ordered --rows 4096 8192 --sizes 64 128
    build/frameworks/bin/python benchmarks/ranks.py step --rows 4096
    build/frameworks/bin/python benchmarks/ranks.py overlap --rows 4096
    build/frameworks/bin/python benchmarks/ranks.py link --rows 1024 --steps 4 --part 0.5
"""

from __future__ import annotations

import argparse
import functools
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import attn
import attn.torch
from attn.torch.parallel import _call, _group, _layout, _ordered

MASKS = {"full": _layout.Mask(), "causal": _layout.Mask(is_causal=True)}
Way = Callable[[], tuple[float, float]]


class Local(_group.Group):
    """So many ranks in one process: what is sent is here."""

    def __init__(self, size: int) -> None:
        """Of so many."""
        self.rank, self.size = size - 1, size  # the last: no step of it is empty

    def start_shift(self, tensors: Any) -> _group.Pending:
        """As of a group."""
        return _group.Pending(list(tensors), list(tensors), [])

    def all_gather(self, x: torch.Tensor) -> list[torch.Tensor]:
        """As of a group."""
        return [x] * self.size

    def exchange(self, sent: Any, shapes: Any) -> list[torch.Tensor]:
        """As of a group."""
        return [sent[self.rank]] * self.size


class Link(Local):
    """A transfer takes so long; who waits sleeps until then."""

    def __init__(self, size: int, duration: float, *, waits: bool) -> None:
        """Of a duration in seconds."""
        super().__init__(size)
        self._duration, self._waits = duration, waits

    def start_shift(self, tensors: Any) -> _group.Pending:
        """As of a group."""
        pending = _group.Pending(list(tensors), list(tensors), [Arrival(time.perf_counter() + self._duration)])
        return _group.Pending(pending.sent, pending.wait(), []) if self._waits else pending


class Arrival:
    """What `torch.distributed` calls a work."""

    def __init__(self, at: float) -> None:
        """At a time."""
        self._at = at

    def wait(self) -> None:
        """Sleeps until then."""
        time.sleep(max(0.0, self._at - time.perf_counter()))


class Waiting(_group.Group):
    """Ranks that wait for what is sent."""

    def start_shift(self, tensors: Any) -> _group.Pending:
        """As of a group."""
        pending = super().start_shift(tensors)
        return _group.Pending(pending.sent, pending.wait(), [])


def plan(group: Any, rows: int, mask: str, method: str, ordered: int = 0) -> _call._Plan:
    """A call on these ranks, of so many rows a rank; contiguous where the mask is full."""
    layout = "contiguous" if mask == "full" else "zigzag"
    made = _layout.layout_of(layout, rows * group.size, group.size)
    if ordered:
        made = _ordered.layout_of(made, ordered)
    return _call._Plan(group, made, method, ordered, MASKS[mask], None, None)


def seconds(of: _call._Plan, tensors: list[torch.Tensor], dout: torch.Tensor) -> tuple[float, float]:
    """Of the forward and of the backward pass."""
    leaves = [x.detach().requires_grad_() for x in tensors]
    if dist.is_initialized():
        dist.barrier()
    clock = time.perf_counter if dist.is_initialized() or isinstance(of.group, Link) else time.process_time
    start = clock()
    out, _ = _call._Sharded.apply(of, None, *leaves, None)
    middle = clock()
    if dist.is_initialized():
        dist.barrier()
    then = clock()
    out.backward(dout)
    return middle - start, clock() - then


def rounds(ways: dict[str, Way], count: int) -> dict[str, list[tuple[float, float]]]:
    """The seconds of each way in each round, in turn; of several ranks those of the slowest."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for n in range(count + 1):
        for name, way in ways.items():
            times = torch.tensor(way(), dtype=torch.float64)
            if dist.is_initialized():
                dist.all_reduce(times, dist.ReduceOp.MAX)
            if n:  # the first compiles
                found[name].append((float(times[0]), float(times[1])))
    return found


def line(found: dict[str, list[tuple[float, float]]], base: str, what: str) -> None:
    """A row of a table: the other ways beside one, forward and backward."""
    cells = []
    for name, times in found.items():
        if name == base:
            continue
        for n in range(2):
            own, of = [x[n] for x in times], [x[n] for x in found[base]]
            cells.append(f"{min(own) / min(of):.3f}, {statistics.median(own) / statistics.median(of):.3f}")
    milliseconds = " / ".join(f"{min(x[n] for x in found[base]) * 1e3:.0f}" for n in range(2))
    print(f"| {what} | {milliseconds} | {' | '.join(cells)} |", flush=True)


def head(ways: list[str], base: str) -> None:
    """Of a table of lines: best, median of each ratio."""
    cells = [f"{name}, {way}" for name in ways for way in ("forward", "backward")]
    print(f"| case | {base}, ms | {' | '.join(cells)} |\n|{' --- |' * (len(cells) + 2)}")


def draw(rows: int, size: int, options: argparse.Namespace) -> tuple[list[torch.Tensor], torch.Tensor]:
    """q, k, v and the cotangent of out."""
    hq, hkv = options.heads
    make = lambda heads: torch.randn(1, heads, rows, size).to(getattr(torch, options.type))  # noqa: E731
    return [make(hq), make(hkv), make(hkv)], make(hq)


def cases(options: argparse.Namespace) -> Any:
    """Mask, rows and head size of each line."""
    return [(mask, rows, size) for mask in options.masks for rows in options.rows for size in options.sizes]


def ordered(options: argparse.Namespace) -> None:
    """ordered=True beside the plain method."""
    name = f"{options.blocks} blocks"
    head([name], options.method)
    for mask, rows, size in cases(options):
        given = draw(rows, size, options)
        ways: dict[str, Way] = {}
        for way, blocks in ((options.method, 0), (name, options.blocks)):
            made = plan(Local(1), rows, mask, options.method, blocks)
            ways[way] = functools.partial(seconds, made, *given)
        line(rounds(ways, options.rounds), options.method, f"{mask}, S = {rows}, D = {size}")


def step(options: argparse.Namespace) -> None:
    """A ring beside its kernels."""
    head(["ring"], "kernels")
    for mask, rows, size in cases(options):
        given = draw(rows, size, options)
        made = plan(Local(options.steps), rows, mask, "ring")
        ways: dict[str, Way] = {
            name: functools.partial(way, made, *given) for name, way in (("kernels", kernels), ("ring", seconds))
        }
        line(rounds(ways, options.rounds), "kernels", f"{mask}, {rows} rows, D = {size}, {options.steps} steps")


def kernels(of: _call._Plan, tensors: list[torch.Tensor], dout: torch.Tensor) -> tuple[float, float]:
    """The seconds of the kernels of a ring alone."""
    q, k, v = tensors
    made = of.kernels(None)
    times = [0.0, 0.0]
    mine = of.layout.segments[of.group.rank]
    for theirs in of.layout.segments:
        for qs in mine:
            for ks in theirs:
                for piece in of.mask.pieces(qs, ks):
                    rows = [x[:, :, : qs[1]][:, :, piece.rows].contiguous() for x in (q, dout)]
                    keys = [x[:, :, : ks[1]].contiguous() for x in (k, v)]
                    start = time.process_time()
                    state = made._run(piece, rows[0], *keys, None)
                    middle = time.process_time()
                    made._run_backward(piece, [rows[1], *state], None, rows[0], *keys, None)
                    times[0] += middle - start
                    times[1] += time.process_time() - middle
    return times[0], times[1]


def link(options: argparse.Namespace) -> None:
    """A ring over a link whose transfers take a part of the kernel of a forward step."""
    head(["ring", "waiting"], "kernels")
    for mask, rows, size in cases(options):
        given = draw(rows, size, options)
        nothing = plan(Link(options.steps, 0, waits=False), rows, mask, "ring")
        alone = min(seconds(nothing, *given)[0] for _ in range(options.rounds))
        duration = options.part * alone / options.steps
        ways: dict[str, Way] = {"kernels": functools.partial(seconds, nothing, *given)}
        for name, waits in (("ring", False), ("waiting", True)):
            made = plan(Link(options.steps, duration, waits=waits), rows, mask, "ring")
            ways[name] = functools.partial(seconds, made, *given)
        what = f"{mask}, {rows} rows, D = {size}, {options.steps} steps, transfers of {options.part} of a kernel"
        line(rounds(ways, options.rounds), "kernels", what)


def overlap(options: argparse.Namespace) -> None:
    """A ring on processes; rank 0 prints."""
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(_overlap, (folder, options), options.ranks)


def _overlap(rank: int, folder: str, options: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    attn.set_num_threads(1)
    store = dist.FileStore(f"{folder}/store", options.ranks)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=options.ranks)
    if rank == 0:
        head(["ring", "waiting"], "kernels")
    for mask, rows, size in cases(options):
        given = draw(rows, size, options)
        groups = {"kernels": Local(options.ranks), "ring": _group.Group(None), "waiting": Waiting(None)}
        plans = {name: plan(group, rows, mask, "ring") for name, group in groups.items()}
        ways: dict[str, Way] = {name: functools.partial(seconds, made, *given) for name, made in plans.items()}
        found = rounds(ways, options.rounds)
        if rank == 0:
            line(found, "kernels", f"{mask}, {rows} rows, D = {size}, {options.ranks} ranks")
    dist.destroy_process_group()


def main() -> None:
    """The table that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=("ordered", "step", "overlap", "link"))
    parser.add_argument("--rows", type=int, nargs="+", default=[4096], help="of a rank")
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128], help="D")
    parser.add_argument("--masks", nargs="+", choices=MASKS, default=list(MASKS))
    parser.add_argument("--heads", type=int, nargs=2, default=[2, 1], help="of queries and of keys")
    parser.add_argument("--type", default="float32")
    parser.add_argument("--method", default="ring", choices=("ring", "allgather"))
    parser.add_argument("--blocks", type=int, default=_call.BLOCKS, help="of ordered")
    parser.add_argument("--steps", type=int, default=2, help="of a ring of step or link")
    parser.add_argument("--ranks", type=int, default=2, help="processes of overlap")
    parser.add_argument("--part", type=float, default=0.5, help="of a step's kernel, that a transfer of link takes")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    attn.set_num_threads(1)
    torch.manual_seed(0)
    {"ordered": ordered, "step": step, "overlap": overlap, "link": link}[options.table](options)


if __name__ == "__main__":
    main()
