"""The op cases on devices that libraries bring along, each in a process of its own.

`pytest tests/ops --device toy` runs all of them.
"""

import subprocess
import sys

import pytest

from tests.support import library_devices
from tests.support.simulated import run

PARTS = {
    "values": ["tests/ops/test_ops.py", "-k", "test_values and float32"],
    "refusals": ["tests/ops/test_ops.py", "-k", "test_values and float64 and pipeline"],
    "gradients": ["tests/ops/test_device_gradients.py"],
    "targets": ["tests/ops/test_ops.py", "-k", "test_inplace or test_out"],
    "mistakes": ["tests/ops/test_ops.py", "-k", "test_views or test_bad or test_unsupported"],
}
LONG = {"targets", "mistakes"}


@pytest.mark.parametrize(
    "part", [pytest.param(p, marks=pytest.mark.slow if p in LONG else ()) for p in PARTS]
)
@pytest.mark.parametrize("kind", library_devices.ALL)
def test_op_cases(kind, part):
    options = ["-q", "-x", "-p", "no:cacheprovider", "-n", "0", "-m", "slow or not slow"]
    modes = ["--mode", "eager", "--mode", "pipeline"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--device", kind, *modes, *PARTS[part]],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


def test_a_device_has_a_name_and_refuses_in_it():
    run(
        """
from tests.support import library_devices
try:
    torch.ones(2, device="toy")
    raise SystemExit("there is a toy before it is loaded")
except RuntimeError as error:
    assert "toy" in str(error)
library_devices.load("toy")
library_devices.load("toy")
x = torch.arange(6.0, device="toy").reshape(2, 3).requires_grad_()
assert x.device == torch.device("toy:0") and repr(x.device) == "device(type='toy', index=0)"
(x @ x.t()).sum().backward()
assert x.grad.device.type == "toy" and x.grad.tolist() == [[6.0, 10.0, 14.0]] * 2
for call, op in (
    (lambda: torch.ones(2, dtype=torch.float64, device="toy"), "ones"),
    (lambda: x.detach().sum(dtype=torch.float64), "sum.dim_IntList"),
    (lambda: x.detach() * torch.ones(2, 3, dtype=torch.float64), None),
):
    try:
        call()
    except NotImplementedError as error:
        taken = "it takes bool, int8, int32, int64, bfloat16, float32"
        want = f"Could not run '{op}' on device toy:0 for torch.float64: {taken}"
        assert str(error) == want, error
    except RuntimeError as error:
        assert op is None and "same device" in str(error), error
    else:
        raise SystemExit(f"{op} was not refused")
try:
    torch.tensor([1.0], device="toy") / torch.tensor([2.0], device="toy").double()
except NotImplementedError as error:
    assert "on device toy:0 for torch.float64" in str(error)
"""
    )


# Modules that look at the kinds of devices are imported before there is another kind.
EARLY = """
import copy, io, pickle
import torch_kinds_seen_before
from tests.support import library_devices
library_devices.load("toy")
""".replace(
    "import torch_kinds_seen_before",
    "torch.ops, torch.library, torch.optim, torch.amp, torch.accelerator, torch.profiler\n"
    "import mindtorch_v2._library.operators, mindtorch_v2.optim._subclass_helpers\n"
    "import mindtorch_v2.autograd.profiler_util, mindtorch_v2.amp.autocast_mode",
)


def test_a_device_has_a_module_with_streams():
    run(
        EARLY
        + """
import sys
import mindtorch_v2.toy
toy = torch.toy
assert toy is sys.modules["mindtorch_v2.toy"] is torch.get_device_module("toy")
assert toy.is_available() and toy.device_count() == 1 and toy.current_device() == 0
assert toy.is_bf16_supported() and toy.get_device_name() == "Toy"
x = torch.ones(1000, device="toy")
stream = toy.Stream()
with toy.stream(stream):
    y = x + 1
stream.synchronize()
toy.synchronize()
assert y.cpu().tolist() == [2.0] * 1000
"""
    )


def test_a_program_may_have_the_module_of_a_device():
    run(
        """
import sys, types
from mindtorch_v2 import _device_module
from tests.support import library_devices
own = sys.modules["mindtorch_v2.toy"] = types.ModuleType("mindtorch_v2.toy")
library_devices.load("toy")
vars(own).update(_device_module.make_functions("toy"))
assert torch.get_device_module("toy") is own and own.device_count() == 1
"""
    )


def test_a_device_counts_its_memory():
    run(
        EARLY
        + """
toy = torch.toy
assert toy.memory_allocated() == 0 and toy.memory.memory_allocated is toy.memory_allocated
x = torch.ones(1 << 18, device="toy")
assert toy.memory_allocated() == toy.max_memory_allocated() == 1 << 20
assert toy.memory_stats()["allocated_bytes.all.current"] == 1 << 20
assert torch.accelerator.memory_allocated() == 1 << 20
del x
assert toy.memory_allocated() == 0 < toy.max_memory_allocated()
toy.reset_peak_memory_stats()
assert toy.max_memory_allocated() == 0 < toy.memory_reserved()
assert "Allocated memory" in toy.memory_summary()
free, total = toy.mem_get_info()
toy.empty_cache()
assert toy.memory_reserved() == 0 and toy.mem_get_info() == (total, total) != (free, total)
try:
    torch.empty(1 << 31, dtype=torch.int8, device="toy")
    raise SystemExit("there is not so much memory")
except toy.OutOfMemoryError as error:
    assert "TOY" in str(error)
with toy.use_mem_pool(toy.MemPool()):
    torch.ones(3, device="toy")
""",
        MINDTORCH_NPU="off",
    )


def test_the_accelerator_is_the_device():
    run(
        EARLY
        + """
accelerator = torch.accelerator
assert str(accelerator.current_accelerator()) == "toy"
accelerator.synchronize()
accelerator.synchronize("toy:0")
assert accelerator.current_device_index() == 0 and accelerator.device_count() == 1
with accelerator.device_index(0):
    accelerator.set_stream(torch.Stream())
assert torch.float64 not in accelerator.get_device_capability()["supported_dtypes"]
assert torch.bfloat16 in accelerator.get_device_capability()["supported_dtypes"]
accelerator.empty_cache()
""",
        MINDTORCH_NPU="off",
    )


def test_operators_know_the_device():
    run(
        EARLY
        + """
@torch.library.custom_op("seam::twice", mutates_args=(), device_types="toy")
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2
x = torch.ones(2, device="toy")
assert twice(x).tolist() == [2.0, 2.0]
try:
    twice(x.cpu())
    raise SystemExit("there is no kernel for the CPU")
except NotImplementedError as error:
    assert "'CPU' backend" in str(error) and "[PrivateUse1]" in str(error), error
library = torch.library.Library("seam", "FRAGMENT")
for key in ("TOY", "PrivateUse1", "AutogradPrivateUse1", "AutocastPrivateUse1"):
    name = f"seam::on_{key}"
    torch.library.define(name, "(Tensor x) -> Tensor")
    if key.startswith("Aut"):
        torch.library.impl(name, "toy", lambda x: x + 1)
    library.impl(name, lambda x: x.detach() * 3, key)
    op = getattr(torch.ops.seam, f"on_{key}")
    with torch.autocast("toy", enabled=key.startswith("Autocast")):
        assert op(x.requires_grad_(key.startswith("Autograd"))).tolist() == [3.0, 3.0], key
    x = x.detach()
assert torch.ops.seam.on_TOY.default.has_kernel_for_dispatch_key("PrivateUse1")
""",
        MINDTORCH_NPU="off",
    )


def test_autocast_knows_the_device():
    run(
        EARLY
        + """
import warnings
warnings.simplefilter("error")
assert torch.amp.is_autocast_available("toy")
x = torch.ones(2, 2, device="toy")
with torch.autocast("toy"):
    assert (x @ x).dtype == torch.bfloat16 and torch.is_autocast_enabled("toy")
assert (x @ x).dtype == torch.float32 and not torch.is_autocast_enabled("toy")
scaler = torch.amp.GradScaler("toy")
assert scaler.scale(x.sum()).item() == 4 * 65536.0
"""
    )


def test_optimizers_know_the_device():
    run(
        EARLY
        + """
from mindtorch_v2.optim import _subclass_helpers as helpers
names = "_get_capturable_supported_devices _get_foreach_kernels_supported_devices".split()
assert all("toy" in getattr(helpers, name)() for name in names)
weights = [torch.ones(3, device=place, requires_grad=True) for place in ("cpu", "toy")]
for weight in weights:
    optimizer = torch.optim.Adam([weight], lr=0.1, capturable=weight.device.type == "toy")
    for _ in range(3):
        optimizer.zero_grad()
        (weight * weight).sum().backward()
        optimizer.step()
torch.testing.assert_close(weights[1].cpu(), weights[0])
"""
    )


def test_a_profiler_knows_the_device():
    run(
        EARLY
        + """
activity = torch.profiler.ProfilerActivity
with torch.profiler.profile(activities=[activity.CPU, activity.PrivateUse1]) as profile:
    torch.ones(3, device="toy") + 1
assert profile.use_device == "toy"
with torch.autograd.profiler.profile(use_device="toy") as profile:
    torch.ones(3, device="toy") + 1
assert "self_toy_time_total" in profile.function_events.supported_export_stacks_metrics()
""",
        MINDTORCH_NPU="off",
    )


def test_tensors_of_any_dtype_are_copied_as_bytes():
    run(
        EARLY
        + """
x = torch.arange(6.0).to("toy").t()
module = torch.nn.Linear(2, 3).to("toy")
made = [copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.untyped_storage().clone()]
assert made[0].device.type == "toy" and made[0].tolist() == made[1].tolist() == x.tolist()
assert made[0].data_ptr() != x.data_ptr() and made[2].device == x.device
both = copy.deepcopy([x, x[2:]])
both[0].zero_()
assert both[1].tolist() == [0.0] * 4 and x.tolist() == list(range(6))
assert torch.equal(copy.deepcopy(module).weight.cpu(), module.weight.cpu())
for settings in ({}, {"map_location": "cpu"}, {"map_location": "toy"}):
    file = io.BytesIO()
    torch.save({"x": x, "state": module.state_dict()}, file)
    file.seek(0)
    read = torch.load(file, **settings)
    assert read["x"].device.type == settings.get("map_location", "toy")
    assert read["x"].tolist() == x.tolist()
    assert torch.equal(read["state"]["weight"].cpu(), module.weight.detach().cpu())
file = io.BytesIO()
torch.save(torch.ones(2, dtype=torch.int32), file)
file.seek(0)
assert torch.load(file, map_location="toy:0").device == torch.device("toy:0")
storage = x.untyped_storage()
assert storage.cpu().tolist() == x.cpu().untyped_storage().tolist()
assert not storage.is_pinned() and not x.is_pinned() and storage.is_shared() and x.is_shared()
assert x.share_memory_() is x and storage.share_memory_() is storage
pinned = torch.ones(4).pin_memory("toy")
assert pinned.is_pinned("toy") and pinned.to("toy", non_blocking=True).tolist() == [1.0] * 4
from mindtorch_v2.utils.serialization import config
config.save.use_pinned_memory_for_d2h = True
file = io.BytesIO()
torch.save(x, file)
file.seek(0)
assert torch.load(file).tolist() == x.tolist()
storage.fill_(0)
assert x.tolist() == [0.0] * 6
assert storage.copy_(torch.ones(6).untyped_storage()) is storage and x.tolist() == [1.0] * 6
host = torch.zeros(6).untyped_storage().copy_(storage, non_blocking=True)
torch.toy.synchronize()
assert host.tolist() == torch.ones(6).untyped_storage().tolist()
with torch.pipeline():
    y = x + 1
    z = copy.deepcopy(y)
    y.untyped_storage().fill_(0)
assert z.tolist() == [2.0] * 6 and y.tolist() == [0.0] * 6
"""
    )
