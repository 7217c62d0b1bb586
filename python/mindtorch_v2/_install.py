"""install_as_torch(): `import torch` and `import torch_npu` give mindtorch in this process."""

import contextlib
import importlib.machinery
import importlib.util
import os
import sys

import mindtorch_v2
from mindtorch_v2 import version

_OURS = "mindtorch_v2"
_NPU = f"{_OURS}.torch_npu"
_FOLDER = os.path.dirname(__file__)
# Folders with a torch.py and a torch_npu.py that install mindtorch; see _show_to_workers().
_WORKER_PATHS = {device: os.path.join(_FOLDER, "_worker_path", device) for device in ("any", "npu")}
_DISTRIBUTIONS = {"torch": "torch", "torch-npu": "torch_npu"}


def install_as_torch(*, device=None):
    """Puts mindtorch in the place of torch and torch_npu: for the rest of the process `torch` and
    its submodules are mindtorch's modules, and libraries that ask for torch's version are told
    `torch.__version__`, which is that of the torch that mindtorch follows. An installed torch is
    not touched. With device="npu" a device named "cuda" is an NPU.

        import mindtorch_v2
        mindtorch_v2.install_as_torch()
        import torch, transformers

    Call it before anything imports torch. `python -m mindtorch_v2 program.py` does it for a whole
    program.
    """
    if device not in (None, "npu"):
        raise ValueError(f"install_as_torch(): device must be None or 'npu', not {device!r}")
    for name in ("torch", "torch_npu"):
        _refuse_other(name)
    if not _is_installed():
        sys.meta_path.insert(0, _Finder)
        for module in [m for name, m in sys.modules.items() if name.split(".")[0] == _OURS]:
            _name_as_torch(module)
        from mindtorch_v2.torch_version import TorchVersion

        version.__version__ = version.version = TorchVersion(version.torch_version_with_ours)
        mindtorch_v2.__version__ = version.__version__
        _show_to_workers("any")
    if device == "npu":
        from mindtorch_v2._cuda_as_npu import send_cuda_to_npu

        send_cuda_to_npu()
        _show_to_workers("npu")


def _is_installed():
    return _Finder in sys.meta_path


def _refuse_other(name):
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None) or ""
    if module is None or file.startswith(_FOLDER + os.sep):
        return
    raise RuntimeError(
        f"install_as_torch(): another {name} is already imported, from {file or module!r}, and a "
        "process has room for one. Call install_as_torch() before the first import of torch, or "
        "start the program with `python -m mindtorch_v2`."
    )


def _show_to_workers(device):
    """Processes that multiprocessing spawns begin with this sys.path: their first import of torch
    finds a file that installs mindtorch. The first entry stays: it is the program's folder."""
    for folder in _WORKER_PATHS.values():
        if folder in sys.path:
            sys.path.remove(folder)
    sys.path.insert(1, _WORKER_PATHS[device])


def _our_name(name):
    """mindtorch_v2.nn for torch.nn; None for a name outside torch and torch_npu."""
    package, dot, rest = name.partition(".")
    if package == "torch":
        return f"{_OURS}{dot}{rest}"
    if package == "torch_npu":
        return f"{_NPU}{dot}{rest}"
    return None


def _torch_name(name):
    """torch.nn for mindtorch_v2.nn."""
    if name == _NPU or name.startswith(_NPU + "."):
        return name.removeprefix(_OURS + ".")
    return "torch" + name.removeprefix(_OURS)


def _name_as_torch(module):
    """The name is what messages of Python show: module 'torch' has no attribute 'such'."""
    if module.__name__.split(".")[0] == _OURS:
        module.__name__ = _torch_name(module.__name__)
    sys.modules[module.__name__] = module
    _name_classes_as_torch(module)


def _name_classes_as_torch(module):
    """<class 'torch.Tensor'>: libraries find out by this name whose class it is."""
    for value in list(vars(module).values()):
        name = value.__module__ if isinstance(value, type) else None
        if isinstance(name, str) and name.split(".")[0] == _OURS:
            with contextlib.suppress(TypeError):  # a class that cannot be changed
                value.__module__ = _torch_name(name)


class _SourceLoader(importlib.machinery.SourceFileLoader):
    """Loads a module of mindtorch and gives it torch's name as well."""

    def exec_module(self, module):
        super().exec_module(module)
        _name_as_torch(module)


class _AliasLoader:
    """Loads torch.nn as the module mindtorch_v2.nn."""

    def __init__(self, name):
        self._name = name

    def create_module(self, spec):
        module = importlib.import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self._spec  # the import system has put the alias's there


def alias(fullname, ours):
    """The spec of `fullname` as another name of the module `ours`; None where there is none."""
    found = importlib.util.find_spec(ours)
    if found is None:
        return None
    spec = importlib.machinery.ModuleSpec(fullname, _AliasLoader(ours), origin=found.origin)
    spec.submodule_search_locations = found.submodule_search_locations
    spec.has_location = found.has_location
    return spec


class _Finder:
    """Finds torch.x as mindtorch_v2.x, and what mindtorch is installed as in the metadata."""

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        ours = _our_name(fullname)
        if ours is not None:
            return alias(fullname, ours)
        if not fullname.startswith(_OURS + "."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = _SourceLoader(spec.loader.name, spec.loader.path)
        return spec

    @staticmethod
    def invalidate_caches():
        """Nothing is cached."""

    @staticmethod
    def find_distributions(context=None):
        from mindtorch_v2._torch_distribution import TorchDistribution

        wanted = getattr(context, "name", None)
        if wanted is not None:
            wanted = wanted.lower().replace("_", "-").replace(".", "-")
        for name, module in _DISTRIBUTIONS.items():
            if wanted in (None, name):
                yield TorchDistribution(name, module)
