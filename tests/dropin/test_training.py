"""transformers, accelerate and peft: training gives torch's losses."""

import pytest
import torch

from tests.dropin import models
from tests.dropin.test_models import expected, largest_difference
from tests.dropin.trainer import Rows, trainer_losses


def fresh(name):
    return models.without_dropout(models.build(name))


@pytest.mark.parametrize("name", models.BUILDERS)
def test_steps_by_hand(name):
    losses = models.train(fresh(name), name)
    assert largest_difference(losses, expected(name)["losses"]) < 1e-4
    assert losses[-1] < losses[0] - 1


@pytest.mark.parametrize("name", ["llama", "bert"])
def test_steps_by_hand_on_npu(name):
    losses = models.train(fresh(name).to("npu"), name, "npu", steps=6)
    assert largest_difference(losses, expected(name)["losses"][:6]) < 1e-3


@pytest.mark.parametrize("name", ["llama", "t5"])
def test_gradient_checkpointing(name):
    model = fresh(name)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    assert largest_difference(models.train(model, name), expected(name)["losses"]) < 1e-4


@pytest.mark.parametrize("name", ["llama", "bert"])
def test_bfloat16_autocast(name):
    losses = models.train(fresh(name), name, autocast=torch.bfloat16)
    assert largest_difference(losses, expected(name)["bfloat16_losses"]) < 2e-2


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert"])
def test_trainer(name, tmp_path):
    _, losses = trainer_losses(fresh(name), name, tmp_path)
    assert largest_difference(losses, expected(name)["trainer_losses"]) < 1e-4


def test_trainer_checkpoints_and_resumes(tmp_path):
    settings = {"save_steps": 10, "save_strategy": "steps"}
    _, losses = trainer_losses(fresh("llama"), "llama", tmp_path, **settings)
    saved = tmp_path / "checkpoint-10"
    assert {"model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth"} <= {
        path.name for path in saved.iterdir()
    }
    _, again = trainer_losses(fresh("llama"), "llama", tmp_path, resume=str(saved), **settings)
    assert largest_difference(again[-10:], losses[-10:]) < 1e-5


def test_lora(tmp_path):
    import peft

    losses, model = models.train_lora(fresh("llama"))
    assert largest_difference(losses, expected("llama")["lora_losses"]) < 1e-4
    trained = [name for name, p in model.named_parameters() if p.requires_grad]
    assert trained and all("lora_" in name for name in trained)

    import safetensors.torch

    model.save_pretrained(tmp_path)
    again = peft.get_peft_model(fresh("llama"), peft.PeftConfig.from_pretrained(tmp_path))
    weights = safetensors.torch.load_file(tmp_path / "adapter_model.safetensors")
    peft.set_peft_model_state_dict(again, weights)
    loaded = peft.PeftModel.from_pretrained(fresh("llama"), tmp_path)
    merged = again.eval().merge_and_unload()
    given = models.inputs("llama")
    with torch.no_grad():
        wanted = model.eval()(**given).logits
        assert torch.allclose(merged(**given).logits, wanted, atol=1e-4)
        assert torch.equal(loaded.eval()(**given).logits, wanted)


def test_accelerate():
    import accelerate

    accelerator = accelerate.Accelerator(cpu=True)
    model = fresh("llama")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    loader = torch.utils.data.DataLoader(Rows("llama"), batch_size=2)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    model.train()
    losses = []
    for _ in range(20):
        for batch in loader:
            with accelerator.accumulate(model):
                loss = model(**batch).loss
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
            losses.append(accelerator.gather(loss.detach()).item())
    assert largest_difference(losses, expected("llama")["constant_losses"]) < 1e-4
