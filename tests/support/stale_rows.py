"""Which rows of tests/support/devices.py a run has not needed: listed at its end.

A row about tests of the CPU is stale when it matches no test, though its folder was collected
whole. Whether those tests would pass by now, a run with --left-to-the-cpu tells: it runs nothing
else, and fails where all tests of a row pass. A row about refusals is stale when nothing was
refused that it names, in a run of all folders. With xdist each worker knows a part of it.
"""

import pathlib

import pytest

from tests.support import devices

TESTS = pathlib.Path(__file__).resolve().parents[1]


def whole_folders(config):
    """The folders of which a run collects every test."""
    places = [(config.invocation_params.dir / arg).resolve() for arg in config.args]
    return {
        folder
        for folder in devices.FOLDERS
        if any(place == TESTS / folder or place in (TESTS / folder).parents for place in places)
    }


class StaleRows:
    """A plugin; one for each process of a run."""

    def __init__(self, config):
        self.config = config
        self.device = config.getoption("--device")[0]
        self.matched = set()
        self.passed, self.failed = set(), set()  # rows with such a test
        self.refused = set()

    def pytest_runtest_logreport(self, report):
        row = dict(report.user_properties).get("row")
        if row is not None and (report.when == "call" or report.outcome != "passed"):
            (self.passed if report.outcome == "passed" else self.failed).add(row)

    def parts(self):
        refused = self.refused | devices.seen_refusals
        return [sorted(part) for part in (self.matched, self.passed, self.failed, refused)]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error):
        found = getattr(node, "workeroutput", {}).get("stale_rows", [[], [], [], []])
        for mine, part in zip(
            (self.matched, self.passed, self.failed, self.refused), found, strict=True
        ):
            mine.update(tuple(each) if isinstance(each, list) else each for each in part)

    def stale(self):
        """Lines about rows that are not needed."""
        matched, passed, failed, refused = map(set, self.parts())
        if self.config.getoption("--left-to-the-cpu"):
            yield from (f"all tests pass: {row}" for row in sorted(passed - failed))
            return
        whole = whole_folders(self.config)
        for row in devices.OF_THE_CPU:
            if row not in matched and row.partition("/")[0] in whole:
                yield f"no such test: {row}"
        if whole == set(devices.FOLDERS):
            for number, (_, _, reason) in enumerate(devices.REFUSED.get(self.device, ())):
                if (self.device, number) not in refused:
                    yield f"nothing of it is refused: {reason}"

    def pytest_sessionfinish(self, session):
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["stale_rows"] = self.parts()
        elif self.config.getoption("--left-to-the-cpu") and list(self.stale()):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        stale = list(self.stale())
        if stale:
            terminalreporter.section("rows of tests/support/devices.py that nothing needs")
            for line in stale:
                terminalreporter.line(line)
