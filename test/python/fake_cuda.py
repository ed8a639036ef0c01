"""An array library whose memory is that of the emulated CUDA driver: what the tests have for torch, CuPy or JAX."""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np

from attn.kernel import _dlpack, _library

EMULATOR = Path(__file__).parents[2] / "build" / "release" / "lib" / "libcuda_emulator.so"


class ManagedTensor(ctypes.Structure):
    """DLPack's DLManagedTensor."""

    _fields_ = [("tensor", _library.DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Driver:
    """The emulated driver, current on the calling thread.

    Attributes:
      stream: on which calls must ask for arrays: the legacy default stream, where their library has none of its own.
    """

    stream = 1

    def __init__(self) -> None:
        """Loads it, for the compiler as well."""
        self.library = ctypes.CDLL(str(EMULATOR))
        context, address = ctypes.c_void_p(), ctypes.c_uint64
        assert self.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert self.library.cuCtxSetCurrent(context) == 0
        self.library.cuMemcpyHtoD_v2.argtypes = [address, ctypes.c_void_p, ctypes.c_size_t]
        self.library.cuMemcpyDtoH_v2.argtypes = [ctypes.c_void_p, address, ctypes.c_size_t]
        message = ctypes.create_string_buffer(256)
        assert _library.load().attn_use_cuda_driver(str(EMULATOR).encode(), message, 256) == 0, message.value

    def allocate(self, size: int) -> int:
        """The address of new memory."""
        address = ctypes.c_uint64()
        assert self.library.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(size, 1))) == 0
        return int(address.value)


class FakeArray:
    """An array on the device; it exports itself through DLPack, and its namespace makes others."""

    def __init__(self, driver: Driver, shape, dtype, *, device_type: int = 2, shift: int = 0) -> None:
        """New memory, `shift` bytes into a buffer."""
        self.driver, self.shape, self.dtype = driver, tuple(shape), np.dtype(dtype)
        self.device_type, self.device, self.number = device_type, "cuda:0", 0
        self.nbytes = int(np.prod(self.shape)) * self.dtype.itemsize
        self._exports: list[ManagedTensor] = []
        self.address = driver.allocate(self.nbytes + shift) + shift

    @classmethod
    def of(cls, driver: Driver, array: np.ndarray, **options) -> FakeArray:
        """A copy on the device."""
        made = cls(driver, array.shape, array.dtype, **options)
        array = np.ascontiguousarray(array)
        assert driver.library.cuMemcpyHtoD_v2(made.address, array.ctypes.data, made.nbytes) == 0
        return made

    def numpy(self) -> np.ndarray:
        """A copy on the host."""
        array = np.empty(self.shape, self.dtype)
        assert self.driver.library.cuMemcpyDtoH_v2(array.ctypes.data, self.address, self.nbytes) == 0
        return array

    def __dlpack_device__(self):
        return (self.device_type, self.number)

    def __dlpack__(self, *, stream=None):
        assert stream == self.driver.stream
        managed = ManagedTensor(tensor=_dlpack.describe("fake", np.empty(self.shape, self.dtype)))
        managed.tensor.data = self.address
        managed.tensor.device = _library.DLDevice(self.device_type, 0)
        self._exports.append(managed)  # one object may be two arguments of a call
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(managed), b"dltensor", None)

    def interface(self, stream: int | None = None, **others) -> Interface:
        """The same memory as an array of a library without DLPack."""
        code = self.dtype.str
        return Interface({"shape": self.shape, "typestr": code, "data": (self.address, False), "version": 3,
                          "strides": None, "stream": stream, **others})  # fmt: skip

    def __array_namespace__(self):
        def empty(shape, *, dtype, device):
            assert device == self.device
            return FakeArray(self.driver, shape, dtype)

        return SimpleNamespace(
            empty=empty, float16=np.float16, float32=np.float32, uint8=np.uint8, bfloat16=ml_dtypes.bfloat16
        )


class Interface:
    """What has a CUDA array interface and no more, as arrays of Numba."""

    def __init__(self, interface) -> None:
        """Of the attribute."""
        self.__cuda_array_interface__ = interface
