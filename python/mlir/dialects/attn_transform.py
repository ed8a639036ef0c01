"""transform.attn.raise and its siblings; beside mlir.dialects.transform."""

from ._attn_transform_ops_gen import *  # noqa: F403
