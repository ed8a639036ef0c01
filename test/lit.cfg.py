"""How lit runs test/ and examples/: which files, what stands for what in a RUN line, what this machine can do.

RUN lines find attn-opt, attnc, FileCheck, not, split-file and mlir-opt by name. Besides lit's own substitutions:
  %plugin          the plugin for mlir-opt
  %cc %cxx         the compilers of the build;  %attn_cflags: the include folders a C user of attn needs
  %libdir          where libattn.so, libattn_runtime.so and the static libraries are
  %mlir_lib_dir    where MLIR's runner libraries are
  %python          the interpreter of build/venv
  %source          the root of the source tree
Features: x86-64-v3, x86-64-v4 (what this processor runs), ptxas, cuda, python, asan.
"""

import os
import shutil

import lit.formats

config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "out-of-tree"]
if config.name == "test":
    config.excludes += ["unit", "python", "fuzz", "tsan"]  # ctest runs these itself

config.environment["PATH"] = os.pathsep.join([*config.tools_folders, config.environment["PATH"]])
for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS"):
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
]

# The flags of the x86-64 micro-architecture levels, and of AMX tiles, as Linux names them.
LEVELS = {
    "x86-64-v3": {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"},
    "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "amx": {"amx_tile", "amx_bf16"},
}


def processor_flags():
    """The flags line of the first processor; empty where Linux does not give one."""
    try:
        with open("/proc/cpuinfo", encoding="ascii") as lines:
            return next((set(line.split(":")[1].split()) for line in lines if line.startswith("flags")), set())
    except OSError:
        return set()


flags = processor_flags()
config.available_features |= {level for level, needed in LEVELS.items() if needed <= flags}
if shutil.which("ptxas"):
    config.available_features.add("ptxas")
if os.path.exists("/dev/nvidiactl"):
    config.available_features.add("cuda")
if "address" in config.sanitizers:
    # No program without the sanitizer's runtime can load our libraries: neither Python nor Debian's mlir-opt.
    config.available_features.add("asan")
elif config.python:
    config.available_features.add("python")
