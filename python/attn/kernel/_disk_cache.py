"""Compiled kernels on disk, shared by the processes of one user: `set_cache`, `clear_cache`, `cache_info`.

A file a kernel, named by the key of its compilation (attn_compile_key of include/attn-c/attn_image.h): the key again,
then the image, whose checksum libattn tests before it loads the code. A file appears under its name by a rename, whole.
Whatever is wrong with a file, the folder or the disk means a compilation, and no message: a cache is no one's errand.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import os
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from attn.kernel import _library

SUFFIX, TEMPORARY = ".kernel", ".tmp"
DEFAULT_LIMIT = 512 * 2**20
# Evicting down to a part of the limit: not every new file lists the folder's oldest again.
KEPT_PART = 0.9
# A temporary file this old is of a process that was killed.
STALE_SECONDS = 3600.0
MAX_FILE_BYTES = 256 * 2**20


class CacheInfo(NamedTuple):
    """What `cache_info` returns.

    Attributes:
      directory: where kernels are kept; None where the cache is off, or this user has no home.
      limit: how many bytes they may have.
      files, bytes: what is there now, of all processes.
      hits, misses: kernels that this process has loaded from there, and those that it has compiled.
      problem: why the directory is not used; None where it is, or will be made.
    """

    directory: Path | None
    limit: int
    files: int
    bytes: int
    hits: int
    misses: int
    problem: str | None


@dataclasses.dataclass
class _State:
    enabled: bool = True
    directory: Path | None = None  # None: the default
    limit: int = DEFAULT_LIMIT
    objects: Path | None = None
    hits: int = 0
    misses: int = 0


_state = _State()
_lock = threading.Lock()
os.register_at_fork(after_in_child=lambda: globals().update(_lock=threading.Lock()))


def set_cache(
    *,
    enabled: bool | None = None,
    directory: str | os.PathLike[str] | None = None,
    limit: int | None = None,
    objects: str | os.PathLike[str] | None = None,
) -> None:
    """Sets whether and where this process keeps compiled kernels on disk; arguments left out change nothing.

    Kernels of `sdpa`, `compile` and all other calls are kept, so that a later process loads them in milliseconds. At
    first the cache is on, in the folder attn of $XDG_CACHE_HOME or ~/.cache, with 512 MiB. A folder that cannot be
    made, that is another user's, or that others may enter is not used; `cache_info().problem` says why.

    Args:
      enabled: False: no kernel is read or written.
      directory: the folder, made with mode 0700 when the first kernel is kept.
      limit: bytes that all kernels in it may have; those used least recently are removed.
      objects: another folder, for machine code of what is compiled, whether kernels are kept or not; "" is none, as at
        first. Code is found there by the LLVM IR that it is made of, as by `attnc --object-cache`: for developers of
        attn, of whose builds each has kernels of its own. Nobody else may write there.

    Raises:
      TypeError: an argument of another kind.
      ValueError: a negative limit, a directory that is no path.
    """
    if enabled is not None and not isinstance(enabled, bool):
        raise TypeError(f"expected enabled to be True or False, found {enabled!r}")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
        raise TypeError(f"expected limit to be a number of bytes, found {limit!r}")
    if limit is not None and limit < 0:
        raise ValueError(f"expected a limit of at least 0 bytes, found {limit}")
    path, folder = _path("directory", directory), _path("objects", objects)
    with _lock:
        _state.enabled = _state.enabled if enabled is None else enabled
        _state.directory = _state.directory if path is None else path
        _state.limit = _state.limit if limit is None else limit
        _state.objects = _state.objects if objects is None else folder if os.fsdecode(objects) else None


def objects() -> bytes | None:
    """The folder of machine code; None for none."""
    return None if _state.objects is None else os.fsencode(_state.objects)


def _path(name: str, given: str | os.PathLike[str] | None) -> Path | None:
    if given is not None and "\0" in os.fsdecode(given):
        raise ValueError(f"expected {name} to be a path, found {given!r}")
    return None if given is None else Path(os.fsdecode(given)).expanduser().absolute()


def cache_info() -> CacheInfo:
    """Where compiled kernels are kept on disk, how many, and how many this process has found there."""
    files: list[os.stat_result] = []
    problem = None
    try:
        with _folder() as folder:
            files = [] if folder is None else [status for _, status in _kernels(folder)]
    except FileNotFoundError:
        pass
    except OSError as error:
        problem = str(error)
    sizes = sum(x.st_size for x in files)
    return CacheInfo(_directory(), _state.limit, len(files), sizes, _state.hits, _state.misses, problem)


def clear_cache() -> None:
    """Removes all compiled kernels from the directory; those that processes have loaded stay with them."""
    with contextlib.suppress(OSError), _folder() as folder:
        for name, _ in [] if folder is None else _listing(folder):
            if name.endswith((SUFFIX, TEMPORARY)):
                _remove(folder, name)


def key(kind: int, source: bytes, options: _library.CompileOptions) -> str | None:
    """The key of a compilation; None where the cache is off, or compiling will say what is wrong."""
    if not _state.enabled:
        return None
    digits = ctypes.create_string_buffer(_library.KEY_SIZE)
    status = _library.load().attn_compile_key(kind, source, len(source), ctypes.byref(options), digits, None)
    return digits.value.decode() if status == _library.OK else None


def load(key: str | None) -> int | None:
    """The module of a key, which the caller owns; None where there is none that is whole."""
    data = None
    if key is not None:
        with contextlib.suppress(OSError), _folder() as folder:
            data = None if folder is None else _read(folder, key)
    # A file under another name than its own would be another kernel's code.
    if key is None or data is None or not data.startswith(key.encode()):
        return None
    image, module = data[len(key) :], ctypes.c_void_p()
    _library.load().attn_module_load(image, len(image), ctypes.byref(module), None)
    if module.value is not None:
        with _lock:
            _state.hits += 1
    return module.value


def store(key: str | None, module: int) -> None:
    """Keeps a module that was compiled for a key, and removes old ones beyond the limit."""
    with _lock:
        _state.misses += 1
    library, size = _library.load(), ctypes.c_size_t()
    image = library.attn_module_take_image(module, ctypes.byref(size))
    if not image:
        return
    try:
        if key is not None and size.value <= min(_state.limit, MAX_FILE_BYTES):
            with contextlib.suppress(OSError), _folder(make=True) as folder:
                if folder is not None:
                    _write(folder, key, key.encode() + ctypes.string_at(image, size.value))
                    _evict(folder)
    finally:
        library.attn_free_string(image)


def _directory() -> Path | None:
    """The folder, whether it is there or not; None where the cache is off, or this user has no home."""
    if not _state.enabled or _state.directory is not None:
        return _state.directory if _state.enabled else None
    base = os.environ.get("XDG_CACHE_HOME", "")  # where the platform keeps what can be made again
    try:
        return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "attn"
    except RuntimeError:
        return None


@contextlib.contextmanager
def _folder(*, make: bool = False) -> Iterator[int | None]:
    """The folder, open; None where the cache is off.

    Raises:
      OSError: it cannot be opened or made, or is not this user's alone.
    """
    path = _directory()
    if path is None:
        yield None
        return
    if make:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
    # What follows goes through the descriptor: nobody can put another folder in its place.
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        status = os.fstat(folder)
        if not _is_private(status):
            found = f"user {status.st_uid} and mode {stat.S_IMODE(status.st_mode):04o}"
            raise PermissionError(f"expected {path} to be of user {os.geteuid()} with mode 0700, found {found}")
        yield folder
    finally:
        os.close(folder)


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and status.st_mode & 0o077 == 0


def _read(folder: int, key: str) -> bytes | None:
    """The bytes of a kernel's file, which becomes the one used last; None where it cannot be trusted or read."""
    try:
        with open(key + SUFFIX, "rb", opener=_opener(folder, os.O_NONBLOCK)) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or not _is_private(status) or status.st_size > MAX_FILE_BYTES:
                return None
            with contextlib.suppress(OSError):  # a file system that is read only
                _mark_used(file.fileno())
            return file.read()
    except OSError:
        return None


