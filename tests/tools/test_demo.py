"""What `make demo` ends with, and `make demo PREBUILT=1` where there is nothing to run."""

import importlib.util
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


demo = load("demo")
prebuilt = load("prebuilt")


def printed_commands(text):
    """Each with what it is to show, which stands on the line before."""
    lines = text.partition("Three things to try next:\n")[2].splitlines()
    assert all(line.startswith("    ") for line in lines[1::2])
    return [
        (line.strip(), what.strip()) for what, line in zip(lines[::2], lines[1::2], strict=True)
    ]


def test_the_end_names_two_pictures_and_three_commands(tmp_path):
    text = demo.closing(tmp_path, ".venv/bin/python")
    assert "Two pictures" not in text  # none were drawn: matplotlib is missing
    commands = printed_commands(text)
    assert len(commands) == 3
    for command, what in commands:
        assert command.startswith(".venv/bin/python ") and "#" not in command
        assert what.endswith(":")
    for name in ("loss.png", "memory.png"):
        (tmp_path / name).touch()
    text = demo.closing(tmp_path, ".venv/bin/python")
    assert f"{tmp_path}/loss.png  the loss\n" in text
    assert f"{tmp_path}/memory.png  the device's memory over the run\n" in text


def written():
    """Names in the checkout. Other tests, at the same time, write hidden ones."""
    return {path.name for path in ROOT.iterdir() if not path.name.startswith((".", "__pycache__"))}


def test_an_interpreter_in_a_folder_with_a_space(tmp_path):
    python = tmp_path / "a folder" / "python"
    python.parent.mkdir()
    python.symlink_to("/bin/echo")
    for command, _ in printed_commands(demo.closing(tmp_path, str(python))):
        done = subprocess.run(command, shell=True, capture_output=True, text=True)
        assert done.returncode == 0 and "examples/" in done.stdout


