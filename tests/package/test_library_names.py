"""Names that libraries take from torch's private modules."""

import os

import mindtorch_v2 as torch
import pytest


def test_names_of_c():
    assert torch._C._log_api_usage_once("library.function") is None
    assert torch._C._get_tracing_state() is None
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        torch._C.no_such_name  # noqa: B018 - the look-up raises


def test_annotations_of_jit():
    from mindtorch_v2.jit.annotations import BroadcastingList2

    assert BroadcastingList2[int] == int | list[int]
    assert torch.jit._script_if_tracing(len) is len and torch.jit._overload_method(len) is len


def test_home_of_downloads(monkeypatch):
    monkeypatch.setenv("TORCH_HOME", os.path.join("~", "weights"))
    home = os.path.expanduser(os.path.join("~", "weights"))
    assert torch.hub._get_torch_home() == home
    monkeypatch.setattr(torch.hub, "_folder", None)
    assert torch.hub.get_dir() == os.path.join(home, "hub")


def test_progress_of_downloads():
    from mindtorch_v2.utils.model_zoo import tqdm

    with tqdm(total=3, disable=True) as bar:
        bar.update(2)
    assert list(tqdm([1, 2], disable=True)) == [1, 2]


def test_onnx():
    from mindtorch_v2.onnx.symbolic_helper import parse_args

    assert not torch.onnx.is_in_onnx_export() and parse_args("v", "i")(len) is len
    assert torch.onnx.TensorProtoDataType.INT64 == 7
    torch.onnx.register_custom_op_symbolic("mine::op", len, 11)
    with pytest.raises(torch.onnx.OnnxExporterError, match="domain::name"):
        torch.onnx.register_custom_op_symbolic("op", len, 11)
    with pytest.raises(NotImplementedError, match="writes no ONNX files"):
        torch.onnx.export(torch.nn.Linear(1, 1), torch.ones(1), "model.onnx")


def test_models_that_can_be_quantized_run_as_they_are():
    from mindtorch_v2.ao.quantization import DeQuantStub, QuantStub, QuantWrapper

    functions = torch.nn.quantized.FloatFunctional()
    x = torch.tensor([1.0, -3.0])
    assert functions.add_relu(x, x).tolist() == [2, 0] and functions.cat([x, x]).shape == (4,)
    assert QuantWrapper(torch.nn.Identity())(x) is x and DeQuantStub()(QuantStub()(x)) is x
    with pytest.raises(RuntimeError, match="not intended"):
        functions(x)


def test_private_functions_are_those_of_operators():
    rows = torch._convert_indices_from_coo_to_csr(torch.tensor([0, 0, 2, 3]), 5)
    assert rows.tolist() == [0, 2, 2, 3, 4, 4]
    pair = torch._convert_indices_from_csr_to_coo(rows, torch.tensor([1, 0, 2, 4]))
    assert pair.tolist() == [[0, 0, 2, 3], [1, 0, 2, 4]]
    assert torch._shape_as_tensor(torch.ones(2, 3)).tolist() == [2, 3]
    torch._assert_async(torch.tensor(True))
    with pytest.raises(RuntimeError, match="but got zero"):
        torch._assert_async(torch.tensor(False))
    assert not hasattr(torch, "_no_such_operator")


def test_what_needs_a_process_group_says_so():
    from mindtorch_v2.distributed import fsdp, optim

    model = torch.nn.Linear(1, 1)
    assert not isinstance(model, fsdp.FullyShardedDataParallel)
    for make in (
        lambda: fsdp.FullyShardedDataParallel(model),
        lambda: fsdp.fully_shard(model),
        lambda: optim.ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD),
        lambda: torch.distributed.init_device_mesh("cpu", (1,)),
    ):
        with pytest.raises(RuntimeError, match="not available"):
            make()
    with pytest.raises(ValueError, match="has not been initialized"):
        torch.distributed.nn.functional.all_reduce(torch.ones(1))
    assert not torch.distributed.rpc.is_available()


def test_autocast_of_devices_that_are_not_there():
    assert not torch.is_autocast_enabled("mps")
    assert torch.get_autocast_dtype("xla") == torch.bfloat16
    with pytest.raises(RuntimeError, match="unknown device type"):
        torch.is_autocast_enabled("vulkan")


def test_nothing_is_traced():
    from mindtorch_v2._subclasses.fake_tensor import FakeTensor, is_fake
    from mindtorch_v2.fx.experimental.proxy_tensor import get_proxy_mode
    from mindtorch_v2.utils._python_dispatch import is_traceable_wrapper_subclass

    x = torch.ones(1)
    assert not is_fake(x) and not isinstance(x, FakeTensor) and get_proxy_mode() is None
    assert not is_traceable_wrapper_subclass(x) and not is_traceable_wrapper_subclass(1)
    assert not torch._C._are_functorch_transforms_active()
    seen = []
    torch.vmap(lambda v: seen.append(torch._C._are_functorch_transforms_active()) or v)(x)
    assert seen == [True]
    with pytest.raises(NotImplementedError, match="everything again"):
        torch.utils.checkpoint.create_selective_checkpoint_contexts([])


def test_classes_of_data_loaders():
    from mindtorch_v2.utils.data import dataloader

    loader = torch.utils.data.DataLoader([1, 2])
    assert isinstance(iter(loader), dataloader._BaseDataLoaderIter)
    assert type(iter(loader)).__name__ == "_SingleProcessDataLoaderIter"
    assert loader._dataset_kind == dataloader._DatasetKind.Map


def test_nothing_is_compiled():
    from mindtorch_v2.utils import cpp_extension

    assert cpp_extension.CUDA_HOME is None
    with pytest.raises(RuntimeError, match="torch.ops.load_library"):
        cpp_extension.load("mine", ["mine.cpp"])


def test_settings_of_the_build():
    assert "CPU capability usage: " in torch.__config__.show()
    assert "CPU capabilities compiled: " in torch.__config__.show()
    assert torch.torch is torch and torch._C._nn._parse_to("cpu")[0] == torch.device("cpu")
