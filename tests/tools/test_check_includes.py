"""Sources are compiled alone: what others of their group include, or what is precompiled, is theirs
to include, too."""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def check(tmp_path, sources):
    """The answer for a project whose sources are compiled as one group."""
    (tmp_path / "point.h").write_text("#pragma once\nstruct Point { int x; };\n")
    (tmp_path / "library.h").write_text("#pragma once\n#include <map>\n#include <vector>\n")
    build = tmp_path / "build"
    group = build / "groups" / "all.cpp"
    group.parent.mkdir(parents=True)
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    group.write_text("".join(f'#include "{name}"\n' for name in sources))
    command = f"c++ -I{tmp_path} -std=c++20 -DNAME=1 -Werror -O3 -o all.o -c {group}"
    entry = {"directory": str(build), "file": str(group), "command": command}
    (build / "compile_commands.json").write_text(json.dumps([entry]))
    command = [sys.executable, ROOT / "tools" / "check_includes.py", build, "2"]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)


RIGHT = '#include "point.h"\nint right(Point p) { return p.x + NAME; }\n'


def test_sources_that_include_what_they_use(tmp_path):
    answer = check(tmp_path, {"a.cpp": RIGHT, "b.cpp": "int two() { return 2; }\n"})
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "[includes] 2 sources, 0 that do not compile alone\n"


def test_what_another_source_of_the_group_includes(tmp_path):
    wrong = "int wrong(Point p) { return p.x; }\n"
    answer = check(tmp_path, {"a.cpp": RIGHT, "b.cpp": wrong})
    assert answer.returncode == 1
    assert "b.cpp:1:11: error: " in answer.stderr and "a.cpp" not in answer.stderr
    assert answer.stdout == "[includes] 2 sources, 1 that do not compile alone\n"


def test_what_is_precompiled_for_others(tmp_path):
    sources = {
        f"{n}.cpp": f'#include "library.h"\nstd::vector<int> f{n}() {{ return {{}}; }}\n'
        for n in range(9)
    }
    sources["wrong.cpp"] = "std::map<int, int> wrong() { return {}; }\n"
    answer = check(tmp_path, sources)
    assert answer.returncode == 1 and "wrong.cpp:1" in answer.stderr
    assert answer.stdout == "[includes] 10 sources, 1 that do not compile alone\n"
