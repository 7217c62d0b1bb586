"""What set-up and build say on a machine that lacks something, and how they go on after an end."""

import fcntl
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAMS = (
    "bash cat cksum cut df dirname du env flock grep head id mkdir mv nproc rm sed sleep sort tail "
    "touch tr uname"
).split()
# CMake and Ninja may be in the environment alone.
PATH = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)))
COMPILERS = ("c++", "g++", "gcc", "cc", "as", "ld")


@pytest.fixture
def checkout(tmp_path):
    """A checkout with nothing but what sets it up."""
    folder = tmp_path / "checkout"
    shutil.copytree(ROOT / "tools", folder / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Makefile", "requirements.txt", "requirements-dev.txt"):
        shutil.copy(ROOT / name, folder)
    has_memory(folder, MemAvailable=8 << 20)
    return folder


def has_memory(checkout, **kib):
    """What the system says to the scripts of this checkout, whatever it is really like."""
    meminfo = checkout.parent / "meminfo"
    meminfo.write_text("".join(f"{name}: {value} kB\n" for name, value in kib.items()))
    reads = checkout / "tools" / "machine.sh"
    text = reads.read_text()
    for path in ("/proc/meminfo", "/sys/fs/cgroup", "/proc/self/cgroup"):
        own = meminfo if path == "/proc/meminfo" else checkout.parent / "none"
        text = text.replace(f":-{path}}}", f":-{own}}}")
    assert str(meminfo) in text and "/proc" not in text and "/sys" not in text
    reads.write_text(text)


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def programs(tmp_path):
    """A folder for PATH, in which there is no apt-get, sudo or pip."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in (*PROGRAMS, *COMPILERS):
        found = shutil.which(name)
        if found:
            (folder / name).symlink_to(found)
    script(folder / "python3", f'exec {sys.executable} "$@"')
    return folder


def run(checkout, programs, *command, **environment):
    return subprocess.run(
        command or ("tools/setup.sh", "demo"), cwd=checkout, capture_output=True, text=True,
        env={
            "PATH": str(programs),
            "HOME": str(checkout.parent),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
            **environment,
        },
    )  # fmt: skip


def one_sentence(done):
    assert done.returncode != 0
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("[setup] error: ")
    return line


def nothing_was_made(checkout):
    return not (checkout / ".venv").exists() and not (checkout / "build").exists()


def test_no_compiler(checkout, programs):
    for name in COMPILERS:
        (programs / name).unlink(missing_ok=True)
    line = one_sentence(run(checkout, programs))
    assert line.endswith("there is no C++ compiler: apt-get install g++")
    assert nothing_was_made(checkout)
    line = one_sentence(run(checkout, programs, CXX="clang++-99"))
    assert "no C++ compiler clang++-99" in line


def test_an_old_compiler(checkout, programs):
    answers = "*--version*) echo g++ 7.5.0 ;; *) echo 'no option -std=c++20' >&2; exit 1 ;;"
    old = f"case $* in {answers} esac"
    (programs / "c++").unlink(missing_ok=True)
    script(programs / "c++", old)
    line = one_sentence(run(checkout, programs))
    assert "GCC 12 or Clang 14 or newer is needed" in line and "g++ 7.5.0" in line
    assert nothing_was_made(checkout)


def test_a_compiler_without_its_library(checkout, programs):
    (programs / "c++").unlink(missing_ok=True)
    script(programs / "c++", "echo 'fatal error: bit: No such file or directory' >&2; exit 1")
    line = one_sentence(run(checkout, programs))
    assert "cannot compile a small program: fatal error: bit" in line


def test_an_old_python(checkout, programs):
    script(programs / "python3", "case $1 in --version) echo Python 3.8.1 ;; *) exit 1 ;; esac")
    assert one_sentence(run(checkout, programs)).endswith("python3 is Python 3.8.1")
    assert "python3.99 is missing" in one_sentence(run(checkout, programs, PYTHON="python3.99"))


def test_another_system(checkout, programs):
    (programs / "uname").unlink()
    script(programs / "uname", "case $1 in -s) echo Darwin ;; *) echo arm64 ;; esac")
    assert "this is Darwin on arm64" in one_sentence(run(checkout, programs))
    assert nothing_was_made(checkout)


needs_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="there is no compiler")


@needs_compiler
def test_a_full_disk(checkout, programs):
    (programs / "df").unlink()
    line = "/dev/vda 264212084 264109684 102400 100% /"
    script(programs / "df", f"echo Filesystem; echo {line}")
    assert "the disk is full" in (line := one_sentence(run(checkout, programs)))
    assert "100 MiB are free" in line
    assert nothing_was_made(checkout)


@needs_compiler
def test_no_network(checkout, programs):
    line = one_sentence(run(checkout, programs))
    assert "no network: 127.0.0.1 cannot be reached" in line
    assert nothing_was_made(checkout)
    proxy = {"PIP_INDEX_URL": "http://pypi.invalid/simple", "http_proxy": "http://127.0.0.1:9"}
    line = one_sentence(run(checkout, programs, **proxy))
    assert "pypi.invalid cannot be reached through the proxy 127.0.0.1" in line


@needs_compiler
def test_an_unfinished_environment_is_made_anew(checkout, programs):
    """What an interruption leaves: a mark, or an interpreter that does not start."""
    environment = checkout / ".venv"
    script(environment / "bin" / "python", f'exec {sys.executable} "$@"')
    (environment / ".mindtorch-unfinished").touch()
    done = run(checkout, programs)
    assert "removing an unfinished .venv" in done.stdout and not environment.exists()
    script(environment / "bin" / "python", "exit 1")
    done = run(checkout, programs)
    assert "removing an unfinished .venv" in done.stdout and not environment.exists()


def shell(checkout, command):
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"source tools/machine.sh; {command}"],
        cwd=checkout, capture_output=True, text=True,
    )  # fmt: skip


def test_available_memory(checkout, tmp_path):
    """Of the machine, and of the groups that limit this process, in both versions of them."""
    meminfo, own, groups = (tmp_path / name for name in ("meminfo", "own", "groups"))
    meminfo.write_text("MemTotal: 4194304 kB\nMemAvailable: 3145728 kB\nSwapFree: 1048576 kB\n")
    ask = f"available_mib {meminfo} {groups} {own}"
    assert shell(checkout, ask).stdout == "4096\n"
    own.write_text("4:memory:/a/b\n3:cpu,cpuacct:/a\n0::/c\n")
    assert shell(checkout, ask).stdout == "4096\n"
    outer = groups / "memory" / "a"
    (outer / "b").mkdir(parents=True)
    (outer / "memory.limit_in_bytes").write_text(f"{2 << 30}\n")
    (outer / "memory.usage_in_bytes").write_text(f"{1 << 30}\n")
    (outer / "memory.stat").write_text(f"cache 5\ntotal_inactive_file {512 << 20}\n")
    (outer / "b" / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    assert shell(checkout, ask).stdout == "1536\n"
    (groups / "c").mkdir()
    (groups / "c" / "memory.max").write_text("max\n")
    (groups / "c" / "memory.current").write_text("5\n")
    assert shell(checkout, ask).stdout == "1536\n"
    (groups / "c" / "memory.max").write_text(f"{1 << 30}\n")
    assert shell(checkout, ask).stdout == "1023\n"


@pytest.mark.parametrize("known", ["", "MemTotal: 4194304 kB\n", "SwapFree: 0 kB\n"])
def test_memory_that_is_not_known_is_enough(checkout, tmp_path, known):
    (tmp_path / "meminfo").write_text(known)
    assert shell(checkout, "check_memory $(available_mib)").returncode == 0
    assert shell(checkout, "jobs_for 64 $(available_mib)").stdout == "64\n"
    (tmp_path / "meminfo").unlink()
    assert shell(checkout, "check_memory $(available_mib)").returncode == 0


@pytest.mark.parametrize("wanted, available, jobs", [(8, 64000, 8), (8, 4000, 3), (2, 500, 1)])
def test_jobs_by_memory(checkout, wanted, available, jobs):
    assert shell(checkout, f"jobs_for {wanted} {available}").stdout == f"{jobs}\n"


def test_too_little_memory(checkout):
    assert shell(checkout, "check_memory 2000").returncode == 0
    done = shell(checkout, "check_memory 700")
    assert done.returncode == 1
    assert done.stdout.startswith("not enough memory") and "700 MiB are available" in done.stdout


def test_room_that_is_taken_already(checkout):
    """The room that a whole build needs, less what a part of it holds."""
    assert shell(checkout, "disk_needed 1500 build/release").stdout == "1500\n"
    folder = checkout / "build" / "release"
    folder.mkdir(parents=True)
    (folder / "a.o").write_bytes(bytes(3 << 20))
    assert shell(checkout, "disk_needed 1500 build/release").stdout == "1497\n"
    assert shell(checkout, "disk_needed 50 build/release").stdout == "100\n"


# --- a set-up that only lacks PyPI packages -------------------------------------------------------
@pytest.fixture
def almost(checkout, programs):
    """Every Debian package is there; what pip is to do is given by the test."""
    if shutil.which("c++") is None:
        pytest.skip("there is no compiler")
    python = "python{}.{}".format(*sys.version_info)
    for header in (
        "hwy/highway",
        "xbyak/xbyak",
        "gtest/gtest",
        "benchmark/benchmark",
        f"{python}/Python",
    ):
        path = checkout / "build" / "debian" / "usr" / "include" / f"{header}.h"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    script(programs / "ccache", "")

    def pip(does):
        site = checkout / ".venv" / "site"  # never that of the environment which runs the tests
        site.mkdir(parents=True, exist_ok=True)
        cases = (
            f"*' -m pip install '*) {does} ;; *' -m pip '*) ;; "
            f'*purelib*) echo {site} ;; *) exec {sys.executable} "$@" ;;'
        )
        script(checkout / ".venv" / "bin" / "python", f'case " $* " in {cases} esac')
        return checkout

    return pip


LOCAL = {"PIP_INDEX_URL": "file:///nothing"}


def test_a_set_up_writes_in_the_checkout_alone(almost, programs):
    checkout = almost("exit 0")
    done = run(checkout, programs, **LOCAL)
    assert done.returncode == 0, done.stderr
    path = checkout / ".venv" / "site" / "mindtorch_v2_source.pth"
    assert path.read_text() == f"{checkout}/python\n"
    assert run(checkout, programs, **LOCAL).stdout == ""  # there is nothing left to do


def test_a_disk_that_fills_during_set_up(almost, programs, tmp_path):
    (programs / "df").unlink()
    full = tmp_path / "full"
    script(
        programs / "df", f"echo; if test -e {full}; then echo a b c 5; else echo a b c 9999999; fi"
    )
    done = run(almost(f"touch {full}; exit 1"), programs, **LOCAL)
    assert done.returncode != 0
    assert "the disk is full" in done.stderr and "pip could not install" in done.stderr


def test_without_network_cmake_and_ninja_are_looked_for_too(almost, programs, tmp_path):
    log = tmp_path / "log"
    one_sentence(run(almost(f'echo "$*" >> {log}; exit 1'), programs))
    assert "--dry-run" in log.read_text()
    assert "cmake>=3.25" in log.read_text() and "ninja>=1.11" in log.read_text()


def test_few_jobs_are_said_at_once_and_once(almost, programs):
    checkout = almost("exit 1")
    has_memory(checkout, MemAvailable=2 << 20)
    text = "2048 MiB of memory are enough for 1 of 4 jobs at a time"
    assert text in run(checkout, programs, JOBS="4", **LOCAL).stdout
    assert text not in run(checkout, programs, JOBS="4", **LOCAL).stdout
    assert shell(checkout, "say_jobs build 4 2048").stdout == ""
    assert "enough for 2 of 8 jobs" in shell(checkout, "say_jobs build 8 3000").stdout


# Waits to be ended, and leaves a file if it is not. What runs on holds the checkout's lock.
WAITS = "touch {0}/runs; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1; done; touch {0}/ran-on"


def end(child, runs, checkout, number):
    """Sends a signal once the file is there, and waits until nothing runs on."""
    while not runs.exists():
        assert child.poll() is None, child.communicate()
    os.kill(child.pid, number)
    out = child.communicate()
    assert child.returncode != 0
    lock = os.open(checkout, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.close(lock)
    assert not runs.with_name("ran-on").exists()
    return out


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT])
def test_nothing_runs_on_after_a_set_up(almost, programs, tmp_path, number):
    checkout = almost(WAITS.format(tmp_path))
    child = subprocess.Popen(
        ["tools/setup.sh", "demo"], cwd=checkout, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={"PATH": str(programs), "HOME": str(tmp_path), "PIP_CONFIG_FILE": os.devnull, **LOCAL},
        preexec_fn=lambda: [signal.signal(each, signal.SIG_DFL) for each in (1, 2, 3, 15)],
    )  # fmt: skip
    end(child, tmp_path / "runs", checkout, number)
    assert child.returncode == 128 + number


# --- tools/build.sh -------------------------------------------------------------------------------
PRESETS = {
    "version": 6,
    "configurePresets": [
        {"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}
    ],
}
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES NONE)
file(GLOB found CONFIGURE_DEPENDS tools/*.py)
foreach(name one two)
  add_custom_command(OUTPUT ${name}.o COMMAND ${CMAKE_COMMAND} -E touch ${name}.o
                     COMMENT "Building CXX object ${name}.o")
  list(APPEND objects ${name}.o)
endforeach()
add_custom_target(objects ALL DEPENDS ${objects})
"""


@pytest.fixture
def project(checkout):
    for name in ("cmake", "ninja"):
        if shutil.which(name, path=PATH) is None:
            pytest.skip(f"there is no {name}")
    script(checkout / ".venv" / "bin" / "python", f'exec {sys.executable} "$@"')
    (checkout / "CMakePresets.json").write_text(json.dumps(PRESETS))
    (checkout / "CMakeLists.txt").write_text(PROJECT)
    return checkout


def build(project):
    command = ["tools/build.sh", "release", "2"]
    environment = {**os.environ, "PATH": PATH}
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)


