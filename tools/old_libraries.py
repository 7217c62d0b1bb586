"""Writes a folder of libraries to link with, so that what is linked runs on older systems.

    tools/old_libraries.py --compiler g++ FOLDER

A symbol of the GNU C library or of libstdc++ is linked by the newest version that the machine's own
has, and a system with an older library refuses the result. The libraries in the folder have the
machine's names and symbols without code, and only the versions that the tag of the wheels allows
(manylinux.py): `-L FOLDER` gives the older version of a symbol, or an error at link time for one
that has none. What old libraries lack and headers of newer ones ask for comes with libstdc++.so, as
code: from new_functions/, and a few objects of the machine's libstdc++.a. Compiler, headers and
objects stay the machine's own, so that the code is the same.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import manylinux
from manylinux import Symbol

TOOLS = Path(__file__).resolve().parent
# The C library's loader has an architecture in its name.
LIBRARIES = ("libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6")
LOADERS = ("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1")
# Until glibc 2.34 these were libraries of their own; it gave what it moved a new version.
MOVED = {
    "libdl.so.2": re.compile(r"dl[a-z]"),
    "librt.so.1": re.compile(r"(aio|lio|mq|shm|timer|__mq)_"),
    "libpthread.so.0": re.compile(r"(_*pthread|sem|call|cnd|mtx|thrd|tss)_"),
}
# Conversions of numbers, for which libstdc++ has no other object that defines an older symbol too.
OBJECTS = ("floating_from_chars.o", "floating_to_chars.o", "memory_resource.o")
HIDDEN, VISIBLE, VISIBLE_OBJECT = "libnew_functions.a", "libsingle_threaded.a", "single_threaded.o"
# Where the assembler puts a kind of symbol, and what it calls it.
SECTIONS = {
    "FUNC": (".text", "function"),
    "IFUNC": (".text", "function"),
    "NOTYPE": (".text", "function"),
    "OBJECT": (".data", "object"),
    "TLS": ('.tbss,"awT",@nobits', "tls_object"),
}


def output_of(*command: str | Path) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def path_of(compiler: str, name: str) -> Path | None:
    """Where the compiler finds a file to link with."""
    path = Path(output_of(compiler, f"-print-file-name={name}").strip())
    return path.resolve() if path.is_absolute() else None


def versioned_symbols(library: Path) -> list[Symbol]:
    """The symbols with a version that a library defines."""
    symbols = [each for each in manylinux.symbols_of(library) if each.is_defined and each.version]
    # The version itself is a symbol, too.
    return [each for each in symbols if each.name != each.version]


def order(symbol: Symbol) -> manylinux.Version:
    parsed = manylinux.parse(symbol.version)
    return parsed[1] if parsed else ()


def split(symbols: Iterable[Symbol], library: str) -> dict[str, list[Symbol]]:
    """The newest allowed version of each symbol, by the old library that has it."""
    newest: dict[str, Symbol] = {}
    added_later = set()
    for symbol in symbols:
        if not manylinux.allows(manylinux.TAG, symbol.version):
            added_later.add(symbol.name)
        elif symbol.name not in newest or order(symbol) > order(newest[symbol.name]):
            newest[symbol.name] = symbol
    result: dict[str, list[Symbol]] = {library: []}
    for symbol in newest.values():
        home = library
        if library == "libc.so.6" and symbol.name in added_later:
            places = (old for old, names in MOVED.items() if names.match(symbol.name))
            home = next(places, library)
        result.setdefault(home, []).append(symbol)
    return result


def write_library(compiler: str, folder: Path, name: str, symbols: list[Symbol]) -> None:
    """A shared library that defines the symbols, and holds no code."""
    lines = []
    for symbol in symbols:
        section, kind = SECTIONS[symbol.kind]
        lines += [
            f".section {section}",
            f".globl {symbol.name}",
            f".type {symbol.name}, %{kind}",
            f".size {symbol.name}, {symbol.size}",
            f"{symbol.name}: .zero 1",
        ]
    versions: dict[str, list[str]] = {}
    for symbol in symbols:
        versions.setdefault(symbol.version, []).append(symbol.name)
    script = [f"{key} {{ {' '.join(f'{n};' for n in names)} }};" for key, names in versions.items()]
    source = folder / f"{name}.s"
    source.write_text("\n".join(lines) + "\n")
    map_file = folder / f"{name}.map"
    map_file.write_text("\n".join(script) + "\n")
    options = ["-shared", "-nostdlib", f"-Wl,-soname,{name}", f"-Wl,--version-script={map_file}"]
    output_of(compiler, *options, "-o", folder / name, source)
    source.unlink()
    map_file.unlink()


def write_archive(archiver: str, archive: Path, objects: list[Path]) -> None:
    archive.unlink(missing_ok=True)
    output_of(archiver, "rcs", archive, *objects)
    for path in objects:
        path.unlink()


def write_new_functions(compiler: str, archiver: str, folder: Path) -> None:
    """What old libraries lack, as archives: the linker takes what a library needs of them."""
    objects = []
    for source in sorted((TOOLS / "new_functions").glob("*.cpp")):
        objects.append(folder / f"{source.stem}.o")
        output_of(compiler, "-std=c++20", "-O2", "-fPIC", "-c", "-o", objects[-1], source)
    write_archive(archiver, folder / VISIBLE, [objects.pop(objects.index(folder / VISIBLE_OBJECT))])
    libstdcxx = path_of(compiler, "libstdc++.a")
    for name in OBJECTS:
        subprocess.run([archiver, "x", libstdcxx, name], cwd=folder, check=True)
        objects.append(folder / name)
    write_archive(archiver, folder / HIDDEN, objects)


def write(compiler: str, archiver: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    loader = None
    for name in (*LIBRARIES, *LOADERS):
        library = path_of(compiler, name)
        if library is None:
            continue
        if name in LOADERS:
            loader = name
        for home, symbols in split(versioned_symbols(library), name).items():
            write_library(compiler, folder, home, symbols)
    moved = " ".join(MOVED)
    nonshared = path_of(compiler, "libc_nonshared.a")
    scripts = {
        "libc.so": f"GROUP ( libc.so.6 {nonshared} AS_NEEDED ( {moved} {loader} ) )",
        "libm.so": "INPUT ( libm.so.6 )",
        "libgcc_s.so": "GROUP ( libgcc_s.so.1 -lgcc )",
        "libdl.so": "INPUT ( libdl.so.2 )",
        "librt.so": "INPUT ( librt.so.1 )",
        "libpthread.so": "INPUT ( libpthread.so.0 )",
        # Of an archive the linker takes only what no library before it has.
        "libstdc++.so": f"INPUT ( libstdc++.so.6 {HIDDEN} {VISIBLE} )",
    }
    for name, text in scripts.items():
        (folder / name).write_text(text + "\n")
    write_new_functions(compiler, archiver, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--archiver", default="ar")
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    write(arguments.compiler, arguments.archiver, arguments.folder.resolve())


if __name__ == "__main__":
    main()
