"""The table of compile times: every command once, under the folder of its sources."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
LOG = """# ninja log v5
0\t9000\t1\tCMakeFiles/mindtorch.dir/mindtorch/backends/cpu/tiles/sums.cpp.o\taaaa
0\t2000\t1\tCMakeFiles/mindtorch.dir/groups/mindtorch/views.cpp.o\tbbbb
0\t3000\t2\tCMakeFiles/mindtorch.dir/mindtorch/backends/cpu/tiles/sums.cpp.o\taaaa
2000\t2500\t2\tsimulator/ascend/CMakeFiles/opapi.dir/__/__/groups/opapi/one.cpp.o\tcccc
2500\t2750\t2\tlibmindtorch.so.1\tdddd
2500\t2750\t2\tlibmindtorch.so\tdddd
"""
GROUPS = {
    "mindtorch/views.cpp": ["mindtorch/tensor/views/a.cpp", "mindtorch/tensor/b.cpp"],
    "opapi/one.cpp": ["simulator/ascend/ops/c.cpp", "simulator/ascend/ops/d.cpp"],
}


def build_times(*arguments):
    command = [sys.executable, ROOT / "tools" / "build_times.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def a_build(tmp_path):
    (tmp_path / ".ninja_log").write_text(LOG)
    for name, sources in GROUPS.items():
        group = tmp_path / "groups" / name
        group.parent.mkdir(parents=True)
        group.write_text("".join(f'#include "{source}"\n' for source in sources))
    return tmp_path


def test_the_last_run_of_each_command_counts_under_the_folder_of_its_sources(tmp_path):
    lines = build_times(a_build(tmp_path)).stdout.splitlines()
    assert [line.split(None, 3) for line in lines[:-1]] == [
        ["3.0", "s", "1", "mindtorch/backends/cpu/tiles"],
        ["2.0", "s", "1", "mindtorch/tensor"],
        ["0.5", "s", "1", "simulator/ascend/ops"],
        ["0.2", "s", "1", "(linking)"],
    ]
    assert lines[-1].split()[:3] == ["5.8", "s", "4"]


def test_the_total_alone_and_the_slowest(tmp_path):
    build = a_build(tmp_path)
    (line,) = build_times(build, "--total").stdout.splitlines()
    assert line.split()[:3] == ["5.8", "s", "4"]
    (line,) = build_times(build, "--files", "1").stdout.splitlines()
    assert line.split()[0] == "3.0" and line.endswith("tiles/sums.cpp.o")


def test_a_folder_without_a_build_is_named(tmp_path):
    answer = build_times(tmp_path)
    assert answer.returncode == 1 and str(tmp_path) in answer.stderr