def test_a_build_and_the_next(project):
    done = build(project)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "[build] configuring build/release"
    assert lines[1].startswith("[build] 2 objects to make with 2 jobs")
    assert lines[2].startswith("[build] 2 objects made in ")
    assert (project / "build" / "release" / "two.o").exists()
    again = build(project)
    assert (again.returncode, again.stdout) == (0, "")


def test_what_was_built_is_known_by_target(project):
    (project / "CMakeLists.txt").write_text(PROJECT + "add_custom_target(python_module)\n")
    assert shell(project, "was_built build/release python_module").returncode == 1
    environment = {**os.environ, "PATH": PATH}
    command = ["tools/build.sh", "release", "2", "python_module"]
    subprocess.run(command, cwd=project, env=environment, check=True)
    assert shell(project, "was_built build/release python_module").returncode == 0
    assert shell(project, "was_built build/release all").returncode == 1
    has_memory(project, MemAvailable=1 << 20)
    subprocess.run(command, cwd=project, env=environment, check=True)
    assert "not enough memory" in build(project).stderr
    has_memory(project, MemAvailable=8 << 20)
    assert build(project).returncode == 0
    assert shell(project, "was_built build/release all").returncode == 0


def test_builds_of_a_checkout_wait_for_each_other(project):
    lock = os.open(project, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    child = start_build(project)
    assert "another set-up or build of this checkout is running" in child.stdout.readline()
    os.close(lock)
    out, err = child.communicate()
    assert child.returncode == 0, err
    assert "2 objects made" in out


def start_build(project):
    (project / "Makefile").write_text("build:\n\t@tools/build.sh release 2\n")
    outer = ("MAKE", "MFLAGS")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(outer)}
    return subprocess.Popen(
        ["make", "build"], cwd=project, env={**inherited, "PATH": PATH}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize("when", ["configuring", "building"])
def test_nothing_runs_on_when_make_is_ended(project, tmp_path, when):
    script(project / "waits", WAITS.format(tmp_path))
    text = PROJECT + "execute_process(COMMAND ${CMAKE_SOURCE_DIR}/waits)\n"
    if when == "building":
        text = PROJECT.replace("-E touch", "-E env ${CMAKE_SOURCE_DIR}/waits")
    (project / "CMakeLists.txt").write_text(text)
    child = start_build(project)
    out, _ = end(child, tmp_path / "runs", project, signal.SIGTERM)
    assert when == "configuring" or "interrupted after 0 of 2 objects" in out


def test_a_configuration_that_was_interrupted(project):
    folder = project / "build" / "release"
    folder.mkdir(parents=True)
    (folder / "CMakeCache.txt").write_text("CMAKE_GENERATOR:INTERNAL=Unix Makefiles\n")
    assert build(project).returncode == 0
    # build.ninja was there already, but the rest was not.
    (folder / ".configured").unlink()
    assert "configuring" in build(project).stdout


def test_a_folder_that_came_from_another_machine_is_configured_again(project):
    assert "configuring" in build(project).stdout
    assert "configuring" not in build(project).stdout
    configured = project / "build" / "release" / ".configured"
    lines = configured.read_text().splitlines()
    configured.write_text("\n".join([*lines[:-1], "1234 567"]) + "\n")
    assert "configuring" in build(project).stdout
    assert configured.read_text().splitlines() == lines


def test_a_configuration_that_fails(project):
    lists = project / "CMakeLists.txt"
    lists.write_text(PROJECT + 'message(FATAL_ERROR "something is missing")\n')
    done = build(project)
    assert done.returncode != 0 and "something is missing" in done.stderr
    lists.write_text(PROJECT)
    assert build(project).returncode == 0
    lists.write_text(PROJECT + 'message(FATAL_ERROR "now something is missing")\n')
    done = build(project)
    assert done.returncode != 0 and "now something is missing" in done.stdout
    lists.write_text(PROJECT)
    assert build(project).returncode == 0


# --- tools/build_progress.py ----------------------------------------------------------------------
RULES = """
rule object
  command = {command}
  description = Building CXX object $out
build configured: phony build.ninja
"""


@pytest.fixture
def ninja(tmp_path):
    """A function that writes a build folder, whose objects are made by a command each."""
    program = shutil.which("ninja", path=PATH)
    if program is None:
        pytest.skip("there is no ninja")

    def write(command, objects):
        folder = tmp_path / "folder"
        folder.mkdir(exist_ok=True)
        (folder / "CMakeCache.txt").write_text(f"CMAKE_MAKE_PROGRAM:FILEPATH={program}\n")
        lines = [f"build {name}: object\n" for name in objects]
        text = RULES.format(command=command) + "".join(lines) + f"default {' '.join(objects)}\n"
        (folder / "build.ninja").write_text(text)
        return folder

    return write


def progress(folder, jobs=1):
    command = [sys.executable, str(ROOT / "tools" / "build_progress.py"), str(folder), str(jobs)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_errors_are_shown_and_the_status_kept(ninja):
    child = progress(ninja("echo a warning; touch $out; test $out != b.o", ["a.o", "b.o"]))
    out, err = child.communicate()
    assert child.returncode != 0 and err == ""
    assert out.count("a warning\n") == 2 and "FAILED: " in out and "[mindtorch" not in out
    child = progress(ninja("touch $out", ["a.o", "b.o"]))
    assert "objects made in" in child.communicate()[0] and child.returncode == 0


@pytest.mark.parametrize(
    "message, remark",
    [
        ("g++: fatal error: Killed signal terminated program cc1plus", "JOBS=1"),
        ("b.s: No space left on device", "the disk is full"),
    ],
)
def test_what_an_error_means(ninja, message, remark):
    child = progress(ninja(f"echo {message}; false", ["a.o"]))
    out, err = child.communicate()
    assert child.returncode != 0 and message in out
    (line,) = err.splitlines()
    assert line.startswith("[build] error: ") and remark in line


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGQUIT])
def test_an_interrupted_build_goes_on_where_it_was(ninja, tmp_path, number):
    """The second object waits for a file; what was made before is not made again."""
    log, wait = tmp_path / "log", tmp_path / "wait"
    wait.touch()
    command = (
        f"echo $out >> {log} && touch $out && "
        f"if test $out = b.o; then while test -e {wait}; do sleep 0.02; done; fi"
    )
    folder = ninja(command, ["a.o", "b.o", "c.o"])
    child = progress(folder)
    while not log.exists() or "b.o" not in log.read_text():
        assert child.poll() is None
    child.send_signal(number)
    out, _ = child.communicate()
    assert child.returncode == 128 + number
    assert "interrupted after 1 of 3 objects" in out
    assert not (folder / "b.o").exists()
    wait.unlink()
    child = progress(folder)
    out, _ = child.communicate()
    assert child.returncode == 0 and out.startswith("[build] 2 objects to make with 1 job,")
    assert log.read_text().split() == ["a.o", "b.o", "b.o", "c.o"]


def test_ninja_ends_when_its_parent_is_killed(ninja, tmp_path):
    folder = ninja(WAITS.format(tmp_path), ["a.o"])
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    command = [sys.executable, str(ROOT / "tools" / "build_progress.py"), str(folder), "1"]
    child = subprocess.Popen(
        ["bash", "-c", f"exec 9<&{lock}; exec {shlex.join(command)}"], pass_fds=[lock],
        stdout=subprocess.PIPE,
    )  # fmt: skip
    os.close(lock)
    end(child, tmp_path / "runs", folder, signal.SIGKILL)


def test_objects_that_need_not_be_made_are_not_counted(ninja):
    """The first one's output stays as it was, so the second stays, too."""
    folder = ninja("test -e $out || touch $out", ["b.o"])
    text = (
        (folder / "build.ninja").read_text().replace("rule object\n", "rule object\n  restat = 1\n")
    )
    (folder / "build.ninja").write_text(
        text.replace("b.o: object", "b.o: object a.o\nbuild a.o: object in")
    )
    for content in ("one", "another"):
        (folder / "in").write_text(content)
        child = progress(folder)
        out, _ = child.communicate()
        assert child.returncode == 0
    assert "2 objects to make" in out and "1 object made" in out
