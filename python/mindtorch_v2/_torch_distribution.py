"""What importlib.metadata says of torch and torch_npu while mindtorch stands in for them."""

import importlib.metadata
import pathlib

from mindtorch_v2 import version


class TorchDistribution(importlib.metadata.Distribution):
    """The distribution of one package."""

    def __init__(self, name, module):
        self._texts = {
            "METADATA": (
                f"Metadata-Version: 2.1\nName: {name}\n"
                f"Version: {version.torch_version_with_ours}\n"
                "Summary: mindtorch, standing in for it\n"
            ),
            "top_level.txt": f"{module}\n",
        }

    def read_text(self, filename):
        return self._texts.get(filename)

    def locate_file(self, path):
        return pathlib.Path(__file__).parent / path
