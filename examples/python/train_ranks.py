"""A small GPT whose sequences are on the ranks that torchrun starts, beside the same training on one (docs/Scaling.md).

    torchrun --nproc-per-node=2 examples/python/train_ranks.py        # 50 steps

Attention is the one place where rows meet; all else is of a row, but sums over rows in gradients of parameters. So the
modules run by blocks of S / 8 rows, and the gradients of the blocks are joined in one tree, as ordered=True does within
attention: then losses and weights are the same bits on any number of ranks. Without it they differ by rounding.
"""

import argparse
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F  # noqa: N812 - as everybody writes it
from torch import nn

import attn.torch

TEXT = Path(__file__).resolve().parents[2] / "docs/Semantics.md"
BYTES, WIDTH, HEADS, LAYERS, CONTEXT, BATCH, BLOCKS = 256, 32, 4, 2, 64, 4, 8


class ByBlock(nn.Module):
    """A module of rows, called with one block of rows after the other.

    Every call has the same shapes, however many blocks a rank has, and parameters of its own, so that their gradients
    are there by block.
    """

    def __init__(self, module):
        super().__init__()
        self.module, self.leaves = module, []

    def forward(self, size, *arguments):
        results, self.leaves = [], []
        for parts in zip(*(x.split(size, 1) for x in arguments), strict=True):
            leaves = {name: x.detach().requires_grad_() for name, x in self.module.named_parameters()}
            results.append(torch.func.functional_call(self.module, leaves, tuple(x.contiguous() for x in parts)))
            self.leaves.append(list(leaves.values()))
        return torch.cat(results, 1)


class Embed(nn.Module):
    """Bytes and their positions to rows."""

    def __init__(self):
        super().__init__()
        self.bytes, self.positions = nn.Embedding(BYTES, WIDTH), nn.Embedding(CONTEXT, WIDTH)

    def forward(self, ids, positions):
        return self.bytes(ids) + self.positions(positions)


class After(nn.Module):
    """What follows attention in a block of the transformer."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(
            nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x, attended):
        x = x + self.project(attended)
        return x + self.mlp(x)


class Loss(nn.Module):
    """The sum of the losses of rows, (1, 1)."""

    def __init__(self):
        super().__init__()
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, BYTES))

    def forward(self, x, labels):
        return F.cross_entropy(self.head(x).flatten(0, 1), labels.flatten(), reduction="sum")[None, None]


class Model(nn.Module):
    """Bytes, labels and positions (B, rows) to the losses (1, blocks) of blocks of rows."""

    def __init__(self):
        super().__init__()
        self.embed, self.loss = ByBlock(Embed()), ByBlock(Loss())
        qkv = [nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH)) for _ in range(LAYERS)]
        self.qkv = nn.ModuleList(map(ByBlock, qkv))
        self.after = nn.ModuleList(ByBlock(After()) for _ in range(LAYERS))

    def forward(self, size, ids, labels, positions):
        x = self.embed(size, ids, positions)
        for qkv, after in zip(self.qkv, self.after, strict=True):
            q, k, v = (y.unflatten(-1, (HEADS, -1)).transpose(1, 2) for y in qkv(size, x).chunk(3, dim=-1))
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # of the whole, inside of the context
            x = after(size, x, attended.transpose(1, 2).flatten(2))
        return self.loss(size, x, labels)

    def gradients(self):
        """(blocks, numbers): of all parameters, by block."""
        modules = [self.embed, *self.qkv, *self.after, self.loss]
        rows = zip(*(x.leaves for x in modules), strict=True)
        return torch.stack([torch.cat([x.grad.flatten() for leaves in row for x in leaves]) for row in rows])

    def weights(self):
        """The parameters in the order of `gradients`."""
        return [x for module in (self.embed, *self.qkv, *self.after, self.loss) for x in module.parameters()]


def joined(parts):
    """The sum of blocks: of neighbours, of neighbours of these, and so on."""
    while len(parts) > 1:
        sums = [a + b for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = sums + list(parts[len(sums) * 2 :])
    return parts[0]


def train(group, steps, by_block, **options):
    """The losses of each step, and the weights at the end; options are those of the context."""
    torch.manual_seed(0)
    text = torch.tensor(list(TEXT.read_bytes()))
    model, ranks = Model(), dist.get_world_size(group)
    weights = model.weights()
    optimiser = torch.optim.AdamW(weights, lr=3e-3)
    size = CONTEXT // (BLOCKS if by_block else ranks)
    losses = []
    for _ in range(steps):
        starts = torch.randint(len(text) - CONTEXT - 1, (BATCH,))
        batch = torch.stack([text[n : n + CONTEXT + 1] for n in starts])
        buffers = [batch[:, :-1].clone(), batch[:, 1:].clone(), torch.arange(CONTEXT).repeat(BATCH, 1)]
        with attn.torch.context_parallel(group, buffers=buffers, buffer_seq_dims=[1, 1, 1], **options):
            found = model(size, *buffers)
            (found / batch[:, 1:].numel()).sum().backward()
            first = buffers[2][0, ::size].float()
        # Of a block: its first row, its loss and its gradients. All ranks join all blocks in the order of rows.
        mine = torch.cat([first[:, None], found.detach().T, model.gradients()], 1)
        gathered = [torch.empty_like(mine) for _ in range(ranks)]
        dist.all_gather(gathered, mine, group=group)
        blocks = torch.cat(gathered)
        _, loss, *total = joined(list(blocks[blocks[:, 0].argsort()])).split([1, 1, *(x.numel() for x in weights)])
        for x, gradient in zip(weights, total, strict=True):
            x.grad = gradient.view_as(x)
        optimiser.step()
        losses.append(loss.item() / batch[:, 1:].numel())
    return losses, torch.cat([x.detach().flatten() for x in weights])


FORMS = {
    "ring, ordered, by block": (True, {"method": "ring", "ordered": True}),
    "allgather, ordered, by block": (True, {"method": "allgather", "ordered": True}),
    "ulysses, by block": (True, {"method": "ulysses"}),
    "ring, ordered": (False, {"method": "ring", "ordered": True}),
    "ring": (False, {"method": "ring"}),
    "allgather": (False, {"method": "allgather"}),
    "ulysses": (False, {"method": "ulysses"}),
}


def main():
    """Every form on all ranks and on this one alone."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=50)
    steps = parser.parse_args().steps
    dist.init_process_group("gloo")
    torch.set_num_threads(1)  # the bits of PyTorch's own functions depend on it
    attn.set_num_threads(1)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    alone = [dist.new_group([r]) for r in range(ranks)][rank]
    for name, (by_block, options) in FORMS.items():
        losses, weights = train(dist.group.WORLD, steps, by_block, **options)
        expected, expected_weights = train(alone, steps, by_block, **options)
        same = sum(x == y for x, y in zip(losses, expected, strict=True))
        error = max(abs(x - y) / y for x, y in zip(losses, expected, strict=True))
        bits = "the same bits" if torch.equal(weights, expected_weights) else "other bits"
        if rank == 0:
            print(
                f"{ranks} ranks, {name}: loss {losses[0]:.4f} to {losses[-1]:.4f}, {same} of {steps} with the bits of "
                f"one rank, largest difference {error:.1e}; weights: {bits}"
            )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
