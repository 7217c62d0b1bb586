"""transformers' Llama on NPUs in a pipeline: launches of a layer, graphs of a decode step."""

import collections

import mindtorch_v2
import pytest
import torch
import transformers

REPLAY = "aclmdlRIExecuteAsync"
simulator = mindtorch_v2.npu.simulator


def make_model(attention):
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        attn_implementation=attention,
    )
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(config).half().to("npu").eval()


@pytest.fixture
def log():
    """Counts calls by name since it was cleared."""
    simulator.set(log=True)

    def count():
        calls = collections.Counter(c.function for c in simulator.calls() if c.kind == "call")
        ops = {
            name: times
            for name, times in calls.items()
            if name.startswith("aclnn") and not name.endswith("GetWorkspaceSize")
        }
        return sum(ops.values()), calls[REPLAY]

    yield count
    simulator.reset()


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("is_masked", [False, True])
def test_a_layer_takes_14_launches(log, attention, is_masked):
    model = make_model(attention)
    layer = model.model.layers[0]
    x = torch.randn(2, 8, 64).half().to("npu")
    options = {}
    if is_masked:
        seen = torch.ones(1, 1, 8, 8, dtype=torch.bool).tril()
        hidden = torch.zeros(1, 1, 8, 8).masked_fill(~seen, torch.finfo(torch.float16).min).half()
        options["attention_mask"] = (seen if attention == "sdpa" else hidden).to("npu")
    with torch.no_grad():
        angles = model.model.rotary_emb(x, torch.arange(8, device="npu")[None])
        expected = layer(x, position_embeddings=angles, **options)
        with mindtorch_v2.pipeline() as pipe:
            got = layer(x, position_embeddings=angles, **options)
            simulator.clear_calls()
            pipe.flush()
            launched, _ = log()
    assert launched <= 14
    torch.testing.assert_close(got, expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("settings", [{}, {"max_ops": 512}])
def test_a_decode_step_replays_its_graphs(log, settings):
    model = make_model("sdpa")

    def decode(pipelined):
        cache = transformers.StaticCache(config=model.config, max_cache_len=32)
        prompt = torch.arange(8, device="npu")[None]
        place = torch.arange(8, device="npu")
        out = model(prompt, past_key_values=cache, use_cache=True, cache_position=place)
        token = out.logits[:, -1:].argmax(-1)
        place = torch.tensor([8], device="npu")
        scores, calls = [], []

        def step():
            out = model(
                token,
                past_key_values=cache,
                use_cache=True,
                cache_position=place,
                position_ids=place[None],
            )
            token.copy_(out.logits[:, -1:].argmax(-1))
            place.add_(1)
            return out.logits

        for _ in range(10):
            torch.npu.synchronize()
            simulator.clear_calls()
            if pipelined:
                with mindtorch_v2.pipeline(**settings):
                    logits = step()
            else:
                logits = step()
            calls.append(log())
            scores.append(logits.float().cpu())
        return torch.cat(scores), calls

    with torch.no_grad():
        expected, eager = decode(False)
        got, calls = decode(True)
    torch.testing.assert_close(got, expected, rtol=1e-2, atol=1e-2)
    assert calls[0][0] < 0.6 * eager[0][0]
    # Without limits the device is given parts of a step while the rest is recorded.
    for launched, replays in calls[7:]:
        assert launched == 0 and replays == (1 if settings else 5)
