"""Writes expected.json: what the programs print where torch is torch.

pip install torch numpy
python -m tests.programs.record            # or with names of cases, to record those again
"""

import json
import subprocess
import sys

from tests.programs.cases import CASES, EXPECTED, numbers, run


def main():
    code = "import torch; print(torch.__version__)"
    version = subprocess.check_output([sys.executable, "-c", code], text=True).strip()
    before = json.loads(EXPECTED.read_text())["cases"] if EXPECTED.exists() else {}
    chosen = sys.argv[1:] or CASES
    found = {
        case: numbers(run(case, launcher=())) if case in chosen else before[case] for case in CASES
    }
    EXPECTED.write_text(json.dumps({"torch": version, "cases": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
