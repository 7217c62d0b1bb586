"""What is not there says so, and settings that change nothing can be set and read."""

import sys

import mindtorch_v2 as torch
import pytest


def test_distributed_is_not_available():
    dist = torch.distributed
    assert not dist.is_available() and not dist.is_initialized() and dist.group.WORLD is None
    with pytest.raises(RuntimeError, match="not available"):
        dist.init_process_group("hccl")
    for use in (dist.get_rank, dist.get_world_size, dist.barrier, dist.new_group, dist.get_backend):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            use()
    with pytest.raises(ValueError, match="has not been initialized"):
        dist.all_reduce(torch.ones(1), op=dist.ReduceOp.SUM)
    with pytest.raises(ValueError, match="has not been initialized"):
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    from mindtorch_v2.distributed.tensor import DTensor

    assert not isinstance(torch.ones(1), DTensor) and issubclass(DTensor, torch.Tensor)
    with pytest.raises(RuntimeError, match="not available"):
        DTensor(torch.ones(1))
    assert dist.Backend("GLOO") == dist.Backend.GLOO and not dist.is_torchelastic_launched()


def test_libraries_of_other_devices_are_not_there():
    backends = torch.backends
    for library in ("cudnn", "mkl", "mkldnn", "mps", "opt_einsum"):
        assert getattr(backends, library).is_available() is False
    assert not backends.openmp.is_available() and not backends.cuda.is_built()
    assert backends.cudnn.version() is None and not backends.mps.is_macos_or_newer(13, 0)
    with pytest.raises(AttributeError):
        backends.no_such  # noqa: B018
    assert not torch.xpu.is_available() and torch.xpu.device_count() == 0
    with pytest.raises(AssertionError, match="not compiled with XPU"):
        torch.xpu.synchronize()


@pytest.mark.filterwarnings("ignore:.* has no effect")
def test_settings_are_kept():
    cudnn, cuda = torch.backends.cudnn, torch.backends.cuda
    cudnn.benchmark = True
    with cudnn.flags(enabled=True, deterministic=True):
        assert cudnn.deterministic and not cudnn.benchmark and cudnn.enabled
    assert cudnn.benchmark and not cudnn.deterministic
    with pytest.raises(TypeError, match="no_such"), cudnn.flags(no_such=1):
        pass
    cudnn.benchmark = False
    cuda.matmul.allow_tf32 = True
    assert cuda.matmul.allow_tf32
    cuda.matmul.allow_tf32 = False
    with cuda.sdp_kernel(enable_flash=False):
        assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
    assert cuda.flash_sdp_enabled()
    assert cuda.preferred_linalg_library("magma") == cuda.preferred_linalg_library() == "magma"
    cuda.preferred_linalg_library("default")
    with pytest.raises(RuntimeError, match="Choose from"):
        cuda.preferred_blas_library("no_such")
    torch.backends.mha.set_fastpath_enabled(False)
    assert not torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(True)


def test_kinds_of_attention():
    from mindtorch_v2.nn.attention import SDPBackend, sdpa_kernel

    q = torch.randn(1, 2, 3, 4)
    wanted = torch.nn.functional.scaled_dot_product_attention(q, q, q)
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        assert not torch.backends.cuda.mem_efficient_sdp_enabled()
        assert torch.equal(torch.nn.functional.scaled_dot_product_attention(q, q, q), wanted)
    assert torch.backends.cuda.mem_efficient_sdp_enabled()
    with pytest.raises(AssertionError, match="SDPBackend"), sdpa_kernel("math"):
        pass


def test_profiler_schedule():
    plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1)
    assert [plan(i).value for i in range(7)] == [0, 0, 1, 2, 3, 0, 0]
    with pytest.raises(AssertionError):
        torch.profiler.schedule(wait=0, warmup=0, active=0)


@pytest.mark.parametrize(
    "smaller, larger",
    [
        ("2.13.0", "2.13.1"),
        ("2.9", "2.13"),
        ("2.13.0rc1", "2.13.0"),
        ("2.13.0a1", "2.13.0b1"),
        ("2.13.0.dev20260101", "2.13.0a1"),
        ("2.13.0", "2.13.0.post1"),
        ("2.13.0", "2.13.0+mindtorch.0.1.0"),
        ("2.13.0+mindtorch.0.1.0", "2.13.0+mindtorch.0.2.0"),
    ],
)
def test_versions_compare_as_versions(smaller, larger):
    Version = torch.torch_version.TorchVersion
    assert Version(smaller) < larger and Version(larger) > smaller
    assert Version(smaller) <= larger and Version(larger) >= smaller
    assert Version(smaller) != larger and not Version(smaller) == larger


def test_versions_compare_with_tuples_and_other_text():
    version = torch.torch_version.TorchVersion("2.13.0+cpu")
    assert version > (2, 4) and version >= (2, 13) and version < (3,) and version != "parrot"
    assert torch.torch_version.TorchVersion("2.0") == (2, 0, 0) == tuple([2, 0, 0])
    assert isinstance(version, str) and version.split("+") == ["2.13.0", "cpu"]
    assert len({version: 1, str(version): 2}) == 1


# --- torch.hub with a folder ----------------------------------------------------------------------

CONFIG = """
dependencies = ["math"]
import helper_of_hub

def model(width=2, bias=True):
    "A layer."
    return helper_of_hub.torch.nn.Linear(width, 1, bias=bias)

def _hidden():
    pass
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "hubconf.py").write_text(CONFIG)
    (tmp_path / "helper_of_hub.py").write_text("import mindtorch_v2 as torch\n")
    yield str(tmp_path)
    sys.modules.pop("helper_of_hub", None)


def test_hub_of_a_folder(folder):
    layer = torch.hub.load(folder, "model", 3, bias=False, source="local", trust_repo=True)
    assert layer.weight.shape == (1, 3) and layer.bias is None
    assert torch.hub.list(folder) == ["model"] and torch.hub.help(folder, "model") == "A layer."
    assert folder not in sys.path


def test_hub_says_what_is_missing(folder, tmp_path):
    with pytest.raises(RuntimeError, match="Cannot find callable no_such"):
        torch.hub.load(folder, "no_such", source="local")
    with pytest.raises(RuntimeError, match="Clone the repository"):
        torch.hub.load("pytorch/vision", "resnet18")
    with pytest.raises(ValueError, match="Unknown source"):
        torch.hub.load(folder, "model", source="gitlab")
    with pytest.raises(FileNotFoundError, match="hubconf.py"):
        torch.hub.load(str(tmp_path / "nowhere"), "model", source="local")
    (tmp_path / "hubconf.py").write_text("dependencies = ['no_such_package_at_all']")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package_at_all"):
        torch.hub.load(folder, "model", source="local")
