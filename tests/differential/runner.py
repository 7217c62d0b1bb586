"""Runs calls in subprocesses, so that a crash or a hang is one more difference, and counts."""

import json
import mmap
import os
import re
import selectors
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from tests.differential import known
from tests.differential.compare import plain_name
from tests.differential.worker import NOTE_BYTES, VALUE_KINDS, note_text

BATCH = 20_000
DTYPE_NAMES = "Float|Double|Half|BFloat16|Char|Short|Int|Long|Byte|Bool"
C_NAMES = "c10::Half|c10::BFloat16|float|double|int64_t|int8_t|uint8_t|int16_t|long int|short int"
C_NAMES += "|signed char|unsigned char|int|bool|long"
HANG_S = 30
START_S = 120  # the imports, on a busy machine
WORKER = (sys.executable, "-m", "tests.differential.worker")
ROOT = Path(__file__).resolve().parents[2]
GROUPS = {
    "values": (*VALUE_KINDS, "ties", "crash", "hang", "setup"),
    "raises": ("accepted", "refused"),
    "class": ("class", "type name"),
    "text": ("text",),
    "strides": ("strides", "offset", "alias"),
    "harness": ("harness", "torch"),
}


@dataclass
class Report:
    device: str = "cpu"
    calls: int = 0
    raised: int = 0  # in torch
    rows: list = field(default_factory=list)
    known: list = field(default_factory=list)  # (reason, row)

    def add(self, row):
        row = {**row, "device": self.device}
        why = known.reason(row)
        if why is None:
            self.rows.append(row)
        else:
            self.known.append((why, row))

    def count(self, group):
        """Calls that differ in a group's way."""
        return len({row["number"] for row in self.rows if row["kind"] in GROUPS[group]})

    def rates(self):
        calls = max(1, self.calls)
        return {
            "values per 10,000 calls": self.count("values") * 10_000 / calls,
            "raises per 200 calls": self.count("raises") * 200 / calls,
            "classes per 200 calls": self.count("class") * 200 / calls,
            "texts per 200 calls": self.count("text") * 200 / calls,
            "strides per 10,000 calls": self.count("strides") * 10_000 / calls,
        }

    def grouped(self, group, examples=3):
        """[((op, kind), count, shortest rows)], the most frequent first."""
        groups = defaultdict(list)
        for row in self.rows:
            if row["kind"] in GROUPS[group]:
                # Function, method, in-place and out= forms of an op are one.
                name = plain_name(row["op"].removesuffix("(out=)"))
                groups[name, row["kind"]].append(row)
        ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
        return [
            (key, len(rows), sorted(rows, key=lambda r: len(r["text"]))[:examples])
            for key, rows in ordered
        ]

    def texts(self):
        """[((torch's text, ours), count, row)] with numbers replaced, the most frequent first."""
        counts, example = Counter(), {}
        for row in self.rows:
            if row["kind"] != "text":
                continue
            key = tuple(generalised(text) for text in json.loads(row["detail"]))
            counts[key] += 1
            if key not in example or len(row["text"]) < len(example[key]["text"]):
                example[key] = row
        return [(key, count, example[key]) for key, count in counts.most_common()]


def generalised(text):
    """An error text without the numbers and names that change from call to call."""
    text = re.sub(rf"'({DTYPE_NAMES})'|\b({DTYPE_NAMES}|{C_NAMES})\b", "DTYPE", text)
    text = re.sub(r"got \([^()]*\), but", "got (..), but", text)
    text = re.sub(r"(?<!\w)-?\d+(\.\d+)?(e[+-]?\d+)?", "N", text)
    return re.sub(r"(N, )+N", "N..", text)


