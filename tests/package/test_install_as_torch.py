"""mindtorch in torch's place: install_as_torch() and `python -m mindtorch_v2`."""

import os
import subprocess
import sys
import textwrap

import pytest


def launch(*arguments, input=None, cwd=None, environment=None, fails=False):
    """Runs python -m mindtorch_v2; gives what it prints, or with `fails` what it complains."""
    result = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2", *arguments],
        input=input,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
    )
    assert (result.returncode != 0) == fails, result.stderr
    return result.stderr if fails else result.stdout


def run(code, **options):
    return launch("-c", textwrap.dedent(code), **options)


def write(folder, name, code):
    path = folder / name
    path.write_text(textwrap.dedent(code))
    return str(path)


# --- the launcher -------------------------------------------------------------------------------

PROGRAM = """
import os, sys
import torch
print(__name__, os.path.basename(__file__), sys.argv[1:], sys.modules["__main__"].PROBE
      if "PROBE" in globals() else torch.ones(2).tolist(), __spec__)
import neighbour
"""


def test_script_runs_as_python_runs_it(tmp_path):
    script = write(tmp_path, "program.py", PROGRAM)
    write(tmp_path, "neighbour.py", "import torch.nn.functional as F; print(F.relu.__name__)")
    assert launch(script, "a", "--device", "b").splitlines() == [
        "__main__ program.py ['a', '--device', 'b'] [1.0, 1.0] None",
        "relu",
    ]


def test_module_code_and_standard_input(tmp_path):
    package = tmp_path / "tool"
    package.mkdir()
    write(package, "__init__.py", "")
    write(
        package,
        "__main__.py",
        "import sys, torch; print(sys.argv[1:], __package__, torch.zeros(1).item())",
    )
    assert launch("-m", "tool", "x", cwd=tmp_path) == "['x'] tool 0.0\n"
    assert launch(str(package), "y") == "['y']  0.0\n"
    code = "import sys, torch; print(sys.argv, torch.ones(1).item(), __name__)"
    assert launch("-c", code, "z") == "['-c', 'z'] 1.0 __main__\n"
    assert launch("-", "z", input=code) == "['-', 'z'] 1.0 __main__\n"
    assert launch(input=code) == "['-'] 1.0 __main__\n"


def test_exit_status_and_traceback(tmp_path):
    assert launch("-c", "raise SystemExit(3)", fails=True) == ""
    script = write(tmp_path, "fails.py", "def f():\n    import torch\n    torch.ones(2) + 'a'\nf()")
    error = launch(script, fails=True)
    assert f'File "{script}", line 3, in f\n    torch.ones(2) +' in error
    assert error.rstrip().splitlines()[-1].startswith("TypeError: ")


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["nowhere.py"], "can't open file"),
        (["--devise", "npu", "x.py"], "unknown option --devise"),
        (["--device", "gpu", "x.py"], "--device takes npu, not 'gpu'"),
        (["-c"], "-c needs an argument"),
        (["-x"], "unknown option -x"),
    ],
)
def test_wrong_command_lines(arguments, text):
    error = launch(*arguments, fails=True)
    assert text in error and "usage: python -m mindtorch_v2" in error


# --- what `torch` is ----------------------------------------------------------------------------


def test_every_name_is_mindtorchs():
    assert (
        run("""
        import mindtorch_v2, sys, torch, torch.nn.functional as F, torch_npu
        from torch import nn
        from torch.utils.data import DataLoader
        from torch.optim.lr_scheduler import LambdaLR
        assert torch is mindtorch_v2 and nn is mindtorch_v2.nn is torch.nn
        assert F is mindtorch_v2.nn.functional is sys.modules["torch.nn.functional"]
        import mindtorch_v2.optim.lr_scheduler as ours
        assert ours.LambdaLR is LambdaLR and torch_npu.npu is torch.npu
        # What mindtorch itself imports later is torch's, too.
        import mindtorch_v2.nn.utils.prune as prune
        assert sys.modules["torch.nn.utils.prune"] is prune
        import torch.nn.utils.prune
        print(torch.__name__, torch.nn.__name__, torch_npu.__name__, prune.__name__)
    """)
        == "torch torch.nn torch_npu torch.nn.utils.prune\n"
    )


