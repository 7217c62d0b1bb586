"""No call ends the process or never returns, whatever it is given."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

PROGRAM = pathlib.Path(__file__).with_name("hostile_calls.py")
# What hostile_calls.py has; the last ones run on simulated NPUs.
GROUPS = (
    "functions", "nn_functions", "internal_functions", "methods", "operators", "objects", "types",
    "npu_functions", "npu_objects", "npu_methods",
)  # fmt: skip


def run(folder, *command, **environment):
    """The end of a program that may crash: its exit code, and what it said."""
    inherited = {key: value for key, value in os.environ.items() if key != "MINDTORCH_NPU"}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", *command],
        capture_output=True, text=True, errors="replace", cwd=folder,
        env=inherited | environment,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def run_code(folder, code, **environment):
    code_and_names = "import gc, sys, mindtorch_v2 as torch\nfrom mindtorch_v2 import _C\n"
    return run(folder, "-c", code_and_names + textwrap.dedent(code), **environment)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_every_call_raises_or_returns(group, tmp_path):
    log = tmp_path / "log"
    code, text = run(tmp_path, PROGRAM, group, log)
    last = log.read_text(errors="replace").splitlines()[:1] if log.exists() else []
    assert code == 0, f"the last call: {last}\n{text[-2000:]}"


# What is not of the expected type.


@pytest.mark.parametrize("value", [5, "abc", None, object()])
def test_functions_of_pinned_memory_want_tensors(torch, value):
    for call in (torch.npu.is_pinned, torch.npu.pin_memory):
        with pytest.raises(TypeError, match="must be Tensor, not"):
            call(value)


def test_methods_want_their_own_objects(torch):
    for call in (torch.pipeline.__enter__, torch.Generator.get_state, torch.Tensor.record_stream):
        with pytest.raises((TypeError, AttributeError)):
            call(5, 5) if call is torch.Tensor.record_stream else call(5)
    with pytest.raises(TypeError):
        torch.Generator.manual_seed(5, 1)


def test_the_metaclass_of_tensors_makes_other_classes_too(torch):
    made = type(torch.Tensor)("Other", (), {})
    for _ in range(3):
        assert isinstance(made(), made)


def test_keywords_that_are_no_text(torch):
    for call in (torch.tensor, torch.add, torch.sum, torch.ones(1).to, torch.as_tensor):
        with pytest.raises(TypeError):
            call(torch.ones(1), **{"\ud800": 1})


def test_device_indices_that_no_device_has(torch):
    x = torch.ones(1)
    for index in (300, -3):
        with pytest.raises(RuntimeError, match="Device index must"):
            x.npu(index)
    with pytest.raises(OverflowError):
        x.npu(10**30)


def test_sizes_of_more_than_64_bits(torch):
    size = torch.Size([2**70])
    assert size[0] == 2**70
    for call in (repr, torch.Size.numel):
        with pytest.raises(OverflowError):
            call(size)


# Objects whose own code runs while they are read.

SHRINKING = """
class Entry:
    def __init__(self, held):
        self.held = held
    def __index__(self):
        self.held.clear()
        gc.collect()
        return 1
    __float__ = __index__

def shrinking():
    held = []
    held += [Entry(held)] + [[i] for i in range(10**5)]
    held[1:] = range(10**9, 10**9 + 10**5)
    return held

def try_(call):
    try:
        return call(shrinking())
    except Exception as error:
        return error
