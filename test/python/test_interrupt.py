"""Ctrl-C while a kernel is compiled: the wait ends at once, the compilation soon after, and the process goes on."""

import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import Future

import numpy as np
import pytest

import attn
import clock
from attn.kernel import _background, _cache, _compile, _library
from attn.kernel._inspect import Source

# It compiles for some ten seconds.
SLOW = """
import os, signal, sys, threading, time
import numpy as np
import attn
from attn import api

attn.set_cache(enabled=False)  # what is not compiled cannot be interrupted
rng = np.random.default_rng(0)
q, k, v = (rng.standard_normal((1, 2, 64, 32), dtype="f4") for _ in range(3))

def slow(score, b, h, i, j):
    for _ in range(150):
        score = attn.tanh(score)
    return score

def warm_up():
    # Loads the library, starts OpenMP.
    attn.sdpa(q[:, :, :3].copy(), k, v)

def check_usable():
    assert np.abs(attn.sdpa(q, k, v) - attn.reference.sdpa(q, k, v)).max() < 1e-5

def interrupt(after=0.5):
    def send():
        global sent
        sent = time.process_time()
        os.kill(os.getpid(), signal.SIGINT)
    timer = threading.Timer(after, send)
    timer.start()
    return timer
"""
LATEST = 0.5  # processor seconds of the process, its compilation included, from the signal to the exception


def run(body: str) -> str:
    """What a process prints that runs SLOW, then the body."""
    text = SLOW + textwrap.dedent(body)
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=clock.NO_END, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_a_compilation_is_interrupted_and_the_process_goes_on():
    found = run("""
        warm_up()
        delays = []
        for _ in range(2):  # the second: nothing of the first is in the cache
            interrupt()
            try:
                attn.sdpa(q, k, v, score_mod=slow)
            except KeyboardInterrupt:
                delays.append(time.process_time() - sent)
            check_usable()
        print(len(delays), min(delays))
    """)
    count, delay = found.split()
    assert int(count) == 2
    assert float(delay) < LATEST


def test_what_was_interrupted_ends_soon():
    """The process ends after its compilations, so this one was cancelled; whole, it would take ten times as long."""
    found = run("""
        warm_up()
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            attn.sdpa(q, k, v, score_mod=slow)
        except KeyboardInterrupt:
            start = time.process_time()
            while any(x.name == "attn" for x in threading.enumerate()):
                time.sleep(0.01)
            print(time.process_time() - start)
    """)
    assert float(found) < 2


def test_another_thread_that_waits_for_the_same_kernel_makes_it():
    found = run("""
        def short(score, b, h, i, j):
            for _ in range(20):
                score = attn.tanh(score)
            return score

        def other():
            time.sleep(0.1)
            results.append(attn.sdpa(q, k, v, score_mod=short))

        warm_up()
        results = []
        thread = threading.Thread(target=other)
        thread.start()
        interrupt(0.2)
        try:
            attn.sdpa(q, k, v, score_mod=short)
        except KeyboardInterrupt:
            print("interrupted")
        thread.join()
        assert np.abs(results[0] - attn.reference.sdpa(q, k, v, score_mod=short)).max() < 1e-5
    """)
    assert found == "interrupted\n"


def test_a_signal_while_another_thread_compiles():
    found = run("""
        warm_up()
        thread = threading.Thread(target=lambda: attn.compile("b1 hq2 hkv2 sq64 sk64 d64 f32")(q2, q2, q2), name="mine")
        q2 = np.ones((1, 2, 64, 64), "f4")
        try:
            interrupt(0.05)
            thread.start()
            time.sleep(10)
        except KeyboardInterrupt:
            print("interrupted")
        thread.join()
        check_usable()
    """)
    assert found == "interrupted\n"


def test_in_the_child_of_a_fork_during_a_compilation():
    found = run("""
        warm_up()
        thread = threading.Thread(target=lambda: attn.compile("b1 hq2 hkv2 sq64 sk64 d64 f32 causal=top_left"))
        thread.start()
        child = os.fork()
        if child == 0:
            interrupt()
            try:
                attn.sdpa(q, k, v, score_mod=slow)
            except KeyboardInterrupt:
                check_usable()
                os._exit(3 if time.process_time() - sent < 2 else 4)
            os._exit(5)
        thread.join()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)
    assert found == "3\n"


def test_a_process_that_ends_by_the_signal_ends_as_python_does():
    text = SLOW + "warm_up()\ninterrupt()\nattn.sdpa(q, k, v, score_mod=slow)\n"
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=clock.NO_END, check=False
    )
    assert done.returncode == -signal.SIGINT
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")


def test_kernels_are_compiled_where_no_thread_can_be_started(monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    q = np.ones((1, 1, 2, 4), np.float32)
    assert (attn.compile("sq2 sk2 d4 f32")(q, q, q) == 1).all()


def test_a_kernel_that_is_made_nevertheless_is_freed(monkeypatch):
    """The signal comes after the compiler's last look."""
    made, freed = [], []
    library = _library.load()

    def interrupted(work, abandon):
        future = Future()
        future.set_result(work())
        made.append(future.result()[0])
        abandon(future)
        raise KeyboardInterrupt

    class Watched:
        def __getattr__(self, name):
            return freed.append if name == "attn_module_destroy" else getattr(library, name)

    monkeypatch.setattr(_background, "call", interrupted)
    monkeypatch.setattr(_library, "load", Watched)
    with pytest.raises(KeyboardInterrupt):
        _compile.compile_source(Source(_library.SOURCE_PROBLEM, b"sq2 sk2 d4 f32", "the problem", "host"))
    assert made[0] is not None
    assert freed == made
    library.attn_module_destroy(made[0])


def test_the_cache_forgets_what_was_interrupted():
    cache = _cache.KernelCache()

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.get("key", interrupted)
    assert len(cache) == 0
    assert cache.get("key", lambda: "kernel") == "kernel"


def test_those_that_wait_do_not_share_an_interrupt():
    cache, started, results = _cache.KernelCache(), threading.Event(), []

    def interrupted():
        started.wait()
        time.sleep(0.1)  # the other one waits by then; where it does not, it makes the kernel all the same
        raise KeyboardInterrupt

    def other():
        started.set()
        results.append(cache.get("key", lambda: "kernel"))

    thread = threading.Thread(target=other)

    def first():
        thread.start()
        interrupted()

    with pytest.raises(KeyboardInterrupt):
        cache.get("key", first)
    thread.join()
    assert results == ["kernel"]
