"""libattn.so through ctypes: the declarations of attn.h, attn_image.h and attn_print.h in
include/attn-c, and nothing else.

The library lies inside the installed package, or in build/release/lib of the checkout that this file belongs to.
`import attn` loads it, so that a library that is missing is said there. ctypes releases the GIL during every call.
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

SOURCE_MLIR, SOURCE_PROBLEM, SOURCE_ONNX, SOURCE_ONNX_FILE = 0, 1, 2, 3
TEXT_IR, TEXT_ASSEMBLY, TEXT_REMARKS = 0, 1, 2
OK, WRONG_TYPE, WRONG_DEVICE, WRONG_VALUE, WRONG_PROCESSOR, NO_MEMORY = 0, 5, 8, 10, 11, 12
COMPILE_ERROR, NO_SUCH_KERNEL = 20, 21
DEVICE_CPU, DEVICE_CUDA = 1, 2
# From here on the codes are attn_cuda.h's.
FIRST_CUDA_STATUS = 30
MESSAGE_SIZE = 1024
KEY_SIZE = 65
FILE_NAME = "libattn.so"
# Debian's packages of what the libattn.so of a checkout needs; a wheel has its own, under other names.
PACKAGES = {
    "libLLVM": "libllvm22",
    "libMLIR": "libmlir-22",
    "libgcc_s": "libgcc-s1",
    "libomp": "libomp-22-dev",
    "libstdc++": "libstdc++6",
    "libz": "zlib1g",
    "libzstd": "libzstd1",
}


def error(status: int, text: str) -> Exception:
    """What a call raises that ends with a status other than OK."""
    if status in (WRONG_TYPE, WRONG_DEVICE):
        return TypeError(text)
    if status == NO_MEMORY:
        return MemoryError(text)
    return RuntimeError(text) if status == WRONG_PROCESSOR or status >= FIRST_CUDA_STATUS else ValueError(text)


def workspace_bytes(label: str, count: Any, *arguments: Any) -> int:
    """What a call of a kernel for a GPU needs, by the function that counts it; its errors begin with the label."""
    message = ctypes.create_string_buffer(MESSAGE_SIZE)
    needed = int(count(*arguments, message, MESSAGE_SIZE))
    if needed < 0:
        raise error(-needed, f"{label}: {message.value.decode(errors='replace')}")
    return needed


class DLDevice(ctypes.Structure):
    """Where a tensor's memory is; DLPack's DLDevice."""

    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    """The type of an element; DLPack's DLDataType."""

    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    """A borrowed tensor; DLPack's DLTensor. Strides count elements."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class CompileOptions(ctypes.Structure):
    """attn_compile_options."""

    _fields_ = [
        ("target", ctypes.c_char_p),
        ("parallel", ctypes.c_char_p),
        ("reference", ctypes.c_int),
        ("fail_on_fallback", ctypes.c_int),
    ]


# What a call writes its message to.
Message = ctypes.c_char * MESSAGE_SIZE

capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def candidates() -> list[Path]:
    """Where the library may lie, best first."""
    package = Path(__file__).resolve().parents[1]
    return [package / FILE_NAME, package.parents[1] / "build" / "release" / "lib" / FILE_NAME]


def path() -> Path:
    """Where the library lies.

    Raises:
      ImportError: there is none.
    """
    found = next((path for path in candidates() if path.is_file()), None)
    if found is None:
        places = ", ".join(map(str, candidates()))
        raise ImportError(f"expected {FILE_NAME} at one of {places}, found none; run scripts/setup.sh to build it")
    return found


def take(message: ctypes.c_void_p) -> str:
    """The text that we own, freed."""
    if not message.value:
        return ""
    text = ctypes.string_at(message.value).decode(errors="replace").rstrip()
    load().attn_free_string(message)
    return text


@functools.cache
def load() -> ctypes.CDLL:
    """The library with the types of its functions set.

    Raises:
      ImportError: there is none, or it does not load; the message names what is missing and what to install.
    """
    where = path()
    try:
        library = ctypes.CDLL(str(where))
    except OSError as error:
        raise ImportError(_why_not_loaded(where, str(error)), path=str(where)) from None
    for name, (result, arguments) in _signatures().items():
        function = getattr(library, name, None)
        if function is None:
            raise ImportError(f"expected {name} in {where}, found an older library; run scripts/setup.sh to build it")
        function.restype, function.argtypes = result, arguments
    return library


def _signatures() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """The functions that are called: the type of the result, and those of the arguments."""
    # char * that must be freed is a c_void_p here: ctypes would copy a c_char_p and lose the pointer.
    address, text, number, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t
    place, message = ctypes.POINTER(ctypes.c_void_p), (text, size)
    source = (number, text, size, ctypes.POINTER(CompileOptions))
    # The tensors are DLTensor **: a pointer object for each would take longer than a call of a small kernel.
    call = (address, text, address, ctypes.c_int64)
    return {
        "attn_compile_cancellable": (number, (*source, ctypes.POINTER(ctypes.c_int32), place, place)),
        "attn_compile_key": (number, (*source, text, place)),
        "attn_print": (number, (*source, number, text, place, place)),
        "attn_module_take_image": (address, (address, ctypes.POINTER(size))),
        "attn_module_load": (number, (text, size, place, place)),
        "attn_module_destroy": (None, (address,)),
        "attn_module_manifest": (text, (address,)),
        "attn_module_call": (number, (*call, *message)),
        "attn_module_workspace_bytes": (ctypes.c_int64, (*call, *message)),
        "attn_module_call_cuda": (ctypes.c_int32, (*call, address, ctypes.c_int64, address, *message)),
        "attn_use_cuda_driver": (ctypes.c_int32, (text, *message)),
        "attn_set_num_threads": (None, (number,)),
        "attn_set_object_cache": (None, (text,)),
        "attn_set_quick_code": (None, (ctypes.c_int32,)),
        "attn_get_num_threads": (number, ()),
        "attn_version": (text, ()),
        "attn_targets": (text, ()),
        "attn_free_string": (None, (address,)),
    }


@functools.cache
def in_addresses(name: str) -> Any:
    """A function of the library that takes addresses as numbers, in the place of texts too."""
    result, arguments = _signatures()[name]
    numbers = [ctypes.c_void_p if x is ctypes.c_char_p else x for x in arguments]
    return ctypes.CFUNCTYPE(result, *numbers)((name, load()))


def _why_not_loaded(path: Path, error: str) -> str:
    """What dlopen found, and what to install where it is a library of another package."""
    missing, _, reason = error.partition(": ")
    if missing == str(path) or not reason.startswith("cannot open shared object file"):
        return f"expected {path} to load, found: {error}"
    package = PACKAGES.get(missing.split(".so")[0])
    advice = f"apt-get install {package}, or install attn from its wheel" if package else "install attn again"
    return f"expected {missing}, which {path} needs, found none; {advice}"
