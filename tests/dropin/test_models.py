"""transformers: logits, generated tokens and files equal torch's."""

import functools
import json
import pathlib

import numpy
import pytest
import torch
import transformers

from tests.dropin import models

TOLERANCE = {"cpu": 1e-5, "npu": 1e-4}


@functools.cache
def expected(name):
    return json.loads((pathlib.Path(__file__).parent / "expected" / f"{name}.json").read_text())


def largest_difference(found, wanted):
    return numpy.abs(numpy.array(found) - numpy.array(wanted)).max()


@pytest.mark.parametrize("name", models.BUILDERS)
def test_logits(name, place):
    model = models.build(name).to(place)
    with torch.no_grad():
        logits = model(**models.inputs(name, place)).logits
    assert logits.device.type == place
    found = logits.flatten(1).cpu().tolist()
    assert largest_difference(found, expected(name)["logits"]) < TOLERANCE[place]


@pytest.mark.parametrize("name, case", models.GENERATE_CASES)
def test_generated_tokens(name, case):
    assert models.generate(models.build(name), name, case) == expected(name)[case]


@pytest.mark.parametrize("name", ["gpt2", "llama", "t5"])
def test_generated_tokens_on_npu(name):
    model = models.build(name).to("npu")
    assert models.generate(model, name, "greedy", "npu") == expected(name)["greedy"]


@pytest.mark.parametrize("attention", ["eager", "sdpa", "flex_attention"])
def test_kinds_of_attention(attention):
    model = models.build("llama")
    model.set_attn_implementation(attention)
    with torch.no_grad():
        found = model(**models.inputs("llama")).logits.flatten(1)
    rows = expected("llama")["logits"]
    assert largest_difference(found[0].tolist(), rows[0]) < 1e-5
    seen = 2 * models.VOCABULARY  # what stands before the first token that counts may differ
    assert largest_difference(found[1, seen:].tolist(), rows[1][seen:]) < 1e-5


def test_compiled():
    model = torch.compile(models.build("llama"), mode="reduce-overhead", fullgraph=True)
    with torch.no_grad():
        found = model(**models.inputs("llama")).logits.flatten(1).tolist()
    assert largest_difference(found, expected("llama")["logits"]) < 1e-5


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "t5", "vit", "whisper", "mixtral"])
def test_save_and_load(name, tmp_path):
    model = models.build(name)
    model.save_pretrained(tmp_path)
    assert (tmp_path / "model.safetensors").exists()
    again = type(model).from_pretrained(tmp_path)
    assert not again.training
    for (key, before), (other, after) in zip(
        model.state_dict().items(), again.state_dict().items(), strict=True
    ):
        assert key == other and torch.equal(before, after)
    with torch.no_grad():
        found = again(**models.inputs(name)).logits.flatten(1).tolist()
    assert largest_difference(found, expected(name)["logits"]) < 1e-5


def test_load_by_config_in_bfloat16_and_in_shards(tmp_path):
    model = models.build("llama")
    model.save_pretrained(tmp_path, max_shard_size="20KB")
    assert (tmp_path / "model.safetensors.index.json").exists()
    again = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.bfloat16)
    assert type(again) is type(model) and again.dtype == torch.bfloat16
    wanted = model.state_dict()["model.layers.1.mlp.up_proj.weight"].bfloat16()
    assert torch.equal(again.model.layers[1].mlp.up_proj.weight, wanted)


def test_text_generation_pipeline(tmp_path):
    from tokenizers import Tokenizer, pre_tokenizers
    from tokenizers import models as parts

    words = {f"w{i:02}": i for i in range(models.VOCABULARY)}
    tokenizer = Tokenizer(parts.WordLevel(words, unk_token="w00"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="w00", bos_token="w01", eos_token="w02"
    )
    models.build("llama").save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    write = transformers.pipeline("text-generation", model=str(tmp_path))
    (made,) = write("w05 w09 w11", max_new_tokens=5, do_sample=False)
    model = models.build("llama")
    row = model.generate(torch.tensor([[5, 9, 11]]), max_new_tokens=5, do_sample=False)[0]
    text = "".join(f"w{token:02}" for token in row.tolist() if token > 2)  # none that is special
    assert made["generated_text"].replace(" ", "") == text
