"""Writes losses.json: what examples/graph_attention.py prints where torch is the library.

python tests/sparse/record_losses.py
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "examples" / "graph_attention.py"
ARGUMENTS = ("--steps", "30", "--log-every", "1")


def numbers(output):
    """The losses and the share at the end."""
    return [float(text) for text in re.findall(r"(?:loss|told:) ([\d.]+)", output)]


def main():
    source = PROGRAM.read_text().replace("mindtorch_v2", "torch")
    done = subprocess.run(
        [sys.executable, "-c", source, *ARGUMENTS], capture_output=True, text=True, check=True
    )
    path = pathlib.Path(__file__).with_name("losses.json")
    path.write_text(json.dumps(numbers(done.stdout)) + "\n")


if __name__ == "__main__":
    main()
