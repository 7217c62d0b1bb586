"""Tiny models of transformers, with weights and inputs that do not depend on torch's generator.

The tests build them on mindtorch, record.py on torch.
"""

import zlib

import numpy
import torch
import transformers

VOCABULARY = 48
COMMON = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}


def _gpt2():
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=64, n_embd=32, n_layer=2, n_head=4, **COMMON
    )
    return transformers.GPT2LMHeadModel(config)


def _llama():
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        **COMMON,
    )
    return transformers.LlamaForCausalLM(config)


def _qwen3():
    config = transformers.Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=64,
        **COMMON,
    )
    return transformers.Qwen3ForCausalLM(config)


def _mixtral():
    config = transformers.MixtralConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_local_experts=4,
        num_experts_per_tok=2,
        max_position_embeddings=64,
        **COMMON,
    )
    return transformers.MixtralForCausalLM(config)


def _bert():
    config = transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        max_position_embeddings=64,
        pad_token_id=0,
    )
    return transformers.BertForMaskedLM(config)


def _t5():
    config = transformers.T5Config(
        vocab_size=VOCABULARY,
        d_model=32,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
        eos_token_id=2,
        pad_token_id=0,
    )
    return transformers.T5ForConditionalGeneration(config)


def _vit():
    config = transformers.ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        image_size=16,
        patch_size=4,
        num_labels=5,
    )
    return transformers.ViTForImageClassification(config)


def _whisper():
    config = transformers.WhisperConfig(
        vocab_size=VOCABULARY,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        num_mel_bins=8,
        max_source_positions=20,
        max_target_positions=32,
        decoder_start_token_id=1,
        suppress_tokens=[],
        begin_suppress_tokens=[],
        **COMMON,
    )
    return transformers.WhisperForConditionalGeneration(config)


BUILDERS = {
    "gpt2": _gpt2,
    "llama": _llama,
    "qwen3": _qwen3,
    "mixtral": _mixtral,
    "bert": _bert,
    "t5": _t5,
    "vit": _vit,
    "whisper": _whisper,
}
CAUSAL = ("gpt2", "llama", "qwen3", "mixtral")
GENERATING = (*CAUSAL, "t5", "whisper")


def numbers(name, shape):
    """Normal numbers that depend on a name only."""
    return numpy.random.RandomState(zlib.crc32(name.encode())).standard_normal(shape)


def build(name):
    """The model, in evaluation mode."""
    model = BUILDERS[name]()
    scale = 0.1 if name == "t5" else 0.25  # T5 does not divide its scores
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            values = numbers(key, tuple(parameter.shape)) * (scale if parameter.dim() > 1 else 0.1)
            if parameter.dim() == 1 and key.endswith("weight"):  # of a norm
                values += 1
            parameter.copy_(torch.from_numpy(values.astype(numpy.float32)))
    if name in GENERATING:
        model.generation_config.eos_token_id = None  # every row is as long as it may be
    return model.eval()


def tokens(name, shape):
    """Tokens that depend on a name only; none is special."""
    state = numpy.random.RandomState(zlib.crc32(name.encode()))
    return torch.from_numpy(state.randint(3, VOCABULARY, shape))


def inputs(name, device="cpu"):
    """What the model is called with."""
    if name == "vit":
        made = {"pixel_values": numbers("pixels", (2, 3, 16, 16))}
    elif name == "whisper":
        made = {"input_features": numbers("sound", (2, 8, 40))}
    else:
        made = {"input_ids": tokens("tokens", (2, 7))}
        made["attention_mask"] = torch.ones(2, 7, dtype=torch.int64)
        made["attention_mask"][1, :2] = 0
    if name in ("t5", "whisper"):
        made["decoder_input_ids"] = tokens("decoder", (2, 5))
    return {
        key: (
            torch.from_numpy(value.astype(numpy.float32))
            if isinstance(value, numpy.ndarray)
            else value
        ).to(device)
        for key, value in made.items()
    }


def prompt(name, device="cpu"):
    """What generate() is called with."""
    given = inputs(name, device)
    given.pop("decoder_input_ids", None)
    return given


# How generate() is called, by name of the case.
GENERATE = {
    "greedy": {"do_sample": False},
    "beam": {"do_sample": False, "num_beams": 3},
    "sample": {"do_sample": True, "top_k": 20, "top_p": 0.95, "temperature": 0.9},
    "static": {"do_sample": False, "cache_implementation": "static"},
}


# Whisper's generate() makes a cache of its own.
GENERATE_CASES = [
    (name, case)
    for name in GENERATING
    for case in GENERATE
    if (name, case) != ("whisper", "static")
]


def generate(model, name, case, device="cpu"):
    """The tokens, as lists."""
    torch.manual_seed(11)
    made = model.generate(**prompt(name, device), max_new_tokens=8, **GENERATE[case])
    return made.tolist()


def labels(name):
    """What the model learns."""
    if name == "vit":
        return torch.tensor([1, 3])
    if name in ("t5", "whisper"):
        return tokens("labels", (2, 5))
    return inputs(name)["input_ids"]


def train(model, name, device="cpu", steps=20, autocast=None, decay=0.1):
    """The losses of steps of AdamW, whose learning rate falls unless decay is 0."""
    given = {**inputs(name, device), "labels": labels(name).to(device)}
    given.pop("decoder_input_ids", None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + decay * step))
    losses = []
    model.train()
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.autocast(device, dtype=autocast, enabled=autocast is not None):
            loss = model(**given).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


def train_lora(model):
    """(losses, model): of steps that train a low-rank addition to the weights only."""
    import peft

    config = peft.LoraConfig(
        task_type="CAUSAL_LM", r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"]
    )
    model = peft.get_peft_model(model, config)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if "lora_A" in key:
                values = numbers(key, tuple(parameter.shape)) * 0.25
                parameter.copy_(torch.from_numpy(values.astype(numpy.float32)))
    return train(model, "llama"), model


def without_dropout(model):
    """The model, with dropout that drops nothing: masks are random."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        for field in ("dropout", "attention_dropout", "activation_dropout", "dropout_prob"):
            if isinstance(getattr(module, field, None), float):
                setattr(module, field, 0.0)
    return model
