#!/usr/bin/env python3
"""Times whole transformers of transformers' configurations, with fixed and with open sizes, beside ONNX Runtime.

    . build/peers/bin/activate                                  # of setup_peers.sh, with transformers
    PYTHONPATH=python:scripts python benchmarks/models.py [NAME…] [--threads=1] [--lengths=128,512] [--keep=FOLDER]

Models have four layers of 384 columns and random weights. torch.onnx.export writes each twice, with the sizes of the
call and with open ones; attn.from_onnx compiles the file whole, and ONNX Runtime loads the same file. Results are
compared with ONNX Runtime's. With --session attn is inside of ONNX Runtime's own session: its attention nodes run by
libattn_ort.so (--exporter=23 writes such nodes). A row has milliseconds of processor time with one thread, of wall
clock with more: best and median of rounds in turn.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
from export_models import Model
from exports import export

import attn
from attn.kernel import _library

HIDDEN, INNER, LAYERS, HEADS, VOCABULARY, LONGEST = 384, 1536, 4, 6, 1000, 1024
TEXT = {"vocab_size": VOCABULARY, "hidden_size": HIDDEN, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "max_position_embeddings": LONGEST}  # fmt: skip
IMAGE = {"hidden_size": HIDDEN, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
         "num_attention_heads": HEADS, "image_size": 224, "patch_size": 16}  # fmt: skip
SPEECH = {"vocab_size": VOCABULARY, "d_model": HIDDEN, "encoder_layers": LAYERS, "decoder_layers": LAYERS,
          "encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS, "encoder_ffn_dim": INNER,
          "decoder_ffn_dim": INNER}  # fmt: skip
Arrays = dict[str, np.ndarray]


def tokens(rng: np.random.Generator, batch: int, length: int) -> Arrays:
    """Tokens and a mask that keeps all."""
    return {"input_ids": rng.integers(3, VOCABULARY, (batch, length)), "attention_mask": np.ones((batch, length), int)}


def pairs(rng: np.random.Generator, batch: int, length: int) -> Arrays:
    """Sequences for an encoder and for a decoder, of one length."""
    return tokens(rng, batch, length) | {"decoder_input_ids": rng.integers(3, VOCABULARY, (batch, length))}


def image(rng: np.random.Generator, batch: int, _: int) -> Arrays:
    """Images of 224 by 224."""
    return {"pixel_values": rng.standard_normal((batch, 3, 224, 224)).astype(np.float32)}


def spectrogram(rng: np.random.Generator, batch: int, _: int) -> Arrays:
    """Spectrograms of 30 seconds."""
    return {"input_features": rng.standard_normal((batch, 80, 3000)).astype(np.float32)}


NO_CACHE = {"use_cache": False}
MODELS = [
    Model("bert", "BertModel", "BertConfig", TEXT, tokens),
    Model("gpt2", "GPT2LMHeadModel", "GPT2Config",
          {"vocab_size": VOCABULARY, "n_embd": HIDDEN, "n_layer": LAYERS, "n_head": HEADS, "n_positions": LONGEST},
          tokens, result="logits", keywords=NO_CACHE),
    Model("llama", "LlamaForCausalLM", "LlamaConfig", TEXT | {"num_key_value_heads": 2, "intermediate_size": 1024},
          tokens, result="logits", keywords=NO_CACHE),
    Model("t5", "T5ForConditionalGeneration", "T5Config",
          {"vocab_size": VOCABULARY, "d_model": HIDDEN, "d_kv": HIDDEN // HEADS, "d_ff": INNER, "num_layers": LAYERS,
           "num_heads": HEADS}, pairs, result="logits", keywords=NO_CACHE),
    Model("vit", "ViTModel", "ViTConfig", IMAGE, image),
    Model("whisper_encoder", "WhisperModel", "WhisperConfig", SPEECH, spectrogram, part="encoder"),
]  # fmt: skip
OF_ONE_LENGTH = {"vit": 197, "whisper_encoder": 1500}
ROUNDS, SECONDS = 15, 20.0
TOLERANCE = 1e-3  # of the largest element


def measure(calls: dict[str, Callable[[], object]], clock: Callable[[], float]) -> dict[str, list[float]]:
    """Milliseconds of each call, in turn."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    end = time.monotonic() + SECONDS
    for _ in range(ROUNDS):
        for name, call in calls.items():
            call()
            begin = clock()
            call()
            times[name].append((clock() - begin) * 1e3)
        if time.monotonic() > end:
            break
    return times


