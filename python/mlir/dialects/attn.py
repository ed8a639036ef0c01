"""The attn dialect: an op class and a builder for each op, and the enums of its attributes."""

from ._attn_enum_gen import *  # noqa: F403
from ._attn_ops_gen import *  # noqa: F403
from ._attn_ops_gen import _Dialect  # noqa: F401
