"""Attention of one sequence on several ranks of torch.distributed: docs/Scaling.md."""
