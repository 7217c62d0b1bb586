"""Writes expected/*.json: what the models of models.py give on torch.

pip install torch accelerate peft -r tests/dropin/requirements.txt
pip install --no-deps timm torchvision
python -m tests.dropin.record
"""

import importlib.metadata
import json
import pathlib
import sys
import tempfile

import torch

from tests.dropin import models, vision
from tests.dropin.trainer import trainer_losses

FOLDER = pathlib.Path(__file__).parent / "expected"


def short(value):
    """Numbers with nine digits, which float32 needs."""
    if isinstance(value, dict):
        return {key: short(item) for key, item in value.items()}
    if isinstance(value, list):
        return [short(item) for item in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def record(name):
    """All that the tests compare, by name."""
    model = models.build(name)
    with torch.no_grad():
        found = {"logits": model(**models.inputs(name)).logits.flatten(1).tolist()}
    for case in (case for other, case in models.GENERATE_CASES if other == name):
        found[case] = models.generate(models.build(name), name, case)
    model = models.without_dropout(models.build(name))
    found["losses"] = models.train(model, name)
    if name in ("gpt2", "llama", "bert"):
        model = models.without_dropout(models.build(name))
        with tempfile.TemporaryDirectory() as folder:
            found["trainer_losses"] = trainer_losses(model, name, folder)[1]
    if name == "llama":
        model = models.without_dropout(models.build(name))
        found["constant_losses"] = models.train(model, name, decay=0)
        found["lora_losses"], _ = models.train_lora(models.without_dropout(models.build(name)))
    if name in ("llama", "bert"):
        model = models.without_dropout(models.build(name))
        found["bfloat16_losses"] = models.train(model, name, autocast=torch.bfloat16)
    return short(found)


def main():
    if "mindtorch" in torch.__version__:
        sys.exit("this records what torch gives: run it without mindtorch in torch's place")
    FOLDER.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    for name in sys.argv[1:] or (*models.BUILDERS, "vision"):
        libraries = ("timm", "torchvision") if name == "vision" else ("transformers",)
        versions = {library: importlib.metadata.version(library) for library in libraries}
        versions["torch"] = torch.__version__
        found = short(vision.record()) if name == "vision" else record(name)
        text = json.dumps({"versions": versions, **found}, separators=(",", ":"))
        (FOLDER / f"{name}.json").write_text(text + "\n")
        print(name, len(text))


if __name__ == "__main__":
    main()