"""


@pytest.mark.parametrize(
    "call",
    [
        "torch.zeros",
        "torch.ones(3).permute",
        "torch.ones(3).view",
        "torch.ones(3).resize_",
        "lambda held: torch.sum(torch.ones(3), held)",
        "lambda held: torch.sum(torch.ones(3), dim=held)",
        "lambda held: torch.ones(3).as_strided(held, held)",
        "lambda held: torch.roll(torch.ones(3), held)",
        "lambda held: torch.histogram(torch.ones(3), 3, range=held)",
        "lambda held: torch.ones(3)[held]",
        "lambda held: torch.ones(3)[tuple(held)]",
        "lambda held: torch.ones(3).__setitem__(0, held)",
        "lambda held: torch.max(torch.ones(3, 3), held[0], out=held)",
        "lambda held: torch.max(torch.ones(3, 3), 0, out=held)",
        "torch.tensor",
        "torch.as_tensor",
        "torch.Tensor",
        "torch.UntypedStorage",
        "torch.cat",
        "torch.block_diag",
        "torch.Size",
        "torch.utils.dlpack.from_dlpack",
        "lambda held: _C._RecordedTrace(held)",
        "lambda held: torch.ones(3).set_(torch.UntypedStorage(12), 0, held, held)",
    ],
)
def test_lists_that_shrink_while_they_are_read(call, tmp_path):
    code, text = run_code(tmp_path, SHRINKING + f"\ntry_({call})\nprint('survived')")
    assert code == 0 and "survived" in text, text


def test_a_list_has_the_entries_it_had_when_it_was_given(torch):
    held = []

    class Entry:
        def __index__(self):
            held.clear()
            return 2

    held += [Entry(), 3]
    assert torch.zeros(held).shape == (2, 3) and held == []
    held += [Entry(), 250]
    assert torch.UntypedStorage(held).tolist() == [2, 250]


def test_outputs_live_until_the_call_is_over(torch):
    outputs = [torch.empty(0), torch.empty(0, dtype=torch.int64)]
    kept = list(outputs)

    class Dim:
        def __index__(self):
            outputs.clear()
            return 0

    torch.max(torch.tensor([[1.0, 5.0], [4.0, 2.0]]), Dim(), out=outputs)
    assert kept[0].tolist() == [4.0, 5.0] and kept[1].tolist() == [1, 0]


def test_traces_that_shrink_while_they_are_read(torch):
    from mindtorch_v2 import _C

    entries = []

    class Address:
        def __index__(self):
            entries.clear()
            return 4096

        __int__ = __index__

    one = {"action": "alloc", "addr": Address(), "size": 512, "stream": 0}
    entries += [one] + [dict(one, addr=4096 * i) for i in range(2, 1000)]
    try:
        assert len(_C._RecordedTrace(entries)) == 999
    except ValueError as error:
        assert "entry 0 of the trace is damaged" in str(error)


def test_storages_that_are_resized_while_their_index_is_read(torch):
    storage = torch.UntypedStorage([1, 2, 3, 4])

    class Growing:
        def __init__(self, value):
            self.value = value

        def __index__(self):
            storage.resize_(10**7)
            return self.value

    assert storage[Growing(2)] == 3
    storage.resize_(4)
    storage[Growing(1)] = Growing(9)
    assert storage[:4].tolist() == [1, 9, 3, 4]
    with pytest.raises(RuntimeError, match="not resizable|exported|resize"):
        view = storage[Growing(1) :]
        storage.resize_(10**8)
    del view


def test_tensors_that_change_while_their_index_is_read(torch):
    class Replacing:
        def __init__(self, value):
            self.value = value

        def __index__(self):
            x.data = torch.ones(1)
            return self.value

    for key in (Replacing(999_999), slice(Replacing(500_000), None), (Replacing(999_999),)):
        x = torch.ones(10**6)
        with pytest.raises(RuntimeError, match="out of bounds for storage"):
            x[key]
        x = torch.ones(10**6)
        with pytest.raises(RuntimeError, match="out of bounds for storage"):
            x[key] = 2.0


def test_arrays_that_lie(torch):
    np = pytest.importorskip("numpy")

    class Array(np.ndarray):
        __array_struct__ = 5

    with pytest.raises((ValueError, TypeError, AttributeError)):
        torch.from_numpy(np.ones(3).view(Array))


def test_long_chains_of_tensors_can_be_dropped(torch):
    class Link(torch.Tensor):
        __slots__ = ("next",)

    for make in (lambda: torch.ones(1), lambda: torch.ones(1).as_subclass(Link)):
        last = None
        for _ in range(200_000):
            link = make()
            link.next = last
            last = link
        del last, link


# More than there is memory for.


@pytest.mark.parametrize(
    "call",
    [
        "torch.tril_indices(2**40, 6)",
        "torch.triu_indices(6, 2**40)",
        "torch.tril_indices(2**32, 2**32)",
        "torch.triu_indices(2**63 - 1, 2**63 - 1)",
        "torch.arange(0, 2**62)",
        "torch.arange(0, 1e300)",
        "torch.range(0, 2**60)",
        "torch.eye(2**40)",
        "torch.linspace(0, 1, 2**60)",
        "torch.logspace(0, 1, 2**60)",
        "torch.combinations(torch.arange(2**20), 3)",
        "torch.combinations(torch.arange(3), 2**63 - 1, True)",
        "torch.cartesian_prod(*[torch.arange(1000)] * 8)",
        "torch.repeat_interleave(torch.ones(3), 2**60)",
        "torch.repeat_interleave(torch.tensor([2**62] * 4))",
        "torch.repeat_interleave(torch.ones(4), torch.tensor([2**62] * 4))",
        "torch.repeat_interleave(torch.ones(5), torch.tensor([2**62] * 4 + [3]))",
        "torch.nn.functional.one_hot(torch.tensor([1]), 2**60)",
        "torch.bincount(torch.tensor([1]), minlength=2**60)",
        "torch.bincount(torch.tensor([2**60]))",
        "torch.histc(torch.ones(3), bins=2**60)",
        "torch.ones(3).unfold(0, 2**62, 1)",
        "torch.ones(1, 1).expand(2**31, 2**31).tril()",
        "torch.multinomial(torch.ones(3), 2**60, replacement=True)",
        "torch.randperm(2**60)",
        "torch.ones(2**62)",
        "torch.ones(2**62, 2**62)",
        "torch.rand(2**50)",
        "torch.ones(3).repeat(2**62, 2**62)",
        "torch.nn.functional.pad(torch.ones(3), (2**62, 2**62))",
        "torch.nn.functional.pad(torch.ones(3), (2**63 - 1, 2**63 - 1))",
        "torch.ones(3).set_(torch.UntypedStorage(8), 2**62, (2,), (1,))",
        "torch.ones(3).as_strided((2,), (2**63 - 1,))",
        "torch.ones(3).resize_(2**62)",
        "torch.UntypedStorage(2**62)",
        "torch.UntypedStorage(8).resize_(2**62)",
        "torch.ones(1).expand(2**62).unbind()",
        "torch.ones(1).expand(2**62).split(1)",
        "torch.ones(1).expand(2**62).tolist()",
        "list(torch.empty(2**40, 0))",
        "torch.empty(2**40, 0).unbind()",
        "torch.empty(2**40, 0).split(1)",
        "torch.empty(0).chunk(2**61)",
        "torch.empty(0).chunk(2**40)",
        "torch.tensor_split(torch.ones(3), 2**60)",
        "torch.ones(3).split([2**62] * 4 + [3])",
        "torch.tensor(range(2**60))",
    ],
)
def test_more_than_there_is_memory_for_is_refused_at_once(torch, call):
    with pytest.raises((RuntimeError, MemoryError)):
        eval(call, {"torch": torch})


def test_few_elements_of_huge_matrices(torch):
    rows, columns = torch.triu_indices(2**40, 3).tolist()
    assert rows == [0, 0, 0, 1, 1, 2] and columns == [0, 1, 2, 1, 2, 2]
    rows, columns = torch.tril_indices(2**40, 3, 2 - 2**40).tolist()
    assert rows == [2**40 - 2, 2**40 - 1, 2**40 - 1] and columns == [0, 0, 1]
    assert torch.tril_indices(2**40, 0).shape == (2, 0)
    assert torch.triu_indices(2**40, 3, 2**63 - 1).shape == (2, 0)
    assert torch.tril_indices(3, 2**40, -(2**63)).shape == (2, 0)
    assert torch.tril_indices(2, 2, 2**63 - 1).tolist() == [[0, 0, 1, 1], [0, 1, 0, 1]]
    assert torch.triu_indices(2, 2, -(2**63)).tolist() == [[0, 0, 1, 1], [0, 1, 0, 1]]


# Interpreters inside the process.

SUBINTERPRETER = """
try:
    import _interpreters as interpreters  # from 3.13 on
