"""IR that is nested deeply is refused in the process of the user, on whatever thread compiles it."""

import threading

import pytest

import attn

KERNEL = """func.func @kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.copy ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}"""


def deep(levels: int) -> str:
    return f"module attributes {{test.value = {'[' * levels}{']' * levels}}} {{ {KERNEL} }}"


@pytest.mark.parametrize("levels", [256, 100_000])
def test_refused(levels):
    with pytest.raises(
        attn.CompileError, match="expected at most 256 brackets and operators inside each other"
    ) as error:
        attn.compile(deep(levels))
    assert "input.mlir:1:" in error.value.diagnostics


def test_on_a_thread():
    kernels, errors = [], []

    def work(levels):
        try:
            kernels.append(attn.compile(deep(levels)))
        except attn.CompileError as error:
            errors.append(error)

    for levels in (250, 100_000):
        thread = threading.Thread(target=work, args=[levels])
        thread.start()
        thread.join()
    assert len(kernels) == len(errors) == 1
