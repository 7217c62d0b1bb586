"""Where CANN's libraries are looked for, and what a release without some function can still do."""

import pathlib
import subprocess
import sys

import pytest

from tests.support.simulated import run, start

OLDER = pathlib.Path(__file__).resolve().parents[3] / "tools" / "older_cann.py"
WORKS = "assert (torch.ones(2).npu() + 1).tolist() == [2, 2]\n"


@pytest.fixture
def cann(tmp_path):
    """Makes a CANN of the simulator's libraries in a folder, without some functions; its folder."""

    def make(*without, folder="cann", libraries=None):
        simulator = start(["-m", "mindtorch_v2.npu.simulator", "--folder"]).stdout.strip()
        target = tmp_path / folder / "lib64"
        target.mkdir(parents=True)
        if without:
            command = [sys.executable, str(OLDER), simulator, str(target), *without]
            subprocess.run(command, check=True)
        else:
            for library in pathlib.Path(simulator).glob("lib*.so"):
                (target / library.name).write_bytes(library.read_bytes())
        for library in libraries or ():
            (target / library).write_bytes((target / "libopapi.so").read_bytes())
        if libraries:
            (target / "libopapi.so").unlink()
        return str(tmp_path / folder)

    return make


def use(program, home, **environment):
    """The output of a program that finds CANN at `home` only."""
    environment = {"MINDTORCH_NPU": "cann", "ASCEND_HOME_PATH": home, **environment}
    return run(program, LD_LIBRARY_PATH=f"{home}/lib64", **environment)


@pytest.mark.parametrize("variable", ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"])
@pytest.mark.parametrize("choice", ["auto", "cann"])
def test_cann_is_found_below_its_home(cann, variable, choice):
    home = cann()
    found = f"""
paths = [path for _, path, reason in torch._C._npu_load_report()["attempts"] if not reason]
assert paths and all(path.startswith({home!r}) for path in paths), paths
"""
    run(WORKS + found, MINDTORCH_NPU=choice, **{variable: home})


@pytest.mark.parametrize(
    "libraries",
    [["libaclnn_ops_infer.so"], ["libopapi_math.so"], ["libopapi_nn.so", "libopapi_legacy.so"]],
    ids=["old", "split", "two of several"],
)
def test_op_libraries_of_other_releases(cann, libraries):
    use(WORKS + "assert torch._C._npu_aclnn_symbols_ok()", cann(libraries=libraries))


def test_libraries_for_linking_are_not_run(cann):
    home = cann(folder="devlib")
    text = run(
        """
assert not torch.npu.is_available()
print(*[reason for _, _, reason in torch._C._npu_load_report()["attempts"]])
""",
        MINDTORCH_NPU="cann",
        ASCEND_HOME_PATH=home,
    )
    assert "a library for linking only" in text


def test_a_function_that_is_needed_is_named(cann):
    home = cann("aclrtMalloc")
    text = use(
        """
assert not torch.npu.is_available() and not torch._C._npu_aclnn_symbols_ok()
try:
    torch.ones(2).npu()
except RuntimeError as error:
    print(error)
print(torch.npu.doctor.describe(torch.npu.doctor.examine()))
""",
        home,
    )
    assert "CANN lacks the function aclrtMalloc" in text
    assert "Missing, and needed: aclrtMalloc" in text and "version 8.0 or newer" in text


def test_an_op_that_is_missing_is_named_when_it_is_called(cann):
    home = cann("aclnnTanh", "aclnnTanhGetWorkspaceSize")
    text = use(
        WORKS
        + """
assert not torch._C._npu_aclnn_symbols_ok()
try:
    torch.ones(2).npu().tanh()
except NotImplementedError as error:
    print(error)
print(torch.npu.doctor.describe(torch.npu.doctor.examine(ops=["tanh", "add"])))
""",
        home,
    )
    assert "has no aclnnTanh" in text and "  missing: aclnnTanh\n" in text
    assert "Newer versions of CANN's op packages" in text


@pytest.mark.parametrize(
    "without",
    [
        ["aclSetAclOpExecutorRepeatable"],
        ["aclDestroyAclOpExecutor"],
        ["aclSetTensorAddr"],
        ["aclSetDynamicTensorAddr"],
    ],
    ids=lambda names: names[0],
)
def test_without_repeatable_executors_every_call_is_planned(cann, without):
    use(
        """
a = torch.ones(3).npu()
sim = torch.npu.simulator
sim.set(log=True, checks="all")
for step in range(3):
    sim.clear_calls()
    assert torch.cat([a + step, a]).tolist() == [1 + step] * 3 + [1] * 3
    assert sim.calls("aclnnAddsGetWorkspaceSize") and sim.calls("aclnnCatGetWorkspaceSize")
assert not sim.reports()
""",
        cann(*without),
    )


def test_a_release_without_newer_functions_works(cann):
    newer = OLDER.parents[1] / "mindtorch" / "backends" / "ascend" / "abi" / "functions_newer.tsv"
    names = [line.split("\t")[0] for line in newer.read_text().splitlines() if line[:3] == "acl"]
    assert names
    use(
        WORKS
        + """
s = torch.npu.Stream()
with torch.npu.stream(s):
    x = torch.ones(4, device="npu").cumsum(0)
s.synchronize()
assert x.tolist() == [1, 2, 3, 4] and torch.npu.mem_get_info()[1] > 0
assert torch.npu.get_device_name()

def draw():  # not in a graph, without the ops that read the seed from memory
    y = torch.dropout(torch.rand(40, device="npu") + 1, 0.5, True)
    return (y * 2).relu() + torch.randn(40, device="npu")

torch.manual_seed(3)
expected = [draw().cpu() for _ in range(6)]
torch.manual_seed(3)
for want in expected:
    with torch.pipeline():
        found = draw()
    assert torch.equal(found.cpu(), want)
""",
        cann(*names),
    )