except ImportError:
    import _xxsubinterpreters as interpreters
import sys

def run(code):
    # An interpreter that shares the lock loads extensions that were not made for several.
    try:
        made = interpreters.create("legacy")
    except TypeError:
        made = interpreters.create(isolated=False)
    try:
        failed = interpreters.run_string(made, code)  # from 3.13 on returned, not raised
        return "" if failed is None else str(failed.formatted)
    except Exception as error:
        return str(error)
    finally:
        interpreters.destroy(made)
"""


@pytest.mark.parametrize("order", ["before", "after"])
def test_subinterpreters_are_refused(order, tmp_path):
    use = "import mindtorch_v2 as torch; assert (torch.ones(3) + 1).sum().item() == 6"
    code = (
        SUBINTERPRETER
        + f"""
code = "import sys\\nsys.path[:] = " + repr(sys.path) + "\\nimport mindtorch_v2"
{use if order == "after" else ""}
for _ in range(3):
    answer = run(code)
    assert "does not support loading in subinterpreters" in answer, answer
{use}
g = torch.Generator().manual_seed(1)
with torch.pipeline():
    y = torch.ones(3) * 2
assert y.tolist() == [2.0] * 3 and torch.rand(2, generator=g).shape == (2,)
try:
    torch.Generator.manual_seed(5, 1)
