"""How lit runs test/ and examples/: which files, what stands for what in a RUN line, what this machine can do.

RUN lines find attn-opt, attnc, FileCheck, not, split-file and mlir-opt by name. Besides lit's own substitutions:
  %plugin          the plugin for mlir-opt
  %cc %cxx         the compilers of the build;  %attn_cflags: the include folders a C user of attn needs
  %libdir          where libattn.so, libattn_runtime.so and the static libraries are
  %mlir_lib_dir    where MLIR's runner libraries are
  %python          the interpreter of build/venv
  %source          the root of the source tree
  %mpirun N        starts N processes of a program on this machine
Features: x86-64-v2, x86-64-v3, x86-64-v4, amx (what this processor runs), ptxas, cuda, python, asan, mpi (Open MPI's
mpicc and mpirun, which scripts/setup.sh --mpi installs), lld (its linkers for macOS and Windows).
"""

import ctypes
import os
import shutil

import lit.formats

config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "jax-compiler", "mlir-c", "mlir-python", "out-of-tree", "Frontends"]
if config.name == "test":
    config.excludes += ["unit", "python", "fuzz", "tsan", "package"]  # ctest runs these itself

config.environment["PATH"] = os.pathsep.join([*config.tools_folders, config.environment["PATH"]])
config.environment["OMP_WAIT_POLICY"] = "passive"  # tests run side by side
# Where Python keeps compiled kernels: not in the user's home.
config.environment["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "cache")
for name in ("ASAN_OPTIONS", "LD_PRELOAD", "LSAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions += [
    ("%plugin", config.plugin),
    ("%attn_cflags", f"-I{config.source_folder}/include -isystem {config.dlpack_folder}"),
    ("%cc", config.c_compiler),
    ("%cxx", config.cxx_compiler),
    ("%libdir", config.library_folder),
    ("%python", config.python),
    ("%source", config.source_folder),
    ("%mlir_lib_dir", config.mlir_library_folder),
    # More processes than cores, on any of them; tests run side by side.
    ("%mpirun", "mpirun --allow-run-as-root --oversubscribe --bind-to none -n"),
]

# The features of the x86-64 micro-architecture levels, and of AMX tiles, as LLVM names them.
LEVELS = {
    "x86-64-v2": {"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"},
    "x86-64-v3": {"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"},
    "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "amx": {"amx-tile", "amx-bf16"},
}


def runs(needed):
    """Whether this processor has these features, as the runtime finds them; false before the runtime is built."""
    try:
        runtime = ctypes.CDLL(f"{config.library_folder}/libattn_runtime.so")
    except OSError:
        return False
    found = (ctypes.c_uint64 * 2)()  # ATTN_FEATURE_WORDS
    runtime.attn_detect_features(found)
    bits = [runtime.attn_find_feature(name.encode()) for name in needed]
    return all(found[bit // 64] >> bit % 64 & 1 for bit in bits)


config.available_features |= {level for level, needed in LEVELS.items() if runs(needed)}
if shutil.which("ptxas"):
    config.available_features.add("ptxas")
if all(shutil.which(name, path=config.environment["PATH"]) for name in ("ld64.lld", "lld-link")):
    config.available_features.add("lld")
if shutil.which("mpicc") and shutil.which("mpirun"):
    config.available_features.add("mpi")
if os.path.exists("/dev/nvidiactl"):
    config.available_features.add("cuda")
if "address" in config.sanitizers:
    # No program without the sanitizer's runtime can load our libraries: neither Python nor Debian's mlir-opt.
    config.available_features.add("asan")
elif config.python:
    config.available_features.add("python")
