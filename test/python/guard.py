"""Kernels whose every argument lies between guard pages (guard_pages.c): `python guard.py LIBRARY TARGET FIRST`.

In such a process each kernel runs three times: as always; with each buffer flush with the end of its pages; and flush
with their beginning. Inputs are read-only then, what new outputs hold before is 0xA5, and all three results are equal
bit by bit. `test_guard.py` starts it and reads what it prints: `case NAME`, then at most one line of what is wrong.
"""

import ctypes
import sys
from pathlib import Path

import numpy as np

from attn.kernel import _dlpack, _library
from attn.kernel._kernel import Kernel

POISON = 0xA5
SIDES = {"end": 1, "beginning": 0}


def load(path: str) -> ctypes.CDLL:
    """guard_pages.c as a library, its handler installed."""
    library = ctypes.CDLL(path)
    library.guard_allocate.restype = ctypes.c_void_p
    library.guard_allocate.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    library.guard_find_overwritten.restype = ctypes.c_char_p
    assert library.guard_install() == 0
    return library


class Guard:
    """Runs the kernels of this process between guard pages from now on."""

    def __init__(self, path: str) -> None:
        """Takes the place of `Kernel.on_arrays` and `Kernel._run`, and leaves no way around them."""
        self.library, self.run, self.on_arrays = load(path), Kernel._run, Kernel.on_arrays
        self.kernels = 0

        def on_arrays(kernel, inputs, model, out=None):
            self.has_new_outputs = out is None
            return self.on_arrays(kernel, inputs, model, out)

        Kernel.on_arrays = on_arrays
        Kernel._quick = lambda *_: None
        Kernel._run = lambda kernel, inputs, outputs: self.run_thrice(kernel, inputs, outputs)

    def run_thrice(self, kernel, inputs, outputs):
        """As always into `outputs`; then with guard pages at either side, whose results must be the same."""
        before = [np.ascontiguousarray(x).tobytes() for x in outputs]
        self.run(kernel, inputs, outputs)
        self.kernels += 1
        for side, at_end in SIDES.items():
            found = self.run_guarded(kernel, inputs, outputs, before, side, at_end)
            for argument, expected, bits in zip(kernel.outputs, outputs, found, strict=True):
                if expected.tobytes() != bits:
                    raise AssertionError(f"{argument['name']} has other bits where buffers are flush with their {side}")

    def run_guarded(self, kernel, inputs, outputs, before, side, at_end):
        """The bytes of the outputs, all buffers between guard pages."""
        tensors = []
        for argument, array in zip(kernel.inputs, inputs, strict=True):
            tensors.append(self.place(argument["name"], array, array.tobytes(), side, at_end))
            assert self.library.guard_seal() == 0
        for argument, array, old in zip(kernel.outputs, outputs, before, strict=True):
            old = bytes([POISON]) * array.nbytes if self.has_new_outputs else old
            tensors.append(self.place(argument["name"], array, old, side, at_end))
        addresses = (ctypes.c_void_p * len(tensors))(*map(ctypes.addressof, tensors))
        message = _library.Message()
        status = _library.load().attn_module_call(
            kernel._module, kernel.name.encode(), addresses, len(tensors), message, len(message)
        )
        assert status == _library.OK, message.value
        overwritten = self.library.guard_find_overwritten()
        assert overwritten is None, f"a write beside {overwritten.decode()} on the side away from the {side}"
        results = tensors[len(inputs) :]
        found = [ctypes.string_at(x.data, y.nbytes) for x, y in zip(results, outputs, strict=True)]
        self.library.guard_free_all()
        return found

    def place(self, name, array, contents, side, at_end):
        """The DLTensor of a copy of the array between guard pages."""
        address = self.library.guard_allocate(f"{name}, flush with its {side}".encode(), len(contents), at_end)
        assert address is not None
        ctypes.memmove(address, contents, len(contents))
        tensor = _dlpack.describe(name, array)
        tensor.data = address
        return tensor


def main(library: str, target: str, first: str) -> None:
    from guard_cases import cases_of

    guard = Guard(library)
    for name, case in list(cases_of(target).items())[int(first) :]:
        print("case", name, flush=True)
        ran = guard.kernels
        try:
            case()
            assert guard.kernels > ran, "no kernel ran"
        except Exception as error:
            print("failed:", type(error).__name__, *str(error).split(), flush=True)
            guard.library.guard_free_all()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
    main(*sys.argv[1:])
