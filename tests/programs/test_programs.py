"""The programs of examples/ that say `import torch` print the losses that torch gives them."""

import json

import pytest

from tests.programs.cases import CASES, EXPECTED, numbers, run

TORCH = json.loads(EXPECTED.read_text())["cases"]
# float16 and bfloat16 round to 3 and 2 digits; torch adds up in another order.
TOLERANCE = {"float16": 2e-3, "bfloat16": 5e-3}
# On an NPU dropout draws other random numbers.
ON_NPU = [case for case in CASES if case not in ("lstm", "gpt dropout", "convnet workers")]


def check(found, expected, tolerance):
    assert found.keys() == expected.keys()
    different = {
        name: (value, expected[name])
        for name, value in found.items()
        if value != pytest.approx(expected[name], rel=tolerance, abs=max(5e-6, tolerance / 100))
    }
    assert not different


def tolerance(case):
    return TOLERANCE.get(case.split()[-1], 1e-4)


@pytest.mark.parametrize("case", CASES)
def test_on_a_cpu(case):
    check(numbers(run(case)), TORCH[case], tolerance(case))


@pytest.mark.parametrize("case", ON_NPU)
def test_on_a_simulated_npu(case):
    check(numbers(run(case, "--device", "npu", npu="sim")), TORCH[case], tolerance(case))


# By case: the step of the checkpoint that a run goes on from.
RESUMED = {"lstm without dropout": 10, "convnet": 6, "vae": 12, "actor critic": 4, "gpt": 6,
           "super resolution": 6}  # fmt: skip


@pytest.mark.parametrize("npu", ["off", "sim"])
@pytest.mark.parametrize("case", RESUMED)
def test_resumed(case, npu, tmp_path):
    place = ("--device", "npu" if npu == "sim" else "cpu")
    whole = numbers(run(case, *place, "--checkpoints", tmp_path, npu=npu))
    path = tmp_path / f"step-{RESUMED[case]}.pt"
    found = numbers(run(case, *place, "--resume", path, npu=npu))
    assert found and min(int(name.split()[0]) for name in found) > RESUMED[case]
    assert found == {name: whole[name] for name in found}


def test_compiled():
    check(numbers(run("gpt", "--compile")), TORCH["gpt"], 1e-4)


def test_a_picture(tmp_path):
    path = tmp_path / "grid.ppm"
    run("dcgan", "--picture", path)
    header, _, pixels = path.read_bytes().partition(b"\n")
    assert header == b"P6 72 72 255" and len(pixels) == 72 * 72 * 3
