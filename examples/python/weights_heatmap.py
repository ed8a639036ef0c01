"""Attention weights as heat maps, and the tiles of a few masks, as PNG files in a folder.

    build/venv/bin/python examples/python/weights_heatmap.py [FOLDER]

RUN: rm -rf %t %t.here && %python %s %t | FileCheck %s
RUN: ls %t/weights.png %t/tiles-window.png
CHECK: largest error
CHECK: tiles of 64 x 64: {{[0-9]+}} skipped, {{[0-9]+}} partial, {{[0-9]+}} full
CHECK: pictures in {{.*}}: tiles-causal.png, tiles-chunked.png, tiles-prefix.png, tiles-window.png, weights.png
Without a folder it writes into one of its own name, not beside what lies here.
RUN: mkdir -p %t.here && cd %t.here && %python %s && ls %t.here | count 1 && ls %t.here/weights_heatmap/weights.png
"""

import sys
from pathlib import Path

import numpy as np
from report import report

import attn

SENTENCE = ["the", "animal", "did", "not", "cross", "the", "street", "because", "it", "was", "too", "tired"]
rng = np.random.default_rng(0)
words = {word: rng.standard_normal(32) for word in SENTENCE}
x = np.array([words[word] for word in SENTENCE])
w_q, w_k, w_v = (rng.standard_normal((4, 32, 32)) / 6 for _ in range(3))
q, k, v = (np.float32(x @ w)[None] for w in (w_q, w_k, w_v))  # (1, 4 heads, 12 words, 32)


def call():
    return attn.sdpa(q, k, v, causal="top_left", return_weights=True)[1]


report(call, attn.reference.sdpa(q, k, v, causal="top_left", return_weights=True)[1])

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "weights_heatmap")
folder.mkdir(parents=True, exist_ok=True)
figure = attn.plot.weights(call(), query_labels=SENTENCE, key_labels=SENTENCE, title="causal attention, four heads")
figure.savefig(folder / "weights.png", dpi=100)

MASKS = {
    "causal": {"causal": "top_left"},
    "window": {"causal": "top_left", "window": (255, 0)},
    "prefix": {"mask_mod": lambda b, h, i, j: (j < 200) | (j <= i)},
    "chunked": {"mask_mod": lambda b, h, i, j: (i // 192 == j // 192) & (j <= i)},
}
for name, mask in MASKS.items():
    figure = attn.plot.tiles(1024, 1024, (64, 64), title=name, **mask)
    figure.savefig(folder / f"tiles-{name}.png", dpi=100)
    print(figure.axes[0].get_title().replace("\n", ", "))
print(f"pictures in {folder}: {', '.join(sorted(path.name for path in folder.glob('*.png')))}")
