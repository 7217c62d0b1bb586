"""Random calls of every op give what torch gives: a small run of fixed calls.

The long run is `python -m tests.differential`; README.md says how to read it.
"""

import json
import os
import subprocess
import sys
import types

import numpy as np
import pytest

from tests.differential import compare, known, runner
from tests.differential.arguments import Call

CALLS = 10_000
# What may differ without being listed in known.py; to be lowered whenever fewer calls differ. The
# goal is 1 for values and 1 for raises.
LIMITS = {
    "values per 10,000 calls": 3,
    "raises per 200 calls": 1,
    "classes per 200 calls": 2,
    "texts per 200 calls": 5,
    "strides per 10,000 calls": 15,
}


def test_random_calls_agree_with_torch(oracle):
    report = runner.run(CALLS, seed=0)
    assert report.calls == CALLS
    assert report.raised > CALLS // 10  # mistakes are made
    ways = ("harness", "setup")
    assert not [row for row in report.rows if row["kind"] in ways]
    rates = report.rates()
    over = {name: rates[name] for name, limit in LIMITS.items() if rates[name] > limit}
    worst = "\n".join(
        f"{count} {op} {kind}: {runner.reproducer(rows[0])}"
        for group in ("values", "raises")
        for (op, kind), count, rows in report.grouped(group, 1)[:10]
    )
    assert not over, worst


def rows_of(entry):
    """The differences of a known entry's example."""
    from tests.differential.worker import Comparer

    *setup, action = entry.example.split("; ")
    call = Call(entry.example_op, setup, action)
    found = Comparer(seed=0, device=entry.device or "cpu").differences(call)
    row = {"op": call.op, "text": entry.example, "device": entry.device or "cpu"}
    return [{**row, "kind": kind, "detail": detail} for kind, detail in found]


@pytest.fixture(scope="module")
def rows_on_npus():
    """The differences of every example that needs NPUs: a process chooses its NPUs once."""
    code = "import json; from tests.differential import known, test_differential as test; "
    code += "entries = [entry for entry in known.KNOWN if entry.device]; "
    code += "print(json.dumps({entry.name: test.rows_of(entry) for entry in entries}))"
    environment = {**os.environ, "MINDTORCH_NPU": "sim"}
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, env=environment, cwd=runner.ROOT, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("entry", known.KNOWN, ids=lambda entry: entry.name)
def test_known_differences_still_occur(oracle, entry, request):
    if entry.device:
        rows = request.getfixturevalue("rows_on_npus")[entry.name]
    else:
        rows = rows_of(entry)
    assert any(entry.matches(row) for row in rows), rows or "no difference"


# --- the comparison itself, without torch -------------------------------------------------------


def snapshot(values, dtype="float32"):
    values = np.array(values, dtype)
    return types.SimpleNamespace(values=values, dtype=dtype, shape=values.shape)


@pytest.mark.parametrize(
    "want, got, kind, found",
    [
        ([1.0, np.nan], [1.0, np.nan], "", ""),
        ([1.0, np.nan], [1.0, 2.0], "", "nan"),
        ([0.0], [-0.0], "", "zero sign"),
        ([1.0], [1.0000001], "", "value"),
        ([1.0], [1.0000001], "few", ""),
        ([1.0], [1.001], "few", "value"),
        ([np.inf], [3.0], "few", "value"),
        ([0.0], [-0.0], "sum", ""),
    ],
)
def test_values(want, got, kind, found):
    assert compare.values_differ(snapshot(want), snapshot(got), kind) == found


def test_integers_are_exact_in_any_op():
    assert compare.values_differ(snapshot([5], "int8"), snapshot([6], "int8"), "sum") == "value"


def test_large_sums_may_overflow_or_not():
    limit = compare.values_differ(snapshot([np.inf]), snapshot([3e38]), "sum", 1e38)
    assert (limit, compare.values_differ(snapshot([np.inf]), snapshot([3.0]), "sum")) == (
        "",
        "value",
    )


def test_keywords_in_an_error_have_no_order():
    texts = (
        "f() received x - got (Tensor, b=int, a=str), but",
        "f() received x - got (Tensor, a=str, b=int), but",
    )
    assert compare.first_line(ValueError(texts[0])) == compare.first_line(ValueError(texts[1]))


WORKER = """
import mmap, os, sys, json, time
sys.path.insert(0, {root!r})
from tests.differential.worker import HEADER, NOTE_BYTES
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
note = mmap.mmap(os.open(options["--note"], os.O_RDWR), NOTE_BYTES)
for number in range(int(options["--start"]), int(options["--stop"])):
    text = f"r = torch.op{{number}}()".encode()
    note[HEADER.size:HEADER.size + len(text)] = text
    HEADER.pack_into(note, 0, number + 1, len(text), 0)
    if number == 3 or number == 4 and "--only-ours" not in sys.argv:
        os.abort()
    if number == 5:
        time.sleep(600)
print(json.dumps({{"done": 1}}), flush=True)
"""


def test_crashes_and_hangs_are_told_with_their_call_if_they_are_ours(tmp_path, monkeypatch):
    script = tmp_path / "worker.py"
    script.write_text(WORKER.format(root=str(runner.ROOT)))
    monkeypatch.setattr(runner, "WORKER", (sys.executable, str(script)))
    monkeypatch.setattr(runner, "HANG_S", 0.5)
    monkeypatch.setattr(runner, "START_S", 5)
    report = runner.run(8)
    found = [(row["kind"], row["op"]) for row in report.rows]
    assert report.calls == 8
    assert found == [("crash", "op3"), ("torch", "op4"), ("hang", "op5")]


def test_texts_are_ranked_without_their_numbers():
    report = runner.Report(calls=3)
    for size in (2, 7, 7):
        pair = json.dumps([f"size {size} for 'Half'", f"has {size}"])
        report.add({"number": size, "op": "add", "kind": "text", "text": "", "detail": pair})
    assert [(key, count) for key, count, _ in report.texts()] == [
        (("size N for DTYPE", "has N"), 3)
    ]
