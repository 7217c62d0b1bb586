"""torch.npu's devices, on simulated ones."""

import re

import pytest

from tests.support.simulated import run, start


def test_which_there_are():
    run(
        """
assert torch.npu.is_available() and torch.npu.device_count() == 8
assert not torch.npu.is_initialized()
assert torch.npu.current_device() == 0 and not torch.npu.is_initialized()
torch.npu.init()
assert torch.npu.is_initialized()
assert torch._C._npu_aclnn_available() and torch._C._npu_aclnn_symbols_ok()
assert torch.device("npu", 1) == torch.device("npu:1")
x = torch.ones(2).npu()
assert x.is_npu and not x.is_cuda and not x.is_cpu and x.device == torch.device("npu:0")
assert x.npu() is x and x.to("npu") is x and x.npu(1).device.index == 1
assert x.get_device() == 0
"""
    )


def test_without_a_device():
    run(
        """
import warnings
assert not torch.npu.is_available() and torch.npu.device_count() == 0
assert not torch._C._npu_aclnn_available() and not torch._C._npu_aclnn_symbols_ok()
assert torch.npu.get_device_capability() == (0, 0)
assert torch.npu.stream_priority_range() == (0, 0)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert torch.npu.can_device_access_peer(0, 1) is False
assert "npu" in str(caught[0].message)
for call in (torch.npu.init, torch.npu.current_device, torch.npu.synchronize, torch.npu.Stream,
             torch.npu.current_stream, lambda: torch.npu.set_device(0),
             lambda: torch.npu.enable_peer_access(1), lambda: torch.npu.disable_peer_access(1),
             torch.npu.get_device_name, lambda: torch.ones(2).npu()):
    try:
        call()
    except RuntimeError as error:
        assert "MINDTORCH_NPU=off" in str(error), error
    else:
        raise SystemExit(call)
assert torch.npu.is_pinned(torch.npu.pin_memory(torch.ones(3)))
assert torch.npu.pin_memory(torch.ones(3)).tolist() == [1, 1, 1]
assert not torch.npu.is_pinned(torch.ones(3))
assert torch.npu.Event().query()  # never recorded
with torch.npu.stream(None):
    pass
""",
        MINDTORCH_NPU="off",
    )


def test_the_choice_can_be_off():
    text = run(
        """
assert not torch.npu.is_available()
try:
    torch.ones(2, device="npu")
except RuntimeError as error:
    print(error)
""",
        MINDTORCH_NPU="off",
    )
    assert "MINDTORCH_NPU=off" in text


def test_seeds_where_there_is_no_device():
    run(
        """
torch.manual_seed(1)
torch.npu.manual_seed(1)
torch.npu.manual_seed_all(1)
assert torch.npu.get_rng_state_all() == [] and torch.npu.default_generators == ()
""",
        MINDTORCH_NPU="off",
    )


def test_the_current_device_is_each_threads_own():
    run(
        """
import threading
torch.npu.set_device("npu:2")
assert torch.npu.current_device() == 2 and torch.ones(1, device="npu").device.index == 2
seen = []
thread = threading.Thread(target=lambda: seen.append(torch.npu.current_device()))
thread.start(); thread.join()
assert seen == [0]
torch.npu.set_device(-1)
assert torch.npu.current_device() == 2
with torch.npu.device(1):
    assert torch.ones(1, device="npu").device.index == 1
    with torch.npu.device(None), torch.npu.device(-1), torch.npu.device("npu"):
        assert torch.npu.current_device() == 1
    with torch.npu.device_of(torch.ones(1, device="npu:3")), torch.npu.device_of(torch.ones(1)):
        assert torch.npu.current_device() == 3
    assert torch.npu.current_device() == 1
assert torch.npu.current_device() == 2
try:
    with torch.npu.device(5):
        raise KeyError
except KeyError:
    assert torch.npu.current_device() == 2
"""
    )


def test_what_is_known_of_each():
    run(
        """
p = torch.npu.get_device_properties("npu:1")
assert p.name == torch.npu.get_device_name(1) == "Ascend910B3"
assert p.total_memory == torch.npu.mem_get_info(1)[1] and p.multi_processor_count > 0
assert (p.major, p.minor) == torch.npu.get_device_capability() == (0, 0)
torch.npu._get_device_name = lambda device=None: f"chip {device}"
torch.npu._get_device_capability = lambda device=None: (9, 1)
assert torch.npu.get_device_name("npu:1") == "chip 1"
assert torch.npu.get_device_capability(torch.device("npu:0")) == (9, 1)
assert torch.npu.get_device_properties(0).major == 9
assert torch.npu.is_bf16_supported()
"""
    )


