"""Programs to be profiled, and readers of traces."""

import gzip
import json

import pytest


@pytest.fixture
def profiled(torch):
    """profiled(program, **settings): the profiler that saw the program run."""

    def run(program, **settings):
        settings.setdefault("activities", [torch.profiler.ProfilerActivity.CPU])
        with torch.profiler.profile(**settings) as prof:
            program()
        return prof

    return run


@pytest.fixture
def trace_of(tmp_path):
    """The events of a profiler's Chrome trace."""

    def read(prof, name="trace.json"):
        path = str(tmp_path / name)
        prof.export_chrome_trace(path)
        open_file = gzip.open if name.endswith(".gz") else open
        with open_file(path, "rt") as file:
            return json.load(file)

    return read
