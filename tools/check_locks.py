"""Checks that what a mutex guards is used under it, in mindtorch/runtime/ and mindtorch/dispatch/.

    tools/check_locks.py BUILD        the folder of a build, whose generated headers are included

What is guarded by what is said in the sources (mindtorch/base/thread_safety.h). The compiler is
Clang as PyPI's ziglang has it, because its C++ library knows its own mutexes; the first run puts it
into build/clang. Prints Clang's warnings and exits with status 1 if there is any.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("mindtorch/runtime", "mindtorch/dispatch")
COMPILER = "ziglang==0.17.0"
PLACE = ROOT / "build" / "clang"
OPTIONS = ("-c", "-std=c++20", "-O0", "-Wno-everything", "-Wthread-safety", "-Werror=thread-safety")

# Without a warning for this the check would mean nothing.
WRONG = """
#include <mutex>
#include "mindtorch/base/thread_safety.h"
struct Counter {
  std::mutex mutex;
  int count MT_GUARDED_BY(mutex) = 0;
  void right() { const std::scoped_lock lock(mutex); ++count; }
  void wrong() { ++count; }
};
void use(Counter& counter) { counter.right(); counter.wrong(); }
"""


def install() -> None:
    if (PLACE / "ziglang").exists():
        return
    print(f"[locks] fetching {COMPILER}, 100 MB, into {PLACE.relative_to(ROOT)}", flush=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*command, "--target", PLACE, COMPILER], check=True)


def compile_one(source: Path, includes: list[Path], object_file: Path) -> str:
    """What the compiler says; nothing where all is well."""
    command = [sys.executable, "-m", "ziglang", "c++", *OPTIONS]
    command += [argument for folder in includes for argument in ("-I", str(folder))]
    caches = {
        name: str(PLACE / "cache") for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")
    }
    done = subprocess.run(
        [*command, "-o", str(object_file), str(source)],
        cwd=ROOT,
        env={**os.environ, **caches, "PYTHONPATH": str(PLACE)},
        capture_output=True,
        text=True,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    includes = [ROOT, Path(arguments[0]).resolve() / "generated"]
    sources = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.cpp"))]
    install()
    with tempfile.TemporaryDirectory() as scratch:
        wrong = Path(scratch) / "wrong.cpp"
        wrong.write_text(WRONG, encoding="utf-8")
        if "requires holding mutex" not in compile_one(wrong, includes, wrong.with_suffix(".o")):
            print("[locks] the compiler does not find what is wrong", file=sys.stderr)
            return 1
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = [Path(scratch) / f"{number}.o" for number in range(len(sources))]
            found = pool.map(
                lambda pair: compile_one(pair[0], includes, pair[1]),
                zip(sources, objects, strict=True),
            )
            texts = [text for text in found if text]
    for text in texts:
        print(text, file=sys.stderr)
    print(f"[locks] {len(sources)} sources, {len(texts)} with mistakes")
    return 1 if texts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