def reproducer(row, device="cpu", mode="eager"):
    lines = ["from math import inf, nan", "import torch"]
    if device != "cpu":
        lines.append(f"device = {device!r} if hasattr(torch, 'pipeline') else 'cpu'")
    if mode == "pipeline":
        lines.append("pipe = getattr(torch, 'pipeline', __import__('contextlib').nullcontext)()")
        lines.append("pipe.__enter__()")
    return "; ".join([*lines, row["text"], "print(r)"])


class Progress:
    """A worker, and the file in which it notes what it is about to call."""

    def __init__(self, start, stop, options):
        self.start, self.stop = start, stop
        handle, self.path = tempfile.mkstemp(prefix="differential-")
        os.truncate(handle, NOTE_BYTES)
        self.note = mmap.mmap(handle, NOTE_BYTES)
        os.close(handle)
        command = [*WORKER, "--note", self.path]
        command += ["--start", str(start), "--stop", str(stop), *options]
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.errors, cwd=ROOT
        )
        self.partial = b""
        self.last, self.since, self.done = None, time.monotonic() + START_S, False

    def hangs(self):
        number, _, _ = note_text(self.note)
        now = time.monotonic()
        if number not in (self.last, -1):
            self.last, self.since = number, now
        return now - self.since > HANG_S

    def read(self):
        """The rows that have come, or None at the end."""
        data = os.read(self.process.stdout.fileno(), 1 << 16)
        if not data:
            return None
        *lines, self.partial = (self.partial + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def close(self):
        self.process.wait()
        self.process.stdout.close()
        self.errors.seek(0)
        text = self.errors.read()
        self.errors.close()
        self.note.close()
        os.unlink(self.path)
        return text


def run(calls, seed=0, op=None, device="cpu", mode="eager", jobs=1, start=0, on_report=None):
    """Makes the calls and returns the report."""
    report = Report(device)
    options = ["--seed", str(seed), "--device", device, "--mode", mode]
    options += ["--op", op] if op else []
    waiting = [(n, min(n + BATCH, start + calls)) for n in range(start, start + calls, BATCH)]
    selector = selectors.DefaultSelector()
    running = []

    def begin():
        while waiting and len(running) < jobs:
            worker = Progress(*waiting.pop(0), options)
            running.append(worker)
            selector.register(worker.process.stdout, selectors.EVENT_READ, worker)

    def end(worker, kind=None):
        selector.unregister(worker.process.stdout)
        running.remove(worker)
        number, text, raised = note_text(worker.note)
        report.raised += raised
        if kind == "hang":
            worker.process.kill()
        errors = worker.close()
        if worker.done:
            report.calls += worker.stop - worker.start
        elif number < worker.start:
            raise RuntimeError(f"a worker could not start:\n{errors[-3000:]}")
        else:
            report.calls += number + 1 - worker.start
            kind = kind or "crash"
            if not text or not again(number, options):
                kind = "torch"
            detail = f"exit status {worker.process.returncode}: {errors.strip()[-600:]}"
            found = {"number": number, "op": call_name(text), "kind": kind}
            report.add({**found, "text": text, "detail": detail})
            if number + 1 < worker.stop:
                waiting.insert(0, (number + 1, worker.stop))
        if on_report:
            on_report(report)
        begin()

    begin()
    while running:
        for key, _ in selector.select(timeout=1):
            worker = key.data
            rows = worker.read()
            if rows is None:
                end(worker)
                continue
            for row in rows:
                if "done" in row:
                    worker.done = True
                else:
                    report.add(row)
        for worker in list(running):
            if worker.hangs():
                end(worker, "hang")
    return report


def again(number, options):
    """Whether a call that ended or stopped its process does so without torch."""
    worker = Progress(number, number + 1, [*options, "--only-ours"])
    try:
        worker.process.wait(START_S + HANG_S)
    except subprocess.TimeoutExpired:
        worker.process.kill()
    worker.close()
    return worker.process.returncode != 0


def call_name(text):
    found = re.search(r"r = (?:torch\.)?([\w.]+)\(", text.rpartition("; ")[2])
    return found.group(1) if found else "expression"