@pytest.mark.parametrize("named", ["None", "0", "'npu'", "'npu:0'", "torch.device('npu')"])
def test_synchronize_takes_every_name_of_a_device(named):
    run(
        f"""
torch.npu.simulator.set(latency=1000)
x = torch.ones(3, device="npu") + 1
assert not torch.npu.current_stream().query()
torch.npu.synchronize({named})
assert torch.npu.current_stream().query()
"""
    )


def test_wrong_devices():
    run(
        """
import pytest
for call in (torch.npu.set_device, torch.npu.synchronize, torch.npu.mem_get_info):
    with pytest.raises(RuntimeError, match="invalid device ordinal 9: there are 8"):
        call(9)
    with pytest.raises(ValueError, match="Expected a npu device, but got: cpu"):
        call("cpu")
    with pytest.raises(RuntimeError, match="Invalid device string"):
        call("npu:01")
with pytest.raises(AssertionError, match="Invalid device id"):
    torch.npu.get_device_properties(9)
for device in (None, "npu"):
    with pytest.raises(ValueError, match="specified index"):
        torch.npu.set_device(device)
"""
    )


def test_devices_reach_each_other():
    run(
        """
import pytest
assert torch.npu.can_device_access_peer(0, 1)
torch.npu.enable_peer_access(1)
torch.npu.disable_peer_access("npu:1", device=0)
with pytest.warns(UserWarning, match="cannot access peer"):
    assert not torch.npu.can_device_access_peer(0, 0)
with pytest.warns(UserWarning, match="cannot access peer"):
    assert not torch.npu.can_device_access_peer(0, 99)
with pytest.raises(RuntimeError, match="npu:0"):
    torch.npu.enable_peer_access(0)
x = torch.arange(6, device="npu:0").reshape(2, 3)
y = x.t().to("npu:3")
assert y.device.index == 3 and y.tolist() == [[0, 3], [1, 4], [2, 5]]
x.copy_(y.t() + 1)
assert x.tolist() == [[1, 2, 3], [4, 5, 6]]
assert torch.npu.simulator.reports() == []
"""
    )


def test_eight_threads_on_two_devices():
    run(
        """
import threading
errors = []
def work(number):
    try:
        torch.npu.set_device(number % 2)
        with torch.npu.Stream():
            x = torch.full((1000,), float(number), device="npu")
            for _ in range(30):
                x = (x + 1).to(f"npu:{1 - x.device.index}")
            assert x.cpu()[999].item() == number + 30
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not errors, errors
"""
    )


def test_the_accelerator_is_the_npu():
    run(
        """
import pytest
a = torch.accelerator
assert a.is_available() and a.device_count() == 8
assert a.current_accelerator() == torch.device("npu")
a.set_device_index(1)
assert a.current_device_index() == torch.npu.current_device() == 1
with a.device_index(2):
    assert torch.npu.current_device() == 2
x = torch.ones(1000, device="npu:1")
assert a.memory_allocated() == torch.npu.memory_allocated() > 0
assert a.max_memory_reserved(1) == torch.npu.max_memory_reserved(1)
assert a.get_memory_info("npu:0") == torch.npu.mem_get_info(0)
stream = torch.Stream(device="npu:1")
a.set_stream(stream)
assert a.current_stream() == stream == torch.npu.current_stream()
a.synchronize()
assert torch.float16 in a.get_device_capability()["supported_dtypes"]
with pytest.raises(ValueError, match="cpu"):
    a.synchronize("cpu")
"""
    )
    run(
        """
a = torch.accelerator
assert not a.is_available() and a.device_count() == 0 and a.current_accelerator() is None
assert a.memory_allocated() == 0 and a.memory_stats() == {}
a.empty_cache()
try:
    a.current_device_index()
except RuntimeError as error:
    assert "none is available" in str(error)
""",
        MINDTORCH_NPU="off",
    )


def test_submodules(torch):
    import mindtorch_v2.npu.random

    assert mindtorch_v2.npu.random.manual_seed == torch.npu.manual_seed
    assert torch.npu.streams.Stream is torch.npu.Stream
    assert torch.npu.graphs.NPUGraph is torch.npu.NPUGraph and torch.cuda.graphs.CUDAGraph
    assert torch.get_device_module("npu") is torch.npu


# Processes.


def test_a_child_is_told_to_use_spawn():
    run(
        """
import os
import re
x = torch.ones(3, device="npu")
child = os.fork()
if child == 0:
    code = 1
    try:
        assert not torch.npu.is_initialized()
        assert torch.npu.is_available() and torch.npu.device_count() == 8
        assert torch.npu.memory_allocated() == 0
        for call in (lambda: x + 1, lambda: torch.ones(1, device="npu"), torch.npu.synchronize,
                     x.tolist, torch.npu.Stream, torch.npu.init):
            try:
                call()
            except RuntimeError as error:
                assert "'spawn' start method" in str(error), error
            else:
                raise SystemExit(call)
        assert (torch.ones(2) + 1).tolist() == [2, 2]
        code = 0
    finally:
        os._exit(code)
assert os.waitpid(child, 0)[1] == 0
assert (x + 1).tolist() == [2, 2, 2]
"""
    )


