"""Functions of front ends in pipelines of a stock mlir-opt with the plugin; what ends in LLVM is executed.

Each module gets a `main` that calls the function with sines and returns a weighted sum of its result.
"""

import re
import subprocess

import numpy as np
import pytest

from paths import ATTNC

ROOT = ATTNC.parents[3]
PLUGIN = ATTNC.parents[1] / "lib" / "libAttnPlugin.so"
FILES = [
    "jax/heads_in_columns",
    "jax/causal_lowest",
    "jax/library_groups_causal",
    "jax/flax_layer",
    "torch/decoder_layer",
]
PERIOD = 97  # of the sines, so that their angles stay small
TO_LLVM = (
    "convert-linalg-to-loops,expand-strided-metadata,lower-affine,convert-vector-to-scf,convert-scf-to-cf,"
    "convert-math-to-llvm,convert-math-to-libm,convert-vector-to-llvm,finalize-memref-to-llvm,convert-func-to-llvm,"
    "convert-arith-to-llvm,convert-index-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts"
)
BUFFERIZE = (
    "one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map},"
    "buffer-deallocation-pipeline"
)
# For ops of x86vector, and for tiles of AMX that branches carry (docs/Embedding.md).
WITH_TILES = TO_LLVM.replace("convert-vector-to-llvm", "convert-vector-to-llvm{enable-x86vector enable-amx}").replace(
    "convert-cf-to-llvm", "convert-to-llvm{filter-dialects=cf,amx}"
)
PIPELINES = {
    "fuse": "func.func(attn-raise,attn-canonicalize,attn-fuse)",
    "flash": "attn-to-flash,canonicalize,cse",
    "buffers": "attn-to-flash,one-shot-bufferize{bufferize-function-boundaries},"
    "func.func(attn-lower-tile-to-vector),canonicalize",
    "reference": f"attn-to-reference,{BUFFERIZE},{TO_LLVM}",
    "whole": "attn-to-flash,attn-to-llvm{parallel=false}",
    "upstream": "attn-to-flash,one-shot-bufferize{bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map},func.func(attn-lower-tile-to-vector),"
    f"buffer-deallocation-pipeline,func.func(scf-forall-to-for),{WITH_TILES}",
}


def get_values(shape, seed):
    positions = (np.arange(np.prod(shape)) % PERIOD).astype(np.float32).reshape(shape)
    return np.sin(positions * np.float32(0.37) + np.float32(seed))


def write_values(seed, shape):
    """%vSEED, the same sines."""
    rank, ty = len(shape), f"tensor<{'x'.join(map(str, shape))}xf32>"
    names = ", ".join(f"d{i}" for i in range(rank))
    lines = ["%p0 = arith.constant 0 : index"]
    for i, size in enumerate(shape):
        lines += [
            f"%i{i} = linalg.index {i} : index",
            f"%s{i} = arith.constant {size} : index",
            f"%m{i} = arith.muli %p{i}, %s{i} : index",
            f"%p{i + 1} = arith.addi %m{i}, %i{i} : index",
        ]
    body = "\n    ".join(lines)
    iterators = ", ".join(['"parallel"'] * rank)
    return f"""
  %e{seed} = tensor.empty() : {ty}
  %v{seed} = linalg.generic {{indexing_maps = [affine_map<({names}) -> ({names})>], iterator_types = [{iterators}]}}
      outs(%e{seed} : {ty}) {{
  ^bb0(%old: f32):
    {body}
    %period = arith.constant {PERIOD} : index
    %rest = arith.remui %p{rank}, %period : index
    %position = arith.index_cast %rest : index to i32
    %number = arith.sitofp %position : i32 to f32
    %step = arith.constant 0.37 : f32
    %first = arith.constant {float(seed)} : f32
    %product = arith.mulf %number, %step : f32
    %angle = arith.addf %product, %first : f32
    %sine = math.sin %angle : f32
    linalg.yield %sine : f32
  }} -> {ty}"""


