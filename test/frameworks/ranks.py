"""Functions on several processes of torch.distributed, by gloo: what each returns comes back, by its rank."""

import datetime
import fcntl
import multiprocessing
import tempfile
import traceback
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from paths import OBJECTS

# Ranks are forks of one process that has imported PyTorch and done nothing else; each by itself would take 2 s for it.
START = "forkserver"
multiprocessing.set_forkserver_preload(["torch"])
TIMEOUT = datetime.timedelta(seconds=120)


def _process(rank, ranks, folder, function, arguments):
    import attn
    from attn.kernel import _compile

    torch.set_num_threads(1)
    attn.set_num_threads(1)
    attn.set_cache(directory=f"{folder}/kernels", objects=OBJECTS)
    _compile.is_quick = True
    _compile.compile = _one_after_the_other(_compile.compile, f"{folder}/lock")
    store = dist.FileStore(f"{folder}/store{ranks}", ranks)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=ranks, timeout=TIMEOUT)
    try:
        found = function(rank, ranks, *arguments)
    except Exception:
        Path(f"{folder}/error{rank}").write_text(traceback.format_exc())  # kept where the folder is
        raise
    torch.save(found, f"{folder}/{ranks}-{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


def _one_after_the_other(compile_, path):
    """Processes that need the same kernel at once: the first compiles it, others find it on disk."""

    def compile_alone(*given, **named):
        with open(path, "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return compile_(*given, **named)

    return compile_alone


def run(function, ranks, *arguments, folder=None):
    """What function(rank, ranks, *arguments) returns on each rank.

    The function is one of a module. Kernels are compiled once for all processes with the same folder.
    """
    with tempfile.TemporaryDirectory() as own:
        folder = folder or own
        mp.start_processes(_process, (ranks, str(folder), function, arguments), ranks, start_method=START)
        return [torch.load(f"{folder}/{ranks}-{rank}.pt", weights_only=False) for rank in range(ranks)]


def error_of(call):
    """The error of a call as text, or None."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