def _mark_used(file: int) -> None:
    """Sets the time of the last use; the clock that file systems take by themselves moves in steps of milliseconds."""
    now = time.time_ns()
    os.utime(file, ns=(now, now))


def _write(folder: int, key: str, data: bytes) -> None:
    temporary = f"{key}.{os.getpid()}.{os.urandom(8).hex()}{TEMPORARY}"
    try:
        with open(temporary, "wb", opener=_opener(folder, os.O_EXCL)) as file:
            file.write(data)
            file.flush()
            _mark_used(file.fileno())
        os.rename(temporary, key + SUFFIX, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        _remove(folder, temporary)
    except BaseException:  # an interrupt
        _remove(folder, temporary)
        raise


def _evict(folder: int) -> None:
    """Removes the kernels used least recently beyond the limit, and temporary files of killed processes."""
    now = time.time()
    for name, status in _listing(folder):
        if name.endswith(TEMPORARY) and now - status.st_mtime > STALE_SECONDS:
            _remove(folder, name)
    kernels = _kernels(folder)
    total = sum(status.st_size for _, status in kernels)
    if total <= _state.limit:
        return
    for name, status in sorted(kernels, key=lambda x: x[1].st_mtime_ns):
        if total <= KEPT_PART * _state.limit:
            break
        _remove(folder, name)
        total -= status.st_size


def _kernels(folder: int) -> list[tuple[str, os.stat_result]]:
    return [x for x in _listing(folder) if x[0].endswith(SUFFIX)]


def _listing(folder: int) -> list[tuple[str, os.stat_result]]:
    """The files of the folder; another process may remove some meanwhile."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                found.append((entry.name, entry.stat(follow_symlinks=False)))
    return found


def _remove(folder: int, name: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(name, dir_fd=folder)


def _opener(folder: int, more: int) -> Any:
    """An opener for `open` of names in the folder, for this user alone."""
    return lambda name, flags: os.open(name, flags | more | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