def test_unknown_names_are_unknown():
    assert run("""
        import importlib, importlib.util
        import torch
        for use in (
            lambda: torch.no_such, lambda: torch.nn.no_such, lambda: torch.cuda.no_such,
            lambda: importlib.import_module("torch.no_such"),
            lambda: importlib.import_module("torch.nn.no.such"),
            lambda: importlib.import_module("torch_npu.no_such"),
            lambda: exec("from torch.nn import no_such"),
        ):
            try:
                use()
            except Exception as error:
                print(type(error).__name__, str(error).split(" (")[0])
        print(hasattr(torch, "no_such"), importlib.util.find_spec("torch.no_such"))
    """).splitlines() == [
        "AttributeError module 'torch' has no attribute 'no_such'",
        "AttributeError module 'torch.nn' has no attribute 'no_such'",
        "AttributeError module 'torch.cuda' has no attribute 'no_such'",
        "ModuleNotFoundError No module named 'torch.no_such'",
        "ModuleNotFoundError No module named 'torch.nn.no'",
        "ModuleNotFoundError No module named 'torch_npu.no_such'",
        "ImportError cannot import name 'no_such' from 'torch.nn'",
        "False None",
    ]


def test_versions_and_specs():
    assert (
        run("""
        import importlib.metadata as metadata, importlib.util, os
        found = importlib.util.find_spec("torch")
        lazily = importlib.util.find_spec("torch.nn.utils.prune")
        import torch, mindtorch_v2
        assert found.origin == torch.__file__ and lazily.origin.endswith("prune.py")
        assert metadata.version("torch") == metadata.version("torch-npu") == torch.__version__
        assert metadata.version("torch_npu") == torch.__version__ == torch.version.__version__
        assert "torch" in metadata.packages_distributions()["torch"]
        assert metadata.metadata("torch")["Name"] == "torch"
        assert torch.__version__ >= (2, 4) and torch.__version__ < "3"
        try:
            metadata.version("no-such-package")
        except metadata.PackageNotFoundError:
            print(torch.__version__.split("+")[0])
    """)
        == "2.13.0\n"
    )


def test_source_can_be_read():
    assert run("""
        import inspect, torch
        print(inspect.getsource(torch.nn.Identity).splitlines()[0])
        print(inspect.getmodule(torch.nn.Linear) is torch.nn.modules.linear)
        print(inspect.getsource(torch.nn.functional.gumbel_softmax).split("(")[0])
    """).splitlines() == ["class Identity(Module):", "True", "def gumbel_softmax"]


def test_reload_keeps_the_module():
    assert (
        run("""
        import importlib, torch.nn.functional
        print(importlib.reload(torch.nn.functional) is torch.nn.functional)
    """)
        == "True\n"
    )


# --- beside another torch -----------------------------------------------------------------------

OTHER = """
import sys, types
sys.modules["torch"] = other = types.ModuleType("torch")
other.__file__ = "/elsewhere/torch/__init__.py"
import mindtorch_v2
try:
    mindtorch_v2.install_as_torch()
except RuntimeError as error:
    print(error)
assert sys.modules["torch"] is other and mindtorch_v2.__name__ == "mindtorch_v2"
"""


