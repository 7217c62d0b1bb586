"""How wheels are asked for, and what is checked of them."""

import ctypes
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


manylinux = load("manylinux")  # which the others import, as programs do
make_wheels = load("make_wheels")
check_wheel = load("check_wheel")
old_libraries = load("old_libraries")


@pytest.fixture
def checkout(tmp_path):
    """A folder in which `make wheel` runs, and says which interpreter it would take."""
    if shutil.which("make") is None:
        pytest.skip("there is no make")
    shutil.copy(ROOT / "Makefile", tmp_path)
    programs = {
        "tools/setup.sh": '#!/bin/sh\necho set up with "${PYTHON-none}"\n',
        "tools/setup_aarch64.sh": "#!/bin/sh\necho set up for aarch64\n",
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
    assert make(checkout, "wheels-aarch64")[1:] == [
        "set up for aarch64",
        "run tools/make_wheels.py --all --architecture aarch64",
    ]


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
    kept.write_text(f"#!/bin/sh\necho 3 2 {tmp_path}/include\n")
    kept.chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert make_wheels.find_python((3, 2)) is None  # without headers
    # Headers of its own, or those that were unpacked where nothing could be installed.
    unpacked = tmp_path / "unpacked"
    with monkeypatch.context() as patch:
        patch.setattr(make_wheels, "UNPACKED", unpacked)
        for headers in (unpacked / "python3.2", tmp_path / "include"):
            headers.mkdir(parents=True)
            (headers / "Python.h").touch()
            assert make_wheels.ask(kept) == ((3, 2), headers)
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
    good = make_wheel(tmp_path, "manylinux_2_28_aarch64", "manylinux_2_28_aarch64")
    assert check_wheel.tag_of(good) == ((3, 11), "manylinux_2_28", "aarch64")
    with pytest.raises(SystemExit, match="no tag of manylinux_2_28"):
        check_wheel.tag_of(make_wheel(tmp_path, "linux_x86_64", "linux_x86_64"))
    with pytest.raises(SystemExit, match="no tag of manylinux_2_28"):
        check_wheel.tag_of(make_wheel(tmp_path, "manylinux_2_35_x86_64", "manylinux_2_35_x86_64"))
    with pytest.raises(SystemExit, match="inside"):
        check_wheel.tag_of(make_wheel(tmp_path, "manylinux_2_28_x86_64", "linux_x86_64"))


def test_versions_are_compared_by_their_numbers():
    def allows(version):
        return manylinux.allows("manylinux_2_28", version)

    assert allows("GLIBC_2.28") and allows("GLIBC_2.3.4") and not allows("GLIBC_2.29")
    assert allows("GLIBCXX_3.4.9") and allows("GLIBCXX_3.4.24") and not allows("GLIBCXX_3.4.25")
    assert allows("CXXABI_1.3.11") and not allows("CXXABI_1.3.12") and allows("CXXABI_TM_1")
    assert not allows("GLIBC_PRIVATE") and allows("HWY_0")
    assert not allows("GLIBC_ABI_DT_RELR") and not allows("GLIBC_ABI_GNU_TLS")


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_the_table_of_versions_is_that_of_auditwheel(architecture):
    auditwheel = pytest.importorskip("auditwheel")
    tables = pathlib.Path(auditwheel.__file__).parent / "policy" / "manylinux-policy.json"
    policies = {policy["name"]: policy for policy in json.loads(tables.read_text())}
    for tag, newest in manylinux.NEWEST.items():
        allowed = policies[tag]["symbol_versions"][architecture]
        for library, version in newest.items():
            numbers = [manylinux.parse(f"{library}_{number}") for number in allowed[library]]
            assert max(parsed for parsed in numbers if parsed) == (library, version)


# What newer libraries have newer versions of, and what older ones lack.
PROGRAM = """
#include <sys/stat.h>
#include <charconv>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

static std::exception_ptr caught() {
  try {
    throw std::runtime_error("thrown");
  } catch (...) {
    return std::current_exception();
  }
}

static bool times_out() {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  const auto start = std::chrono::steady_clock::now();
  const bool came = never.wait_for(lock, std::chrono::milliseconds(20), [] { return false; });
  return !came && std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(20);
}

extern "C" const char* answer(int bits, double base) {
  static std::string text;
  std::ostringstream out;
  std::shared_ptr<int> counted = std::make_shared<int>(bits);
  std::thread([counted] { ++*counted; }).join();
  out << *counted << ' ' << std::pow(base, 0.5) << ' ' << std::hypot(base, base) << ' ';
  std::exception_ptr first = caught();
  std::exception_ptr second = first;
  first = nullptr;
  try {
    std::rethrow_exception(second);
  } catch (std::runtime_error& error) {
    out << std::runtime_error(std::move(error)).what() << ' ';
  }
  try {
    const volatile long count = -bits;
    delete[] new long[static_cast<size_t>(count)];
  } catch (const std::bad_array_new_length&) {
    out << "refused ";
  }
  char digits[32] = {};
  std::to_chars(digits, digits + 31, base / 3);
  double read = 0;
  std::from_chars(digits, digits + 31, read);
  struct stat status;
  out << (read == base / 3) << ' ' << times_out() << ' ' << (fstat(0, &status) <= 0);
  text = out.str();
  return text.c_str();
}
"""


@pytest.fixture(scope="module")
def compiler():
    if shutil.which("readelf") is None or shutil.which("g++") is None:
        pytest.skip("there is no g++, or no readelf")
    return "g++"


@pytest.fixture(scope="module")
def old_folder(compiler, tmp_path_factory):
    folder = tmp_path_factory.mktemp("old_libraries")
    old_libraries.write(compiler, "ar", folder)
    return folder


def link(compiler, text, library, *options, undefined="-Wl,--no-undefined"):
    source = library.with_suffix(".cpp")
    source.write_text(text)
    flags = ["-std=c++20", "-O1", "-shared", "-fPIC", "-Wl,-z,now"]
    command = [compiler, *flags, *options, *filter(None, [undefined]), "-o", library, source]
    return subprocess.run(command, capture_output=True, text=True)


def answer_of(library):
    function = ctypes.CDLL(str(library)).answer
    function.restype = ctypes.c_char_p
    return function(40, ctypes.c_double(2.0)).decode()


def test_newer_symbols_are_refused_and_old_libraries_have_none(compiler, old_folder, tmp_path):
    ordinary, old = tmp_path / "ordinary" / "lib.so", tmp_path / "old" / "lib.so"
    ordinary.parent.mkdir()
    old.parent.mkdir()
    done = link(compiler, PROGRAM, ordinary)
    assert done.returncode == 0, done.stderr
    options = [f"-L{old_folder}", "-Wl,--exclude-libs,libnew_functions.a"]
    done = link(compiler, PROGRAM, old, *options)
    assert done.returncode == 0, done.stderr

    manylinux.check("manylinux_2_28", old.parent)
    assert manylinux.too_new("manylinux_2_28", old) == []
    assert (
        "libpthread.so.0"
        in subprocess.run(["readelf", "-d", old], check=True, capture_output=True, text=True).stdout
    )  # where pthread_create was until glibc 2.34
    with pytest.raises(SystemExit, match=r"lib\.so needs .*pow@GLIBC_2\.29"):
        manylinux.check("manylinux_2_28", tmp_path)
    assert answer_of(old) == answer_of(ordinary)
    # What came with the library stays inside of it.
    symbols = subprocess.run(
        ["readelf", "--dyn-syms", "--wide", old], check=True, capture_output=True, text=True
    ).stdout
    exported = [line.split()[7] for line in symbols.splitlines()[3:] if " UND " not in line]
    assert "answer" in exported and "__libc_single_threaded" in exported
    assert not any(re.match("pthread_|.?stat|_ZSt8to_chars", name) for name in exported)
    # Of these two the C library's comes first, as in an interpreter.
    address = ctypes.c_char.in_dll(ctypes.CDLL(None), "__libc_single_threaded")
    source = "extern const char __libc_single_threaded;"
    source = f'extern "C" {{ {source} const void* where() {{ return &__libc_single_threaded; }} }}'
    done = link(compiler, source, tmp_path / "where.so", *options)
    assert done.returncode == 0, done.stderr
    where = ctypes.CDLL(str(tmp_path / "where.so")).where
    where.restype = ctypes.c_void_p
    assert where() == ctypes.addressof(address)


def test_what_old_libraries_lack_is_not_linked(compiler, old_folder, tmp_path):
    text = "#include <filesystem>\nauto f() { return std::filesystem::temp_directory_path(); }"
    assert link(compiler, text, tmp_path / "lib.so").returncode == 0
    done = link(compiler, text, tmp_path / "lib.so", f"-L{old_folder}")
    assert "undefined reference to `std::filesystem::temp_directory_path" in done.stderr


def test_a_module_may_leave_pythons_symbols_to_its_program_and_no_others(
    compiler, old_folder, tmp_path
):
    wheel = tmp_path / "wheel"
    wheel.mkdir()
    old = f"-L{old_folder}"
    text = 'extern "C" int Py_IsInitialized(); extern "C" int g(); int f() { return %s; }'
    module = text % "Py_IsInitialized() + g()"
    library = 'extern "C" int g() { return 1; }'
    assert link(compiler, library, wheel / "library.so", old).returncode == 0
    assert link(compiler, module, wheel / "module.so", old, undefined="").returncode == 0
    manylinux.check("manylinux_2_28", wheel)
    module = "#include <stdlib.h>\n" + text % "g() + (int)arc4random()"
    done = link(compiler, module, wheel / "module.so", old, undefined="")
    assert done.returncode == 0, done.stderr
    with pytest.raises(SystemExit, match="module.so needs arc4random"):
        manylinux.check("manylinux_2_28", wheel)


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