def test_a_child_may_use_what_its_parent_has_not():
    run(
        """
import os
assert torch.npu.is_available()
child = os.fork()
if child == 0:
    try:
        os._exit(0 if (torch.ones(3, device="npu") + 1).tolist() == [2, 2, 2] else 1)
    finally:
        os._exit(1)
assert os.waitpid(child, 0)[1] == 0
"""
    )


def test_a_spawned_child_uses_the_npu(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        """
import multiprocessing
import mindtorch_v2 as torch

def work(number):
    return (torch.ones(3, device="npu") + number).tolist()

if __name__ == "__main__":
    x = torch.ones(3, device="npu")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(work, [1, 2]) == [[2, 2, 2], [3, 3, 3]]
    print(x.tolist())
"""
    )
    done = start([str(program)])
    assert done.stdout == "[1.0, 1.0, 1.0]\n", done.stderr


ENDINGS = {
    "tensors in globals": "",
    "work in flight": "torch.npu.simulator.set(latency=20000)\ny = x + 1",
    "a tensor in a cycle": "class A: pass\na = A(); a.a = a; a.x = x",
    "a stream and an event": "s = torch.npu.Stream(); e = s.record_event()",
    "a stream that hangs": "torch.npu.simulator.hang(); y = x + 1; torch.npu.simulator.release()",
    "a thread at work": """
import threading, time
def work():
    while True:
        torch.ones(10, device="npu").cpu()
threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)""",
    "atexit": """
import atexit
atexit.register(lambda: print((x + 1).tolist()))""",
    "a module's end": """
class Last:
    def __init__(self, x): self.x = x
    def __del__(self): self.x.add_(1)
last = Last(x)""",
    "an error": "raise SystemExit(0)",
}


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS.keys())
def test_the_interpreter_ends_in_any_order(ending):
    program = f"import mindtorch_v2 as torch\nx = torch.ones(3, device='npu')\n{ending}"
    done = start(["-c", program], MINDTORCH_SIM_PRINT="0")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_pickles_and_text():
    run(
        """
import copy, io, pickle
x = torch.arange(6.0, device="npu:1").reshape(2, 3)
y = pickle.loads(pickle.dumps(x))
assert y.device == x.device and y.tolist() == x.tolist()
assert copy.deepcopy(x).device == x.device
assert repr(x[0]) == "tensor([0., 1., 2.], device='npu:1')"
file = io.BytesIO()
torch.save({"x": x}, file)
file.seek(0)
assert torch.load(file)["x"].device == x.device
file.seek(0)
assert torch.load(file, map_location="cpu")["x"].device.type == "cpu"
class Sub(torch.Tensor): pass
assert type(x.as_subclass(Sub)) is Sub
try:
    x.numpy()
except TypeError as error:
    assert "cpu" in str(error)
"""
    )


# python -m mindtorch_v2.npu.doctor


def test_the_doctor_finds_a_device_well():
    done = start(["-m", "mindtorch_v2.npu.doctor"])
    assert done.returncode == 0, done.stdout
    assert "This is the simulator" in done.stdout and "npu:0: Ascend910B3" in done.stdout
    assert "Version of CANN" in done.stdout and done.stdout.endswith("All is well.\n")


# Of linear algebra CANN has inverses, determinants, orthogonal factors and triangular solutions.
DECOMPOSITIONS = set(
    """
    _linalg_cholesky _linalg_eig _linalg_eigh _linalg_geqrf _linalg_householder_product
    _linalg_ldl_factor _linalg_ldl_solve _linalg_lstsq _linalg_lu_factor _linalg_lu_solve
    _linalg_matrix_exp _linalg_ormqr _linalg_permutation _linalg_pinv _linalg_solve _linalg_svd
    cholesky geqrf linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh
    linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_ldl_factor
    linalg_ldl_factor_ex linalg_ldl_solve linalg_lstsq linalg_lu linalg_lu_factor
    linalg_lu_factor_ex linalg_lu_solve linalg_matrix_exp linalg_matrix_rank
    linalg_matrix_rank.atol_rtol_float linalg_matrix_rank.atol_rtol_tensor
    linalg_matrix_rank.tol_tensor linalg_pinv linalg_pinv.atol_rtol_float
    linalg_pinv.atol_rtol_tensor linalg_pinv.rcond_tensor linalg_solve linalg_solve_ex linalg_svd
    linalg_svdvals linalg_tensorsolve lu_solve lu_unpack matrix_exp orgqr ormqr pinverse svd
    """.split()
)

