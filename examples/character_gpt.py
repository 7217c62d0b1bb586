"""Trains a small GPT on arithmetic, character by character, and lets it calculate.

    python -m mindtorch_v2 examples/character_gpt.py
    python -m mindtorch_v2 examples/character_gpt.py --device npu --dtype bfloat16 --accumulate 4

Rotary positions, gradient accumulation and clipping, weight decay for matrices only, warm-up and
cosine decay, mixed precision, checkpoints that a run can go on from, and sampling with a cache.
"""

import argparse
import contextlib
import dataclasses
import math
import pathlib
import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint as recompute

CHARACTERS = "\n+-=0123456789"


@dataclasses.dataclass
class Config:
    layers: int = 3
    heads: int = 4
    width: int = 64
    context: int = 32
    vocabulary: int = len(CHARACTERS)
    dropout: float = 0.0
    recompute: bool = False


def encode(text: str) -> Tensor:
    return torch.tensor([CHARACTERS.index(character) for character in text])


def decode(tokens: Tensor) -> str:
    return "".join(CHARACTERS[token] for token in tokens.tolist())


def make_text(count: int, seed: int) -> Tensor:
    """Lines such as 12+7=19, as numbers of characters."""
    generator = torch.Generator().manual_seed(seed)
    pairs = torch.randint(0, 30, (count, 2), generator=generator)
    signs = torch.randint(0, 2, (count,), generator=generator)
    lines = []
    for (a, b), minus in zip(pairs.tolist(), signs.tolist(), strict=True):
        lines.append(f"{a}-{b}={a - b}" if minus else f"{a}+{b}={a + b}")
    return encode("\n" + "\n".join(lines) + "\n")


def get_batch(text: Tensor, size: int, context: int, generator: torch.Generator):
    """Pieces of the text, and the same one character later."""
    starts = torch.randint(len(text) - context, (size,), generator=generator)
    inputs = torch.stack([text[start : start + context] for start in starts])
    targets = torch.stack([text[start + 1 : start + 1 + context] for start in starts])
    return inputs, targets


