"""mindtorch in torch's place, and the devices that the programs run on.

Only where the libraries are installed: in the environment of `make test-dropin`.
"""

import importlib.util
import os

import pytest

LIBRARIES = importlib.util.find_spec("transformers") is not None
collect_ignore_glob = [] if LIBRARIES else ["test_*.py"]

if LIBRARIES:
    os.environ.setdefault("MINDTORCH_NPU", "sim")
    os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is downloaded
    import mindtorch_v2

    mindtorch_v2.install_as_torch()


@pytest.fixture(params=["cpu", "npu"])
def place(request):
    """The device of a program."""
    return request.param