# Of Fourier transforms it has those of real lines to half spectra.
FOURIER = re.compile(r"_fft_c2[cr]|fft_i?fft|fft_(ir|h)fft|fft_i?[rh]?fft[2n]|istft")

# CANN draws no such numbers, and has few of the special functions.
SPECIAL = re.compile(
    r"_standard_gamma(_grad)?|_sample_dirichlet|_dirichlet_grad|poisson|binomial|igammac?|polygamma|"
    r"special_(airy_ai|zeta|bessel_[jy][01]|.*_polynomial_\w+)"
)


def test_the_doctor_tests_every_op():
    text = run(
        """
results = torch.npu.doctor.examine().results
assert len(results) > 300
for op, result in results.items():
    if result != "ok":
        print(op, result)
"""
    )
    layers = ("_lstm_layer", "_gru_layer", "_rnn_layer")  # CANN has none: made of other ops there
    known = {f"{layer}{way}" for layer in layers for way in ("", "_backward")}
    known |= {"_coo_mm", "_coo_dot", "_coo_dense", "_coo_merge", "_coo_add"}  # likewise
    known |= {"_interpolate", "_interpolate_backward", "_embedding_bag"}  # likewise
    known |= {"dot", "inner"}  # CANN multiplies no matrices of integers
    known |= DECOMPOSITIONS
    found = {line.split()[0] for line in text.splitlines()}
    known |= {op for op in found if SPECIAL.fullmatch(op) or FOURIER.fullmatch(op)}
    assert found - known == set(), text


def test_the_doctor_says_why_there_is_none(tmp_path):
    done = start(
        ["-m", "mindtorch_v2.npu.doctor"], MINDTORCH_NPU="cann", ASCEND_HOME_PATH=str(tmp_path)
    )
    assert done.returncode == 1
    assert "libascendcl.so: not found" in done.stdout and "set_env.sh" in done.stdout
    done = start(["-m", "mindtorch_v2.npu.doctor"], MINDTORCH_NPU="off")
    assert done.returncode == 1 and "Advice: MINDTORCH_NPU=off" in done.stdout


def test_the_doctor_names_an_op_that_is_wrong():
    text = run(
        """
for name in ("aclnnAdd", "aclnnAdds"):
    torch.npu.simulator.add_faults(f"call:{name}GetWorkspaceSize:1+:361001")
diagnosis = torch.npu.doctor.examine(ops=["add", "mul"])
assert not diagnosis.healthy
print(torch.npu.doctor.describe(diagnosis))
"""
    )
    assert "  add.Tensor: AcceleratorError: aclnnAdd" in text
    assert "mul" not in text.split("Ops that")[1]


# What CANN calls Ascend910B, without a number, is a board with the chip before the 910B1.
@pytest.mark.parametrize("chip", ["Ascend910A", "Ascend910B", "Ascend310P3", "Ascend910B1"])
def test_a_refusal_names_the_chip_that_lacks_a_dtype(chip):
    run(
        f"""
chip = "{chip}"
torch.npu.simulator.enable(soc=chip)
is_old = chip != "Ascend910B1"
assert torch.npu.get_device_name() == chip and torch.npu.is_bf16_supported() == (not is_old)
x, half = torch.ones(2, 2, device="npu"), torch.ones(2, 2, dtype=torch.float16, device="npu")
known = torch.accelerator.get_device_capability()["supported_dtypes"]
assert torch.float16 in known and (torch.bfloat16 in known) == (not is_old)


def attempt(call, op, dtype):
    try:
        found = call()
    except NotImplementedError as error:
        assert is_old, error
        want = f"Could not run '{{op}}' on device npu:0, {{chip}} for torch.{{dtype}}: it takes "
        assert str(error).startswith(want), error
    else:
        assert not is_old and found.device.type == "npu"


for _ in range(2):
    attempt(lambda: x.bfloat16(), "empty_strided", "bfloat16")
    attempt(lambda: torch.ones(3, dtype=torch.bfloat16, device="npu"), "ones", "bfloat16")
    attempt(lambda: torch.ones(3, dtype=torch.bfloat16).npu(), "empty_strided", "bfloat16")
    attempt(lambda: half.view(torch.bfloat16), "view.dtype", "bfloat16")
    attempt(lambda: x @ x, "mm", "float32")
    attempt(lambda: torch.nn.functional.linear(x, x, x[0]), "addmm", "float32")
    with torch.pipeline():
        attempt(lambda: x @ x, "mm", "float32")
        attempt(lambda: (x + 1).bfloat16(), "empty_strided", "bfloat16")
assert (half @ half).tolist() == [[2.0, 2.0]] * 2 and (x + half).tolist() == [[2.0, 2.0]] * 2
"""
    )
