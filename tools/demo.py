"""`make demo`: runs a tour and a training, names their pictures and what to try next.

    .venv/bin/python tools/demo.py [folder of what it writes, default: build/demo]

The examples and the commands that it prints use the interpreter that runs it.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def shown(path: str | Path) -> str:
    """A path as one would type it in the checkout."""
    path = os.path.abspath(path)  # not resolved: an environment's python is a link
    inside = os.path.relpath(path, ROOT)
    return path if inside.startswith("..") else inside


def next_commands(python: str) -> dict[str, str]:
    """Commands to try in the checkout, and what each shows."""
    python = shlex.quote(python)
    return {
        f"{python} -m mindtorch_v2 --device npu examples/vae.py": (
            'a program that says "import torch", unchanged, on an NPU'
        ),
        f"{python} examples/race.py": "a race between two streams, found without a card",
        f"{python} examples/memory_replay.py": (
            "how much memory a run would have taken under other settings"
        ),
    }


def examples(folder: Path) -> list[list[str]]:
    return [
        ["tour.py"],
        [
            "train_gpt.py",
            *("--picture", str(folder / "loss.png")),
            *("--memory-picture", str(folder / "memory.png")),
            *("--checkpoint", str(folder / "train_gpt.pt")),
        ],
    ]


def closing(folder: Path, python: str) -> str:
    lines = []
    pictures = {"loss.png": "the loss", "memory.png": "the device's memory over the run"}
    if all((folder / name).exists() for name in pictures):
        lines += ["Two pictures:"]
        lines += [f"  {shown(folder / name):24}  {what}" for name, what in pictures.items()]
        lines += [""]
    lines += ["Three things to try next:"]
    for command, what in next_commands(python).items():
        lines += [f"  {what}:", f"    {command}"]  # zsh would take a remark for arguments
    return "\n".join(lines)


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "demo").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("loss.png", "memory.png"):
        (folder / name).unlink(missing_ok=True)  # of an earlier run
    for program, *arguments in examples(folder):
        command = [sys.executable, str(ROOT / "examples" / program), *arguments]
        done = subprocess.run(command, cwd=ROOT)
        if done.returncode:
            return done.returncode
        print(flush=True)
    print(closing(folder, shown(sys.executable)))
    return 0


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGHUP):
        # By an exception, with which subprocess.run ends the example, too.
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
