"""The CUDA driver by ctypes, and the kernels that build.sh has made: no package but NumPy."""

from __future__ import annotations

import ctypes
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

# Bits of 16-bit floats that NumPy has no type for travel as integers.
STORAGE = {"bfloat16": np.uint16, "float8_e4m3fn": np.uint8, "float8_e5m2": np.uint8, "bool": np.bool_}


def encode(values: np.ndarray, dtype: str) -> np.ndarray:
    """f32 numbers as the device stores them; bf16 is rounded to nearest, ties to even."""
    if dtype != "bfloat16":
        return values.astype(STORAGE.get(dtype, dtype))
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def decode(stored: np.ndarray, dtype: str) -> np.ndarray:
    """What the device stores, as f64 (bool stays as it is)."""
    if dtype == "bfloat16":
        return (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype == "float8_e4m3fn":
        return E4M3[stored]
    if dtype == "float8_e5m2":  # the upper byte of a float16
        return (stored.astype(np.uint16) << 8).view(np.float16).astype(np.float64)
    return stored if dtype == "bool" else stored.astype(np.float64)


def _make_e4m3() -> np.ndarray:
    """Sign, 4 bits of exponent (bias 7), 3 bits of mantissa; 0x7f and 0xff are NaN."""
    bits = np.arange(256)
    exponent, mantissa = (bits >> 3) & 15, bits & 7
    size = np.where(exponent == 0, mantissa * 2.0**-9, (8 + mantissa) * 2.0 ** (exponent - 10.0))
    return np.where((bits & 127) == 127, np.nan, np.where(bits >= 128, -size, size))


E4M3 = _make_e4m3()


class Driver:
    """The driver's primary context of device 0, current on this thread."""

    def __init__(self, path: str) -> None:
        """Loads libcuda, or another library with its functions."""
        self.path = path
        self.library = ctypes.CDLL(path)
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function of the driver; raises where it fails."""
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name} failed with code {code}")

    def name(self) -> str:
        """The device's name, where the driver says it."""
        text = ctypes.create_string_buffer(128)
        has_name = hasattr(self.library, "cuDeviceGetName")
        return (
            text.value.decode() if has_name and self.library.cuDeviceGetName(text, 128, 0) == 0 else "emulated device"
        )

    def synchronize(self) -> None:
        """Waits until the device has done all."""
        self.call("cuCtxSynchronize")


class Buffer:
    """Memory of the device, freed with the object."""

    def __init__(self, driver: Driver, size: int) -> None:
        """New memory of `size` bytes."""
        self.driver, self.size, address = driver, size, ctypes.c_uint64()
        driver.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 256)))
        self.address = address.value

    def __del__(self) -> None:
        """Gives it back."""
        self.driver.library.cuMemFree_v2(ctypes.c_uint64(self.address))

    def write(self, array: np.ndarray) -> None:
        """Copies an array to the device."""
        array = np.ascontiguousarray(array)
        size = ctypes.c_size_t(array.nbytes)
        self.driver.call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.address), ctypes.c_void_p(array.ctypes.data), size)

    def read(self, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        """A copy on the host, as the device stores it."""
        array = np.empty(shape, STORAGE.get(dtype, dtype))
        size = ctypes.c_size_t(array.nbytes)
        self.driver.call("cuMemcpyDtoH_v2", ctypes.c_void_p(array.ctypes.data), ctypes.c_uint64(self.address), size)
        return array


class Kernel:
    """A library of build.sh: arguments as its manifest has them."""

    def __init__(self, driver: Driver, stem: Path, sizes: dict[str, int]) -> None:
        """Loads it; `sizes` are those that each call says."""
        self.driver, self.line, self.label = driver, *stem.with_suffix(".txt").read_text().split("\n")[:2]
        manifest = json.loads(stem.with_suffix(".json").read_text())
        kernel = manifest["kernels"][0]
        self.conventions, self.target = kernel["conventions"], manifest["target"]["name"]
        self.arguments = kernel["arguments"]
        self.sizes = [sizes[name] for name in kernel["sizes"]]
        for argument in self.arguments:
            argument["shape"] = tuple(sizes.get(size, size) for size in argument["shape"])
        self.library = ctypes.CDLL(str(stem.with_suffix(".so")))
        self.check(self.library.attn_cuda_load_driver(driver.path.encode()))
        self.entry = getattr(self.library, kernel["entry"])
        count = getattr(self.library, kernel["workspace_bytes"])
        count.restype = ctypes.c_int64
        self.workspace = Buffer(driver, count(*map(ctypes.c_int64, self.sizes)))

    def check(self, code: int) -> None:
        """Raises with the launcher's message where the code is not 0."""
        if code != 0:
            message = self.library.attn_cuda_message
            message.restype = ctypes.c_char_p
            raise RuntimeError(f"{self.line}: {message().decode()} (code {code})")

    def bind(self, arrays: dict[str, np.ndarray]) -> dict[str, Buffer]:
        """Buffers of all arguments by pointer; those of `arrays` are written."""
        buffers = {}
        for argument in self.arguments:
            if argument["passed_by"] == "pointer":
                item = np.dtype(STORAGE.get(argument["dtype"], argument["dtype"])).itemsize
                buffers[argument["name"]] = Buffer(self.driver, math.prod(argument["shape"]) * item)
        for name, array in arrays.items():
            if name in buffers:
                buffers[name].write(array)
        return buffers

    def launch(self, arrays: dict[str, np.ndarray], buffers: dict[str, Buffer]) -> None:
        """Starts the kernel on the null stream."""
        words: list[Any] = []
        for argument in self.arguments:
            name = argument["name"]
            words.append(
                ctypes.c_void_p(buffers[name].address) if name in buffers else ctypes.c_int64(int(arrays[name]))
            )
        words += map(ctypes.c_int64, self.sizes)
        space = ctypes.c_void_p(self.workspace.address), ctypes.c_int64(self.workspace.size)
        self.check(self.entry(*words, *space, ctypes.c_void_p(None)))
