#!/usr/bin/env python3
"""Times whole transformers of transformers' configurations, with fixed and with open sizes, beside ONNX Runtime.

    . build/peers/bin/activate                                  # of setup_peers.sh, with transformers
    PYTHONPATH=python:scripts python benchmarks/models.py [NAME…] [--threads=1] [--lengths=128,512] [--keep=FOLDER]

Models have four layers of 384 columns and random weights. torch.onnx.export writes each twice, with the sizes of the
call and with open ones; attn.from_onnx compiles the file whole, and ONNX Runtime loads the same file. Results are
compared with ONNX Runtime's. A row has milliseconds of processor time with one thread, of wall clock with more: best
and median of rounds in turn.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
from export_models import Model
from exports import export

import attn

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


def prepare(path: Path, arrays: Arrays, threads: int) -> tuple[dict[str, Callable[[], object]], tuple[float, float]]:
    """The calls of both systems, whose results agree, and the seconds that loading took each."""
    begin = time.perf_counter()
    kernel = attn.from_onnx(path, "main_graph", fail_on_fallback=True, cache=False).kernel
    compiled = time.perf_counter()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    seconds = (compiled - begin, time.perf_counter() - compiled)
    feeds = {node.name: arrays[node.name] for node in session.get_inputs()}
    inputs = list(feeds.values())
    (expected,) = session.run(None, feeds)
    np.testing.assert_allclose(kernel(*inputs), expected, rtol=0, atol=TOLERANCE * np.abs(expected).max())
    return {"attn": lambda: kernel(*inputs), "runtime": lambda: session.run(None, feeds)}, seconds


def measure_row(path: Path, arrays: Arrays, threads: int) -> str:
    """The cells of a row: times, their ratio, and what loading takes."""
    calls, seconds = prepare(path, arrays, threads)
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
                    cells = measure_row(folder / name, arrays, options.threads)
                except Exception as failure:  # of an exporter or a system: the others are timed
                    cells = f"{type(failure).__name__}: {str(failure).splitlines()[0]}"
                print(f"| {model.name} | {length} | {'open' if dynamic else 'fixed'} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
