"""Settings of the Python tests: hypothesis draws the same examples every time, fresh generators for each test, kernels
are compiled and not found on disk, up to the LLVM IR of which an earlier test has made machine code, and a test whose
parameter `target` is a level of x86-64 that this processor does not run is skipped.
"""

import hypothesis
import numpy as np
import pytest

import attn
import processor
from paths import OBJECTS

attn.set_cache(enabled=False, objects=OBJECTS)
hypothesis.settings.register_profile("attn", derandomize=True, deadline=None, print_blob=True)
hypothesis.settings.load_profile("attn")


@pytest.fixture
def rng():
    return np.random.default_rng(20251120)


@pytest.fixture(autouse=True)
def the_processor_runs_the_target(request):
    parameters = getattr(request.node, "callspec", None)
    if parameters and isinstance(target := parameters.params.get("target"), str):
        processor.skip_unless_it_runs(target)