def load(path: Path, threads: int, library: Path | None = None) -> Callable[[Arrays], np.ndarray]:
    """The session of a model of one output, which takes more arrays than it has inputs."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    if library:
        options.register_custom_ops_library(str(library))
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [node.name for node in session.get_inputs()]
    return lambda arrays: session.run(None, {name: arrays[name] for name in names})[0]


def compile_whole(path: Path) -> Callable[[Arrays], np.ndarray]:
    """attn's kernel of the graph."""
    kernel = attn.from_onnx(path, "main_graph", fail_on_fallback=True, cache=False).kernel
    names = [node["name"] for node in kernel.inputs]
    return lambda arrays: kernel(*(arrays[name] for name in names))


def load_with_attn(path: Path, threads: int) -> Callable[[Arrays], np.ndarray]:
    """ONNX Runtime's session, with attention nodes of attn."""
    written = path.with_suffix(".attn")
    command = [sys.executable, "-m", "attn", str(path), "--emit=ort", "--fail-on-fallback", "-o", str(written)]
    subprocess.run(command, check=True)
    return load(written, threads, _library.path().with_name("libattn_ort.so"))


def prepare(
    path: Path, arrays: Arrays, threads: int, *, in_session: bool
) -> tuple[dict[str, Callable[[], object]], tuple[float, float]]:
    """The calls of both systems, whose results agree, and the seconds that loading took each."""
    begin = time.perf_counter()
    kernel = load_with_attn(path, threads) if in_session else compile_whole(path)
    compiled = time.perf_counter()
    session = load(path, threads)
    seconds = (compiled - begin, time.perf_counter() - compiled)
    expected = session(arrays)
    np.testing.assert_allclose(kernel(arrays), expected, rtol=0, atol=TOLERANCE * np.abs(expected).max())
    return {"attn": lambda: kernel(arrays), "runtime": lambda: session(arrays)}, seconds


def measure_row(path: Path, arrays: Arrays, threads: int, *, in_session: bool) -> str:
    """The cells of a row: times, their ratio, and what loading takes."""
    calls, seconds = prepare(path, arrays, threads, in_session=in_session)
    times = measure(calls, time.process_time if threads == 1 else time.perf_counter)
    cells = [f"{min(x):.2f} / {statistics.median(x):.2f}" for x in times.values()]
    ratio = min(times["runtime"]) / min(times["attn"])
    return f"{' | '.join(cells)} | {ratio:.2f} | {seconds[0]:.1f}, {seconds[1]:.1f}"


def main() -> None:
    """Prints a row a model, length and kind of sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--lengths", default="128,512")
    parser.add_argument("--exporter", default="18", help="18, 23 or ts, as in scripts/exports.py")
    parser.add_argument("--session", action="store_true", help="attn inside of ONNX Runtime's session")
    parser.add_argument("--keep", type=Path, help="a folder for the .onnx files")
    options = parser.parse_args()
    attn.set_num_threads(options.threads)
    folder = options.keep or Path(tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    print("| model | length | sizes | attn, ms | ONNX Runtime, ms | ONNX Runtime ÷ attn | compile, load, s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for model in MODELS:
        if options.names and model.name not in options.names:
            continue
        only = OF_ONE_LENGTH.get(model.name)
        for length in [only] if only else map(int, options.lengths.split(",")):
            arrays = model.inputs(np.random.default_rng(0), 1, length)
            for dynamic in (False, True):
                name = f"{model.name}-{'open' if dynamic else length}-{options.exporter}.onnx"
                traced = model.inputs(np.random.default_rng(0), 2, length) if dynamic else arrays
                try:
                    if not (folder / name).exists():
                        export(model, options.exporter, dynamic, folder / name, traced)
                    cells = measure_row(folder / name, arrays, options.threads, in_session=options.session)
                except Exception as failure:  # of an exporter or a system: the others are timed
                    cells = f"{type(failure).__name__}: {str(failure).splitlines()[0]}"
                print(f"| {model.name} | {length} | {'open' if dynamic else 'fixed'} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
