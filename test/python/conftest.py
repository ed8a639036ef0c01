"""Settings of the Python tests: hypothesis draws the same examples every time, fresh generators for each test."""

import hypothesis
import numpy as np
import pytest

hypothesis.settings.register_profile("attn", derandomize=True, deadline=None, print_blob=True)
hypothesis.settings.load_profile("attn")


@pytest.fixture
def rng():
    return np.random.default_rng(20251120)
