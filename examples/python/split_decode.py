"""Decoding over a cache whose pages are on the ranks that torchrun starts, beside one call on all (docs/Scaling.md).

torchrun --nproc-per-node=2 examples/python/split_decode.py
"""

import torch
import torch.distributed as dist

import attn
import attn.torch

PAGE = 16
LENGTHS = torch.tensor([83, 32, 5], dtype=torch.int32)  # the last sequence has keys on rank 0 alone

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
attn.set_num_threads(1)
torch.manual_seed(0)
q = torch.randn(3, 4, 1, 32)
k, v = (torch.randn(18, PAGE, 2, 32) for _ in "kv")  # of every rank here, to compare with
table = torch.randperm(18, dtype=torch.int32).reshape(3, 6)
expected, expected_lse = attn.torch.paged_sdpa(q, k, v, table, LENGTHS, return_lse=True)

# Page p of a sequence is on rank p mod n: all are full but for the sequence's last one.
mine = table[:, rank::ranks].contiguous()
positions = torch.arange(6 * PAGE).reshape(6, PAGE)[rank::ranks].flatten()
lengths = (positions < LENGTHS[:, None]).sum(1, dtype=torch.int32)
out, row_max, log_sum = attn.paged_sdpa(q, k, v, mine, lengths, return_max=True, return_log_sum=True)

# In the order of ranks, so that all have the same bits. Max and log_sum are lse, as two terms.
parts = []
for x in (out, row_max, log_sum):
    parts.append([torch.empty_like(x) for _ in range(ranks)])
    dist.all_gather(parts[-1], x.contiguous())
(out, *terms), *others = zip(*parts, strict=True)
for other, *other_terms in others:
    out, terms = attn.merge(out, tuple(terms), other, tuple(other_terms))
error = float((out - expected).abs().max())
lse_error = float((terms[0] + terms[1] - expected_lse).abs().max())
assert error < 1e-5
assert lse_error < 1e-5
if rank == 0:
    print(f"{ranks} ranks, pages dealt in turn: out differs by {error:.1e}, lse by {lse_error:.1e}")
dist.destroy_process_group()
