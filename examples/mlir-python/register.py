"""Registers the dialect with a context of libMLIR: `python register.py PATH/_attnDialects….so PATH/libcontext.so`.

With MLIR's bindings this is `_attnDialects.register_dialect(context)` of an `mlir.ir.Context`. No package has bindings
of MLIR 22.1, so that the context comes from context.c here, with the one property that the extension reads.
"""

import ctypes
import sys
from pathlib import Path

extension, library = map(Path, sys.argv[1:])
sys.path.insert(0, str(extension.parent))
import _attnDialects  # noqa: E402

mlir = ctypes.CDLL(str(library))
mlir.create_context.restype = ctypes.c_void_p
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Context:
    """As mlir.ir.Context."""

    def __init__(self) -> None:
        """Makes a context that knows the builtin dialect alone."""
        self.pointer = ctypes.c_void_p(mlir.create_context())
        self._CAPIPtr = new_capsule(self.pointer, b"mlir.ir.Context._CAPIPtr", None)

    def knows(self, op: bytes) -> bool:
        """Whether an op of this name is registered and loaded."""
        return bool(mlir.knows(self.pointer, op))


context = Context()
assert not context.knows(b"attn.sdpa")
_attnDialects.register_dialect(context)
assert context.knows(b"attn.sdpa")
assert not context.knows(b"attn.none")
_attnDialects.register_passes()
print("registered")
