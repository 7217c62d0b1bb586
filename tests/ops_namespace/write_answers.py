"""python -m tests.ops_namespace.write_answers: asks torch for what test_core.py expects."""

import json

import torch

from tests.ops_namespace.test_core import ALL_CALLS, ANSWERS, answer

if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(answer(torch, name))}" for name in ALL_CALLS]
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
