"""How wheels are asked for, and what is checked of them."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # check_wheel imports make_wheels
    spec.loader.exec_module(module)
    return module


make_wheels = load("make_wheels")
check_wheel = load("check_wheel")


@pytest.fixture
def checkout(tmp_path):
    """A folder in which `make wheel` runs, and says which interpreter it would take."""
    if shutil.which("make") is None:
        pytest.skip("there is no make")
    shutil.copy(ROOT / "Makefile", tmp_path)
    programs = {
        "tools/setup.sh": '#!/bin/sh\necho set up with "${PYTHON-none}"\n',
        "tools/environment.sh": "",
        ".venv/bin/python": '#!/bin/sh\necho run "$@"\n',
    }
    for name, text in programs.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return tmp_path


def make(checkout, *arguments, **environment):
    # Not the variables of a make that runs the tests: its child would print its folder.
    outer = {"PYTHON", "MAKEFLAGS", "MFLAGS", "MAKELEVEL"}
    inherited = {key: value for key, value in os.environ.items() if key not in outer}
    return subprocess.run(
        ["make", *arguments], cwd=checkout, env=inherited | environment,
        check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip


def test_make_leaves_the_choice_of_interpreter_alone(checkout):
    assert make(checkout, "wheel") == ["set up with none", "run tools/make_wheels.py"]
    chosen = ["set up with python3.12", "run tools/make_wheels.py python3.12"]
    assert make(checkout, "wheel", PYTHON="python3.12") == chosen
    assert make(checkout, "wheel", "PYTHON=python3.12") == chosen
    assert make(checkout, "wheel-check", PYTHON="python3.12")[1:] == [
        "run tools/check_wheel.py --python python3.12"
    ]
    assert make(checkout, "wheels")[1:] == ["run tools/make_wheels.py --all"]


def test_interpreters_are_found(tmp_path, monkeypatch):
    running = sys.version_info[:2]
    assert make_wheels.find_python(running) == sys.executable
    assert make_wheels.find_python((3, 2)) is None
    # One in PATH that does not work, as pyenv's commands for versions that are not chosen.
    broken = tmp_path / "python3.2"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert make_wheels.find_python((3, 2)) is None
    # One that pyenv keeps.
    kept = tmp_path / "versions" / "3.2.1" / "bin" / "python3.2"
    kept.parent.mkdir(parents=True)
    kept.write_text("#!/bin/sh\necho 3 2\n")
    kept.chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert make_wheels.find_python((3, 2)) == make_wheels.resolve("python3.2") == str(kept)
    assert make_wheels.resolve(sys.executable) == sys.executable
    with pytest.raises(SystemExit, match="nothing is not a CPython"):
        make_wheels.resolve("nothing")


def make_wheel(folder, platform, *tags):
    path = folder / f"mindtorch_v2-0.1.0-cp311-cp311-{platform}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        lines = [f"Tag: cp311-cp311-{tag}" for tag in tags]
        archive.writestr("mindtorch_v2-0.1.0.dist-info/WHEEL", "\n".join(lines) + "\n")
    return path


def test_the_tags_of_a_wheel(tmp_path):
    good = make_wheel(tmp_path, "manylinux_2_35_x86_64", "manylinux_2_35_x86_64")
    assert check_wheel.tagged_glibc(good) == (2, 35)
    both = "manylinux_2_28_x86_64", "manylinux_2_35_x86_64"
    assert check_wheel.tagged_glibc(make_wheel(tmp_path, ".".join(both), *both)) == (2, 28)
    with pytest.raises(SystemExit, match="not all manylinux"):
        check_wheel.tagged_glibc(make_wheel(tmp_path, "linux_x86_64", "linux_x86_64"))
    with pytest.raises(SystemExit, match="inside"):
        check_wheel.tagged_glibc(make_wheel(tmp_path, "manylinux_2_35_x86_64", "linux_x86_64"))


def test_libraries_keep_what_the_tag_says(tmp_path):
    if shutil.which("readelf") is None:
        pytest.skip("there is no readelf")
    import mindtorch_v2._C

    shutil.copy(mindtorch_v2._C.__file__, tmp_path / "_C.so")
    check_wheel.check_glibc(tmp_path, (99, 0))
    with pytest.raises(SystemExit, match="needs glibc"):
        check_wheel.check_glibc(tmp_path, (2, 2))


def test_recompressed_wheel_holds_the_same(tmp_path):
    recompress = load("recompress_wheel").recompress
    texts = {
        "a/": b"",
        "a/text.py": b"x = 1\n" * 1000,
        "a/empty.py": b"",
        "a/noise": os.urandom(99),
    }
    wheel = tmp_path / "some.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, text in texts.items():
            info = zipfile.ZipInfo(name, (2026, 2, 3, 4, 5, 6))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o755 << 16
            archive.writestr(info, text)
    size = wheel.stat().st_size
    recompress(wheel)
    assert wheel.stat().st_size < size
    assert list(tmp_path.iterdir()) == [wheel]
    with zipfile.ZipFile(wheel) as archive:
        assert {info.filename: archive.read(info) for info in archive.infolist()} == texts
        for info in archive.infolist():
            assert info.external_attr == 0o755 << 16
            assert info.date_time == (2026, 2, 3, 4, 5, 6)
