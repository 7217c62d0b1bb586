"""Lets torch's MKL use the instructions of AMD processors as it uses Intel's.

MKL chooses its code by the vendor of the processor: on others than Intel's it leaves AVX-512 out.
A library that is loaded first and answers that question with yes shows on any x86-64 machine what
torch does on an Intel server.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

_SOURCE = "int {name}(void) {{ return 1; }}\n"
_QUESTIONS = ("mkl_serv_intel_cpu_true", "mkl_serv_intel_cpu")


def environment(folder: Path) -> dict[str, str]:
    """What torch's process needs; the library is compiled into `folder`."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise SystemExit("--intel needs a C compiler")
    source, library = folder / "intel.c", folder / "libintel.so"
    source.write_text("".join(_SOURCE.format(name=name) for name in _QUESTIONS))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    return {"LD_PRELOAD": str(library)}
