"""Trains a small GPT on this project's documentation, on an NPU: `make demo`.

The first half of the steps run op by op, the second half in a pipeline. In between it saves a
checkpoint and goes on from it: the losses are those of a run that was not interrupted. Shows the
loss, tokens per second of both halves and the device's memory, draws the loss and the memory over
the run, and lets the model write.
"""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import statistics
import sys
import time

import mindtorch_v2 as torch
from shared import gpt
from shared.npu import choose as choose_npu

DOCS = pathlib.Path(__file__).resolve().parents[1] / "docs"
TABLES = ("ops", "options")  # generated, no prose
BATCH, TOKENS = 32, 32
RATE = 1e-2
DROPOUT = 0.05
COMPARED = 5  # steps of the interrupted run and of the other
MODES = ("eager", "pipeline")
BAR = 30
SAVED = ("model", "optimizer", "schedule")
MIB = 1 << 20
MEMORY = ("reserved from the device", "most in use during the step", "in use after the step")


class Text:
    """The documentation as numbers of characters."""

    def __init__(self, folder: pathlib.Path) -> None:
        paths = [path for path in sorted(folder.glob("*.md")) if path.stem not in TABLES]
        text = "\n".join(path.read_text() for path in paths)
        self.characters = sorted(set(text))
        numbers = {character: number for number, character in enumerate(self.characters)}
        self.tokens = torch.tensor([numbers[character] for character in text])

    def batch(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Pieces of the text, and the same one character later, on the device."""
        starts = torch.randint(0, len(self.tokens) - TOKENS, (BATCH, 1))
        pieces = self.tokens[starts + torch.arange(TOKENS + 1)]
        pieces = pieces.pin_memory().to("npu", non_blocking=True)
        return pieces[:, :-1], pieces[:, 1:]

    def show(self, tokens: list[int]) -> str:
        return "".join(self.characters[token] for token in tokens)


class ProgressBar:
    """One line, rewritten on a terminal; elsewhere its last state per mode only."""

    def __init__(self, mode: str, steps: int) -> None:
        self.mode, self.steps = mode, steps

    def show(self, done: int, loss: torch.Tensor) -> None:
        last = done == self.steps
        if not sys.stdout.isatty() and not last:
            return
        filled = BAR * done // self.steps
        bar = "█" * filled + "░" * (BAR - filled)
        line = f"{self.mode:9}{bar} {done:4}/{self.steps} steps, loss {loss.item():.3f}"
        print(f"\r{line}", end="\n" if last else "", flush=True)


class Trainer:
    def __init__(self, text: Text, steps: int) -> None:
        size = gpt.Size(
            layers=2,
            width=64,
            heads=4,
            tokens=TOKENS,
            vocabulary=len(text.characters),
            dropout=DROPOUT,
        )
        self.text = text
        self.model = gpt.make(torch, size)
        for embedding in (self.model.embedding, self.model.positions):
            torch.nn.init.normal_(embedding.weight, std=0.1)  # so it learns faster
        self.model.npu()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=RATE)
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, max_lr=RATE, total_steps=steps + 1, pct_start=0.1
        )
        self.losses: list[torch.Tensor] = []
        self.memory: list[tuple[int, ...]] = []  # bytes after each step, as in MEMORY

    def learn(self) -> None:
        inputs, targets = self.text.batch()
        self.optimizer.zero_grad()
        scores = self.model(inputs)
        loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        self.losses.append(loss.detach())

    def step(self, mode: str) -> float:
        """Learns from one batch; the seconds that it took."""
        torch.npu.reset_peak_memory_stats()
        start = time.perf_counter()
        with torch.pipeline() if mode == "pipeline" else contextlib.nullcontext():
            self.learn()
        torch.npu.synchronize()
        seconds = time.perf_counter() - start
        self.memory.append(
            (
                torch.npu.memory_reserved(),
                torch.npu.max_memory_allocated(),
                torch.npu.memory_allocated(),
            )
        )
        return seconds

    def run(self, mode: str, steps: int) -> float:
        """Tokens per second."""
        bar = ProgressBar(mode, steps)
        times = []
        for done in range(1, steps + 1):
            times.append(self.step(mode))
            if done % 10 == 0 or done == steps:
                bar.show(done, self.losses[-1])
        return BATCH * TOKENS / statistics.median(times)

    def save(self, path: pathlib.Path) -> None:
        parts = {name: getattr(self, name).state_dict() for name in SAVED}
        states = {"cpu": torch.get_rng_state(), "npu": torch.npu.get_rng_state()}
        torch.save({**parts, "random states": states}, path)

    def load(self, path: pathlib.Path) -> None:
        checkpoint = torch.load(path)
        for name in SAVED:
            getattr(self, name).load_state_dict(checkpoint[name])
        torch.set_rng_state(checkpoint["random states"]["cpu"])
        torch.npu.set_rng_state(checkpoint["random states"]["npu"])

    @torch.no_grad()
    def write(self, length: int) -> tuple[str, str]:
        """A piece of the text, and what the model adds to it."""
        tokens = self.text.tokens[:TOKENS].tolist()
        for _ in range(length):
            context = torch.tensor([tokens[-TOKENS:]]).npu()
            scores = self.model(context)[0, -1].cpu()
            tokens.append(torch.multinomial((scores / 0.7).softmax(0), 1).item())
        return self.text.show(tokens[:TOKENS]), self.text.show(tokens[TOKENS:])


def interrupted(trainer: Trainer, path: pathlib.Path, steps: int) -> Trainer:
    """A new trainer that goes on where the checkpoint was made."""
    trainer.save(path)
    resumed = Trainer(trainer.text, steps)
    resumed.load(path)
    resumed.losses = list(trainer.losses)
    resumed.memory = list(trainer.memory)
    for each in (trainer, resumed):
        each.load(path)  # the random numbers, too, begin there
        for _ in range(COMPARED):
            each.step("eager")
    want, got = ([loss.item() for loss in each.losses[-COMPARED:]] for each in (trainer, resumed))
    print(f"\nCheckpoint: {path} ({path.stat().st_size / 1e6:.1f} MB). Losses of the next steps:")
    print("  not interrupted  " + " ".join(f"{loss:.6f}" for loss in want))
    print("  resumed          " + " ".join(f"{loss:.6f}" for loss in got))
    print("  the same\n" if want == got else "  NOT the same\n")
    return resumed


def draw(
    path: pathlib.Path, what: str, lines: dict[str, tuple[int, list[float]]], **labels: str
) -> str:
    """Writes a picture of values per step, from a first one on; what is to be said about it."""
    try:
        import matplotlib
    except ImportError:
        return f"No picture of the {what}: matplotlib is not installed."
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    for label, (first, values) in lines.items():
        axes.plot(range(first, first + len(values)), values, label=label, linewidth=1)
    axes.set(xlabel="step", **labels)
    axes.set_ylim(bottom=0)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return f"Picture of the {what}: {path.resolve()}"


def draw_loss(path: pathlib.Path, losses: list[float], steps: int) -> str:
    eager = len(losses) - steps  # with those after the checkpoint
    lines = {"eager": (1, losses[:eager]), "pipeline": (eager + 1, losses[eager:])}
    return draw(
        path, "loss", lines,
        ylabel="loss (cross entropy per character)",
        title="A small GPT learns this project's documentation",
    )  # fmt: skip


def draw_memory(path: pathlib.Path, memory: list[tuple[int, ...]], steps: int) -> str:
    eager = len(memory) - steps  # as in the picture of the loss
    lines = {name: (1, [row[at] / MIB for row in memory]) for at, name in enumerate(MEMORY)}
    return draw(
        path, "memory", lines, ylabel="MiB",
        title=f"The device's memory: eager to step {eager}, then in a pipeline",
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200, help="of each mode")
    parser.add_argument("--picture", type=pathlib.Path, default="train_gpt.png")
    parser.add_argument("--memory-picture", type=pathlib.Path, default="train_gpt_memory.png")
    parser.add_argument("--checkpoint", type=pathlib.Path, default="train_gpt.pt")
    parser.add_argument("--write", type=int, default=300, help="characters")
    arguments = parser.parse_args()
    there_is_one, remark = choose_npu()
    print(f"Training a small GPT, eager and in a pipeline\n{remark}".rstrip())
    if not there_is_one:
        return

    torch.manual_seed(0)
    text = Text(DOCS)
    steps = len(MODES) * arguments.steps + COMPARED
    trainer = Trainer(text, steps)
    parameters = sum(p.numel() for p in trainer.model.parameters())
    print(
        f"{parameters:,} parameters, on {torch.npu.get_device_name()}; {len(text.tokens):,} "
        f"characters of docs/; batches of {BATCH} x {TOKENS}\n"
    )
    rates = {"eager": trainer.run("eager", arguments.steps)}
    trainer = interrupted(trainer, arguments.checkpoint, steps)
    rates["pipeline"] = trainer.run("pipeline", arguments.steps)
    losses = [loss.item() for loss in trainer.losses]
    print(f"\nloss: {losses[0]:.3f} at first, {statistics.mean(losses[-10:]):.3f} at last")
    for mode, rate in rates.items():
        print(f"{mode:9}{rate:8,.0f} tokens per second")
    print(f"\n{torch.npu.memory_summary(abbreviated=True)}")
    print("(peaks: of the last step)")
    print(f"\n{draw_loss(arguments.picture, losses, arguments.steps)}")
    print(draw_memory(arguments.memory_picture, trainer.memory, arguments.steps))
    given, written = trainer.write(arguments.write)
    print(f"\nGiven this:\n{given}\n\nthe model goes on:\n{written}")


if __name__ == "__main__":
    main()