except TypeError:
    print("well")
"""
    )
    end, text = run(tmp_path, "-c", code)
    assert end == 0 and "well" in text, text


# Settings.


@pytest.mark.parametrize(
    "setting",
    [
        "devices=10**9", "devices=-1", "devices='inf'", "devices='nan'", "devices=1.5",
        "devices='1e400'", "memory='1e300G'", "memory=2**63", "memory='abc'", "memory=-1",
        "log=2**62", "units=2**32", "latency=1e300", "jitter='inf'", "slowness='1e300'",
        "seed=2**64", "abort=7", "soc='abc'",
    ],
)  # fmt: skip
def test_settings_of_the_simulator_that_make_no_sense(setting, tmp_path):
    code, text = run_code(
        tmp_path,
        f"""
        try:
            torch.npu.simulator.enable({setting})
        except ValueError as error:
            print("refused:", error)
        assert (torch.ones(3).npu() + 1).tolist() == [2.0] * 3
        """,
    )
    assert code == 0 and f"refused: {setting.partition('=')[0]} of the simulator is" in text, text


def test_the_number_of_simulated_devices_has_a_limit(tmp_path):
    code, text = run_code(
        tmp_path, "torch.npu.simulator.enable(devices=64); print(torch.npu.device_count())"
    )
    assert code == 0 and text.split() == ["64"], text


@pytest.mark.parametrize("value", ["", "abc", "-1", "1" * 400, "nan", "inf", "1e308G", "\u00e9"])
@pytest.mark.parametrize(
    "variable",
    [
        "MINDTORCH_SIM_DEVICES", "MINDTORCH_SIM_MEMORY", "MINDTORCH_SIM_LOG",
        "MINDTORCH_SIM_LATENCY", "MINDTORCH_SIM_FAULTS", "MINDTORCH_SIM_CHECKS",
        "MINDTORCH_NUM_THREADS", "OMP_NUM_THREADS", "MINDTORCH_CPU_CACHE_MB",
        "MINDTORCH_NPU_PLAN_CACHE", "MINDTORCH_NPU_PIPELINE_GRAPHS", "MINDTORCH_CPU_JIT",
        "MINDTORCH_NPU_ALLOC_CONF", "PYTORCH_NPU_ALLOC_CONF",
    ],
)  # fmt: skip
def test_variables_that_make_no_sense_leave_the_defaults(variable, value, tmp_path):
    code, text = run_code(
        tmp_path,
        """
        big = torch.ones(2**20)
        assert (big + big).sum().item() == 2**21
        with torch.pipeline():
            y = (torch.ones(3).npu() + 1).relu()
        assert y.tolist() == [2.0] * 3 and torch.npu.device_count() == 8
        """,
        MINDTORCH_NPU="sim",
        **{variable: value},
    )
    assert code == 0, text
    if variable == "MINDTORCH_SIM_DEVICES":
        assert "MINDTORCH_SIM_DEVICES is not understood" in text
        assert "a number from 0 to 64" in text
