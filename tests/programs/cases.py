"""How the programs of examples/ are run here, and what is read from their output."""

import os
import pathlib
import re
import subprocess
import sys

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
EXPECTED = pathlib.Path(__file__).with_name("expected.json")

# By name of the case: a program and its arguments. Few steps: further on, last bits grow.
CASES = {
    "lstm": "lstm_language_model --steps 30 --log-every 10 --valid-every 15 --sentences 1000",
    "lstm without dropout": "lstm_language_model --steps 20 --log-every 5 --valid-every 10 "
    "--sentences 1000 --dropout 0 --lr 4",
    "convnet": "convnet_classifier --steps 12 --log-every 2 --images 250",
    "convnet bfloat16": "convnet_classifier --steps 6 --log-every 2 --images 150 --amp bfloat16",
    "convnet float16": "convnet_classifier --steps 6 --log-every 2 --images 150 --amp float16",
    "convnet channels last": "convnet_classifier --steps 6 --log-every 2 --images 150 --mixup 0 "
    "--channels-last",
    "convnet workers": "convnet_classifier --steps 6 --log-every 2 --images 150 --workers 2",
    "vae": "vae --steps 20 --log-every 4 --pictures 400 --warmup 10",
    "dcgan": "dcgan --steps 6 --log-every 1 --batch-size 16 --features 12",
    "dcgan spectral norm": "dcgan --steps 3 --log-every 1 --batch-size 16 --spectral-norm",
    "actor critic": "actor_critic --steps 10 --log-every 2",
    "super resolution": "super_resolution --steps 10 --test-every 2 --pictures 60",
    "super resolution by 3": "super_resolution --steps 4 --test-every 2 --pictures 60 --scale 3",
    "gpt": "character_gpt --steps 12 --log-every 2 --eval-every 6 --warmup 4 --accumulate 3",
    "gpt dropout": "character_gpt --steps 6 --log-every 2 --warmup 4 --dropout 0.1",
    "gpt bfloat16": "character_gpt --steps 5 --log-every 1 --dtype bfloat16 --recompute",
    "gpt float16": "character_gpt --steps 5 --log-every 1 --dtype float16",
}


def run(case, *arguments, launcher=("-m", "mindtorch_v2"), npu="off"):
    """What the program prints."""
    program, *given = CASES[case].split()
    done = subprocess.run(
        [sys.executable, *launcher, EXAMPLES / f"{program}.py", *given, *map(str, arguments)],
        capture_output=True,
        text=True,
        # Threads mostly wait for each other where tests run side by side.
        env={**os.environ, "MINDTORCH_NPU": npu, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr  # loggers write to the latter


def numbers(text):
    """{"12 loss": 0.5, ...}: the values of lines such as `step 12  loss 0.5  norm 1.0`."""
    found = {}
    for step, rest in re.findall(r"^step +([0-9]+)  (.*)$", text, re.MULTILINE):
        for name, value in re.findall(r"([a-z_0-9]+) (-?[0-9]+\.[0-9]+)", rest):
            found[f"{step} {name}"] = float(value)
    return found