def add_main(text):
    """`text` with a main, and the shapes of the model's arguments and result."""
    model = re.search(r"func\.func @model\((.*?)\) -> \(?(tensor<[^>]*>)", text, re.S)
    shapes = [[int(x) for x in s.split("x")] for s in re.findall(r"tensor<([\dx]+)xf32>", model[1] + model[2])]
    types = [f"tensor<{'x'.join(map(str, s))}xf32>" for s in shapes]
    last, names = len(shapes) - 1, ", ".join(f"d{i}" for i in range(len(shapes[-1])))
    each, iterators = f"affine_map<({names}) -> ({names})>", ", ".join(['"reduction"'] * len(shapes[-1]))
    main = f"""
func.func @main() -> f32 {{{"".join(write_values(i, s) for i, s in enumerate(shapes))}
  %r = call @model({", ".join(f"%v{i}" for i in range(last))}) : ({", ".join(types[:-1])}) -> {types[-1]}
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %fill = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %sum = linalg.generic {{indexing_maps = [{each}, {each}, affine_map<({names}) -> ()>],
      iterator_types = [{iterators}]}} ins(%r, %v{last} : {types[-1]}, {types[-1]}) outs(%fill : tensor<f32>) {{
  ^bb0(%a: f32, %b: f32, %old: f32):
    %product = arith.mulf %a, %b : f32
    %new = arith.addf %old, %product : f32
    linalg.yield %new : f32
  }} -> tensor<f32>
  %result = tensor.extract %sum[] : tensor<f32>
  return %result : f32
}}
"""
    end = text.rstrip().rindex("}")
    return f"{text[:end]}{main}}}\n", shapes[:-1], shapes[-1]


@pytest.fixture(scope="module", params=FILES)
def module(request, tmp_path_factory):
    """The file with a main, its sum in f64, and the largest that such a sum can be."""
    folder = tmp_path_factory.mktemp("walk")
    source = ROOT / "test" / "Frontends" / f"{request.param}.mlir"
    text, arguments, result = add_main(source.read_text())
    (folder / "main.mlir").write_text(text)
    command = [ATTNC, "run", "--reference", source, f"--output={folder / 'out.npy'}"]
    for i, shape in enumerate(arguments):
        np.save(folder / f"{i}.npy", get_values(shape, i))
        command.append(f"--input={folder / f'{i}.npy'}")
    subprocess.run(command, check=True, capture_output=True)
    terms = np.load(folder / "out.npy").astype(np.float64) * get_values(result, len(arguments))
    return folder / "main.mlir", terms.sum(), np.abs(terms).sum()


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_front_ends_function_in_a_pipeline(module, pipeline, tmp_path):
    source, expected, magnitude = module
    plugin = [f"--load-dialect-plugin={PLUGIN}", f"--load-pass-plugin={PLUGIN}"]
    passes = f"--pass-pipeline=builtin.module({PIPELINES[pipeline]})"
    done = subprocess.run(["mlir-opt-22", source, *plugin, passes], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if pipeline in ("fuse", "flash"):
        assert "attn.sdpa" in done.stdout or "attn.online_step" in done.stdout
        return
    assert "attn.online_step" not in done.stdout
    if pipeline == "buffers":
        return
    (tmp_path / "out.mlir").write_text(done.stdout)
    command = ["mlir-runner-22", tmp_path / "out.mlir", "-e", "main", "-entry-point-result=f32"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert abs(float(ran.stdout) - expected) < 1e-5 * magnitude


def test_tiles_that_are_left_name_the_pass():
    function = """
func.func @f(%q: tensor<1x2x16x8xf32>, %o: tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>)
      outs(%o : tensor<1x2x16x8xf32>) {causal} -> tensor<1x2x16x8xf32>
  return %r : tensor<1x2x16x8xf32>
}
"""
    plugin = [f"--load-dialect-plugin={PLUGIN}", f"--load-pass-plugin={PLUGIN}"]
    passes = (
        f"--pass-pipeline=builtin.module(attn-to-flash,one-shot-bufferize{{bufferize-function-boundaries}},{TO_LLVM})"
    )
    done = subprocess.run(["mlir-opt-22", "-", *plugin, passes], input=function, capture_output=True, text=True)
    assert done.returncode == 1
    assert "run attn-lower-tile-to-vector before conversions to the LLVM dialect" in done.stderr