def test_two_torches_do_not_mix():
    result = subprocess.run([sys.executable, "-c", OTHER], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "another torch is already imported, from '/elsewhere/torch/__init__.py'" in result.stdout


def test_an_installed_torch_is_not_touched(oracle):
    assert (
        run("""
        import sys, torch
        from torch import nn
        print(torch.nn.Linear(2, 1)(torch.ones(1, 2)).shape)
        assert not any("site-packages/torch/" in (getattr(module, "__file__", "") or "")
                       for module in sys.modules.values())
    """)
        == "torch.Size([1, 1])\n"
    )
    plain = subprocess.run(
        [sys.executable, "-c", "import torch; print('mindtorch' in torch.__version__)"],
        capture_output=True,
        text=True,
    )
    assert plain.stdout == "False\n"


def test_install_twice_and_wrong_device():
    assert (
        run("""
        import torch, sys
        before = list(sys.path), list(sys.meta_path), torch.__version__
        torch.install_as_torch()
        assert before == (sys.path, sys.meta_path, torch.__version__)
        try:
            torch.install_as_torch(device="tpu")
        except ValueError as error:
            print(error)
    """)
        == "install_as_torch(): device must be None or 'npu', not 'tpu'\n"
    )


# --- pickles and worker processes ---------------------------------------------------------------

WORKERS = """
import multiprocessing, pickle, sys
from concurrent.futures import ProcessPoolExecutor
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        import torch as again
        assert again is torch and "mindtorch" in again.__version__
        return again.full((2,), float(i))

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

def forward(net, x):
    import torch.nn.functional as F
    return F.relu(net.layer(x)).detach(), torch.nn.__name__, torch.device("cuda").type

if __name__ == "__main__":
    method, cuda = sys.argv[1:]
    net, x = Net(), torch.ones(3, 2)
    copy = pickle.loads(pickle.dumps(net))
    assert type(copy) is Net and torch.equal(copy.layer.weight, net.layer.weight)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        y, name, device = pool.submit(forward, net, x).result()
    assert torch.equal(y, forward(net, x)[0]) and name == "torch.nn" and device == cuda
    loader = DataLoader(Numbers(), batch_size=2, num_workers=1, multiprocessing_context=method)
    print([batch.tolist() for batch in loader])
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_have_the_same_torch(method, tmp_path):
    script = write(tmp_path, "workers.py", WORKERS)
    expected = "[[[0.0, 0.0], [1.0, 1.0]], [[2.0, 2.0], [3.0, 3.0]]]\n"
    assert launch(script, method, "cuda") == expected


def test_spawned_workers_send_cuda_to_the_npu(tmp_path):
    script = write(tmp_path, "workers.py", WORKERS)
    assert launch("--device", "npu", script, "spawn", "npu").startswith("[[[0.0")


# --- torch_npu, and cuda on NPUs ----------------------------------------------------------------

CUDA_PROGRAM = """
import torch
from torch.cuda.amp import autocast
model = torch.nn.Linear(4, 2).cuda()
x = torch.ones(3, 4, device="cuda:0")
with torch.autocast("cuda", dtype=torch.float16), torch.cuda.stream(torch.cuda.Stream()):
    y = model(x)
torch.cuda.synchronize()
assert torch.cuda.is_available() and torch.cuda is torch.npu
assert y.is_cuda and y.is_npu and y.untyped_storage().is_cuda
generator = torch.Generator(device="cuda").manual_seed(0)
torch.randn(2, generator=generator, device="cuda").to("cpu")
assert torch.cuda.memory_allocated() > 0 and torch.cuda.CUDAGraph is torch.npu.NPUGraph
moved = torch.zeros(1).cuda(0)
print(y.device, y.dtype, torch.device("cuda", 0), moved.device, model.weight.device)
"""
ON_NPU = "npu:0 torch.float16 npu:0 npu:0 npu:0\n"


def test_device_npu_sends_cuda_there_and_says_so_once(tmp_path):
    script = write(tmp_path, "program.py", CUDA_PROGRAM)
    result = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2", "--device=npu", script],
        env={**os.environ, "MINDTORCH_NPU": "sim"},
        capture_output=True,
        text=True,
    )
    assert result.stdout == ON_NPU, result.stderr
    assert result.stderr.count('devices named "cuda" are NPUs from here on') == 1


def test_transfer_to_npu(tmp_path):
    program = "import torch\nimport torch_npu\nfrom torch_npu.contrib import transfer_to_npu\n"
    sim = {"MINDTORCH_NPU": "sim"}
    assert launch("-c", program + CUDA_PROGRAM, environment=sim) == ON_NPU


def test_without_it_cuda_stays_cuda():
    assert (
        run("""
        import torch, torch_npu
        print(torch.device("cuda"), torch.cuda.is_available(), torch.cuda is torch.npu)
    """)
        == "cuda False False\n"
    )


def test_classes_have_torch_names():
    text = run(
        """
        import io, pickle, torch
        print(torch.Tensor, torch.nn.Linear, torch.dtype, torch.optim.SGD)
        print(type(torch.ones(1)).__module__, torch.typename(torch.nn.Linear))
        model = pickle.loads(pickle.dumps(torch.nn.Linear(2, 1)))
        print(b"mindtorch" in pickle.dumps(torch.nn.Linear), model(torch.ones(1, 2)).shape)
        """
    )
    assert text.splitlines() == [
        "<class 'torch.Tensor'> <class 'torch.nn.modules.linear.Linear'> <class 'torch.dtype'> "
        "<class 'torch.optim.sgd.SGD'>",
        "torch torch.nn.modules.linear.Linear",
        "False torch.Size([1, 1])",
    ]
