"""transformers' continuous batching on a small Llama with random weights: tokens a second by "attn" beside "sdpa".

    build/frameworks/bin/python benchmarks/continuous.py --threads 2 --requests 8 --prompt 2048 --tokens 16

Both implementations take turns in one process; the best of the rounds counts. Prompts alone are a run for one token.
"""

from __future__ import annotations

import argparse
import copy
import time
from typing import Any

import torch
import transformers
from transformers import ContinuousBatchingConfig, GenerationConfig

import attn
import attn.torch as at

PAGE, STEP_TOKENS, ROUNDS, VOCABULARY = 64, 512, 2, 1024
SIZES = {"hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 8}
SIZES |= {"num_key_value_heads": 2, "vocab_size": VOCABULARY, "max_position_embeddings": 8192}
IMPLEMENTATIONS = ("sdpa", "attn")


def make(implementation: str) -> Any:
    """The model, with the same weights for each implementation."""
    torch.manual_seed(0)
    configuration = transformers.LlamaConfig(**copy.deepcopy(SIZES))
    return transformers.AutoModelForCausalLM.from_config(configuration, attn_implementation=implementation).eval()


def run(model: Any, prompts: list[list[int]], tokens: int) -> tuple[float, list[list[int]]]:
    """Seconds, and the tokens of each request."""
    blocks = -(-max(map(len, prompts)) // PAGE) + -(-tokens // PAGE) + 1
    settings = ContinuousBatchingConfig(
        page_size=PAGE,
        num_blocks=blocks * len(prompts),
        max_batch_tokens=STEP_TOKENS,
        max_blocks_per_request=blocks,
    )
    greedy = GenerationConfig(max_new_tokens=tokens, do_sample=False, pad_token_id=0, eos_token_id=VOCABULARY)
    begin = time.perf_counter()
    made = model.generate_batch(prompts, generation_config=greedy, continuous_batching_config=settings)
    return time.perf_counter() - begin, [x.generated_tokens for x in made.values()]


def main() -> None:
    """Prints a line for each implementation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--requests", type=int, default=8)
    parser.add_argument("--prompt", type=int, default=2048, help="tokens of the longest prompt")
    parser.add_argument("--tokens", type=int, default=16, help="that each request generates")
    options = parser.parse_args()
    at.register_transformers()
    torch.set_num_threads(options.threads)
    attn.set_num_threads(options.threads)
    torch.manual_seed(0)
    prompts = [torch.randint(VOCABULARY, (options.prompt - 16 * n,)).tolist() for n in range(options.requests)]
    models = {name: make(name) for name in IMPLEMENTATIONS}
    run(models["attn"], prompts, 2)  # compiles
    first, whole, found = ({name: [] for name in IMPLEMENTATIONS} for _ in range(3))
    for _ in range(ROUNDS):
        for name, model in models.items():
            first[name].append(run(model, prompts, 1)[0])
            took, found[name] = run(model, prompts, options.tokens)
            whole[name].append(took)
    made = options.requests * options.tokens
    for name in IMPLEMENTATIONS:
        prefill, took = min(first[name]), min(whole[name])
        decoding = (made - options.requests) / max(took - prefill, 1e-9)
        speed = f"{made / took:.1f} tokens/s, after prompts {decoding:.0f}"
        print(f"{name}: prompts {prefill:.2f} s, all {took:.2f} s, {speed}")
    print("tokens equal:", found["sdpa"] == found["attn"])


if __name__ == "__main__":
    main()