def test_the_commands_work_as_printed(tmp_path):
    before = written()
    for command, _ in printed_commands(demo.closing(tmp_path, demo.shown(sys.executable))):
        environment = {name: value for name, value in os.environ.items() if "MINDTORCH" not in name}
        done = subprocess.run(
            command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout
    assert written() == before


EXAMPLE = """
import pathlib, sys, time
print("runs", flush=True)
time.sleep(10)
pathlib.Path("ran-on").touch()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_example_ends_with_the_demo(tmp_path, number):
    for name, text in (
        ("tools/demo.py", (ROOT / "tools/demo.py").read_text()),
        ("examples/tour.py", EXAMPLE),
    ):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    command = [sys.executable, "tools/demo.py"]
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "runs\n"
    child.send_signal(number)
    child.communicate()  # until the example, too, has closed it
    assert child.returncode == 128 + number
    assert not (tmp_path / "ran-on").exists()


def test_paths_are_shown_as_one_types_them(tmp_path):
    assert demo.shown(ROOT / "build" / "demo" / "loss.png") == "build/demo/loss.png"
    assert demo.shown(tmp_path / "loss.png") == str(tmp_path / "loss.png")


def wheel(tags):
    return pathlib.Path(f"mindtorch_v2-0.1.0-{tags}.whl")


def test_which_wheels_fit():
    major, minor = sys.version_info[:2]
    own, older = f"cp{major}{minor}", f"cp{major}{minor - 1}"
    machine = platform.machine()
    for tags in (
        f"{own}-{own}-linux_{machine}",
        f"{own}-{own}-manylinux_2_17_{machine}",
        f"{own}-{own}-manylinux_2_99_{machine}.manylinux_2_17_{machine}",
        f"{older}-abi3-manylinux_2_17_{machine}",
    ):
        assert prebuilt.fits(wheel(tags)), tags
    for tags in (
        f"{older}-{older}-linux_{machine}",
        f"{own}-{own}-linux_s390x",
        f"{own}-{own}-manylinux_2_99_{machine}",
        f"cp{major}{minor + 1}-abi3-manylinux_2_17_{machine}",
        "py3-none-any",
    ):
        assert not prebuilt.fits(wheel(tags)), tags
    assert not prebuilt.fits(pathlib.Path("numpy-2.0-cp311-cp311-linux_x86_64.whl"))


def test_a_python_without_the_global_lock_takes_its_own_wheels(monkeypatch):
    monkeypatch.setattr(
        prebuilt.sysconfig, "get_config_var", lambda name: name == "Py_GIL_DISABLED"
    )
    own = "cp{}{}".format(*sys.version_info)
    linux = f"linux_{platform.machine()}"
    assert prebuilt.fits(wheel(f"{own}-{own}t-{linux}"))
    assert not prebuilt.fits(wheel(f"{own}-{own}-{linux}"))
    assert not prebuilt.fits(wheel(f"{own}-abi3-{linux}"))


@pytest.mark.parametrize("error", [ValueError, OSError])
def test_a_wheel_for_glibc_and_another_c_library(monkeypatch, error):
    def confstr(_):
        raise error

    monkeypatch.setattr(prebuilt.os, "confstr", confstr)
    own = "cp{}{}".format(*sys.version_info)
    assert not prebuilt.fits(wheel(f"{own}-{own}-manylinux_2_17_{platform.machine()}"))


def package(name, version, text, tag="py3-none-any"):
    """The files of a wheel."""
    info = f"{name}-{version}.dist-info"
    return {
        f"{name}/__init__.py": text,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n",
        f"{info}/RECORD": "",
    }


def test_the_wheel_runs_though_python_has_the_same_version(tmp_path):
    """What the demo needs is among python3's packages, here the user's: no network is used."""
    site = tmp_path / "user" / "lib" / "python{}.{}".format(*sys.version_info) / "site-packages"
    for name, version in {"mindtorch_v2": "0.1.0", "numpy": "2.0.0", "matplotlib": "3.9.0"}.items():
        for path, text in package(name, version, "where = 'installed'").items():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_text(text)
    tag = "cp{0}{1}-cp{0}{1}-linux_{2}".format(*sys.version_info[:2], platform.machine())
    (tmp_path / "dist").mkdir()
    with zipfile.ZipFile(tmp_path / "dist" / wheel(tag).name, "w") as archive:
        for path, text in package("mindtorch_v2", "0.1.0", "where = 'wheel'", tag).items():
            archive.writestr(path, text)
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "prebuilt.py", tmp_path / "tools")
    (tmp_path / "requirements.txt").write_text("matplotlib>=3.8,<4\n")
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "PYTHON"))
    }
    command = [
        sys.executable,
        "tools/prebuilt.py",
        "-c",
        "import mindtorch_v2 as m; print(m.where)",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True,
        env={**kept, "PYTHONUSERBASE": str(tmp_path / "user"), "PIP_NO_INDEX": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "wheel"


@pytest.fixture
def checkout(tmp_path):
    """A checkout in which nothing was built; an interpreter that has no mindtorch_v2."""
    if shutil.which("make") is None:
        pytest.skip("there is no make")
    for name in ("Makefile", "requirements.txt", "tools/prebuilt.py", "tools/demo.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    empty = [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "empty")]
    subprocess.run(empty, check=True)
    return tmp_path


def run_prebuilt(checkout):
    outer = ("MAKE", "MFLAGS", "PYTHON")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(outer)}
    path = f"{checkout / 'empty' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["make", "demo", "PREBUILT=1"], cwd=checkout, env={**inherited, "PATH": path},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode != 0 and done.stdout == ""
    sentence, make = done.stderr.splitlines()
    assert make.startswith("make: ")
    assert not (checkout / "build").exists()
    return sentence


def test_prebuilt_without_a_wheel(checkout):
    sentence = run_prebuilt(checkout)
    assert sentence.startswith("[demo] error: there is no wheel in dist/")


def test_prebuilt_with_the_wheel_of_another_python(checkout):
    name = f"mindtorch_v2-0.1.0-cp39-cp39-linux_{platform.machine()}.whl"
    (checkout / "dist").mkdir()
    (checkout / "dist" / name).touch()
    sentence = run_prebuilt(checkout)
    assert "no wheel in dist/ is for Python" in sentence and name in sentence