class RMSNorm(nn.Module):
    def __init__(self, width: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return (x.float() * scale).type_as(x) * self.weight


def rotate(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    left, right = x.float().chunk(2, dim=-1)
    turned = torch.cat([left * cosine - right * sine, left * sine + right * cosine], dim=-1)
    return turned.type_as(x)


class Attention(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads, self.dropout = config.heads, config.dropout
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=False)
        self.proj = nn.Linear(config.width, config.width, bias=False)
        self.proj.residual = True

    def forward(self, x: Tensor, cosine: Tensor, sine: Tensor, cache: list | None) -> Tensor:
        B, T, C = x.shape
        q, k, v = (
            part.view(B, T, self.heads, C // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(C, dim=2)
        )
        q, k = rotate(q, cosine, sine), rotate(k, cosine, sine)
        if cache is not None:
            if cache:
                k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
            cache[:] = k, v
        y = F.scaled_dot_product_attention(
            q, k, v, is_causal=T > 1, dropout_p=self.dropout if self.training else 0.0
        )
        return self.proj(y.transpose(1, 2).contiguous().view(B, T, C))


class FeedForward(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        hidden = 8 * config.width // 3
        self.gate = nn.Linear(config.width, hidden, bias=False)
        self.up = nn.Linear(config.width, hidden, bias=False)
        self.down = nn.Linear(hidden, config.width, bias=False)
        self.down.residual = True

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.norm1, self.attention = RMSNorm(config.width), Attention(config)
        self.norm2, self.feed_forward = RMSNorm(config.width), FeedForward(config)

    def forward(self, x: Tensor, cosine: Tensor, sine: Tensor, cache: list | None = None):
        x = x + self.attention(self.norm1(x), cosine, sine, cache)
        return x + self.feed_forward(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = RMSNorm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)
        self.head.weight = self.embedding.weight
        half = config.width // config.heads // 2
        frequencies = 10000.0 ** (-torch.arange(half) / half)
        angles = torch.outer(torch.arange(config.context), frequencies)
        self.register_buffer("cosine", angles.cos(), persistent=False)
        self.register_buffer("sine", angles.sin(), persistent=False)
        self.apply(self._init_weights)

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            std = 0.02
            if getattr(module, "residual", False):
                std /= math.sqrt(2 * self.config.layers)
            nn.init.trunc_normal_(module.weight, std=std, a=-3 * std, b=3 * std)

    def forward(self, tokens: Tensor, targets: Tensor | None = None, caches: list | None = None):
        start = caches[0][0].size(2) if caches and caches[0] else 0
        cosine, sine = (table[start : start + tokens.size(1)] for table in (self.cosine, self.sine))
        x = self.embedding(tokens)
        for number, block in enumerate(self.blocks):
            if self.config.recompute and self.training:
                x = recompute(block, x, cosine, sine, use_reentrant=False)
            else:
                x = block(x, cosine, sine, caches[number] if caches else None)
        x = self.norm(x)
        if targets is None:
            return self.head(x[:, [-1]]), None
        scores = self.head(x)
        return scores, F.cross_entropy(scores.flatten(0, 1).float(), targets.flatten())

    def configure_optimizer(self, lr: float, decay: float) -> torch.optim.Optimizer:
        trained = [p for p in self.parameters() if p.requires_grad]
        groups = [
            {"params": [p for p in trained if p.dim() >= 2], "weight_decay": decay},
            {"params": [p for p in trained if p.dim() < 2], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95))

    @torch.no_grad()
    def generate(self, tokens: Tensor, count: int, temperature: float = 1.0, top_k: int = 0):
        """tokens and what follows; temperature 0: always the likeliest."""
        caches = [[] for _ in self.blocks]
        fed = tokens
        for _ in range(min(count, self.config.context - tokens.size(1))):
            scores = self(fed, caches=caches)[0][:, -1]
            if temperature == 0:
                fed = scores.argmax(-1, keepdim=True)
            else:
                scores = scores / temperature
                if top_k:
                    least = scores.topk(min(top_k, scores.size(-1))).values[:, [-1]]
                    scores[scores < least] = -float("inf")
                fed = torch.multinomial(scores.softmax(-1).cpu(), num_samples=1).to(scores.device)
            tokens = torch.cat((tokens, fed), dim=1)
        return tokens


def learning_rate(step: int, args: argparse.Namespace) -> float:
    if step < args.warmup:
        return args.lr * (step + 1) / args.warmup
    done = (step - args.warmup) / max(1, args.steps - args.warmup)
    return args.lr * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * done)))


@torch.inference_mode()
def evaluate(model: GPT, text: Tensor, precision) -> float:
    model.eval()
    pieces = text[: (len(text) - 1) // model.config.context * model.config.context + 1]
    inputs = pieces[:-1].view(-1, model.config.context)[:64]
    targets = pieces[1:].view(-1, model.config.context)[:64]
    device = model.head.weight.device
    with precision:
        _, loss = model(inputs.to(device), targets.to(device))
    model.train()
    return loss.item()


def correct(model: GPT, count: int) -> tuple[int, list[str]]:
    """How many sums are right, and the lines that were written."""
    model.eval()
    right, lines = 0, []
    for number in range(count):
        a, b = (3 * number + 1) % 30, (7 * number + 5) % 30
        prompt = encode(f"\n{a}+{b}=")[None].to(model.head.weight.device)
        line = decode(model.generate(prompt, 4, temperature=0)[0].cpu()).split("\n")[1]
        right += line == f"{a}+{b}={a + b}"
        lines.append(line)
    model.train()
    return right, lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1337)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--accumulate", type=int, default=2, help="batches per step")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--warmup", type=int, default=100)
    parser.add_argument("--decay", type=float, default=0.1)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--dtype", choices=("float32", "bfloat16", "float16"), default="float32")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--recompute", action="store_true", help="activations, to save memory")
    parser.add_argument("--log-every", type=int, default=100)
    parser.add_argument("--eval-every", type=int, default=500)
    parser.add_argument(
        "--checkpoints", type=pathlib.Path, help="a folder: one is saved at every evaluation"
    )
    parser.add_argument("--resume", type=pathlib.Path, help="a checkpoint to go on from")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    config = Config(dropout=args.dropout, recompute=args.recompute)
    model = GPT(config).to(args.device)
    optimizer = model.configure_optimizer(args.lr, args.decay)
    scaler = torch.amp.GradScaler(args.device, enabled=args.dtype == "float16")
    precision = contextlib.nullcontext()
    if args.dtype != "float32":
        precision = torch.autocast(args.device, dtype=getattr(torch, args.dtype))
    generator = torch.Generator().manual_seed(args.seed)
    step = 0
    if args.resume:
        saved = torch.load(args.resume, map_location="cpu", weights_only=True)
        assert Config(**saved["config"]) == config
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        scaler.load_state_dict(saved["scaler"])
        generator.set_state(saved["generator"])
        step = saved["step"]
    forward = torch.compile(model) if args.compile else model

    held_out, text = make_text(200, args.seed + 1), make_text(4000, args.seed)
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(text)} characters")
    begin = time.perf_counter()
    while step < args.steps:
        rate = learning_rate(step, args)
        for group in optimizer.param_groups:
            group["lr"] = rate
        total = 0.0
        for _ in range(args.accumulate):
            batch = get_batch(text, args.batch_size, config.context, generator)
            inputs, targets = (part.to(args.device) for part in batch)
            with precision:
                _, loss = forward(inputs, targets)
            scaler.scale(loss / args.accumulate).backward()
            total += loss.item() / args.accumulate
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        if step % args.log_every == 0:
            print(f"step {step:4}  loss {total:.6f}  norm {norm:.5f}  lr {rate:.6f}")
        if step % args.eval_every == 0 or step == args.steps:
            loss = evaluate(model, held_out, precision)
            print(f"step {step:4}  held_out_loss {loss:.6f}")
            if args.checkpoints:
                parts = {"model": model, "optimizer": optimizer, "scaler": scaler}
                states = {name: part.state_dict() for name, part in parts.items()}
                states |= {"config": dataclasses.asdict(config), "step": step}
                states["generator"] = generator.get_state()
                torch.save(states, args.checkpoints / f"step-{step}.pt")
    seconds = time.perf_counter() - begin
    print(f"{seconds:.1f} s")
    right, lines = correct(model, count=12)
    print(f"{right} of 12 sums are right: {', '.join(lines)}")
    start = encode("\n")[None].to(args.device)
    written = decode(model.generate(start, 30, temperature=0.8, top_k=5)[0].cpu())
    print("it writes:", " ".join(written.split()))


if __name__ == "__main__":
    main()
