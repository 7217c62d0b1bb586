"""Programs that train, with the library as an argument: same seed, same data, same losses.

Targets contain noise, so that no loss falls far below 1: relative differences stay meaningful.
Steps are small, so that a last bit of half precision does not grow from step to step.
"""

import contextlib
import pathlib
import sys

import numpy

sys.path.append(str(pathlib.Path(__file__).parents[2] / "examples"))

from shared import gpt

STEPS = 100
BATCH = 64


def mlp(torch):
    """Classes that a linear function of the input decides, with noise; SGD with momentum."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(20, 32), nn.SiLU(), nn.BatchNorm1d(32), nn.Linear(32, 32), nn.Tanh(),
        nn.Linear(32, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    teacher = numpy.random.default_rng(0).standard_normal((20, 10))

    def batch(rng):
        x = rng.standard_normal((BATCH, 20)).astype("float32")
        noise = 4 * rng.standard_normal((BATCH, 10))
        return x, (x @ teacher + noise).argmax(1)

    def loss(x, y):
        return nn.functional.cross_entropy(model(x), y)

    return model, optimizer, batch, loss


def convnet(torch):
    """Classes that the mean of a part of the image decides, with noise; SGD with momentum.

    Smooth: where a maximum or the sign of a number near 0 decides, its last bit would count.
    """
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(2, 8, 3, padding=1), nn.BatchNorm2d(8), nn.SiLU(), nn.AvgPool2d(2),
        nn.Conv2d(8, 12, 3, stride=2, groups=2), nn.GroupNorm(3, 12), nn.SiLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(48, 4),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)

    def batch(rng):
        classes = rng.integers(0, 4, BATCH)
        images = rng.standard_normal((BATCH, 2, 12, 12)).astype("float32")
        for image, place in zip(images, classes, strict=True):
            image[:, place // 2 * 6 :, place % 2 * 6 :] += 0.7
        told = numpy.where(rng.random(BATCH) < 0.5, classes, rng.integers(0, 4, BATCH))
        return images, told

    def loss(x, y):
        return nn.functional.cross_entropy(model(x), y)

    return model, optimizer, batch, loss


def lstm(torch):
    """The mean so far of a function of the input, with noise; Adam."""
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(8, 24, num_layers=2, batch_first=True)
            self.head = nn.Linear(24, 1)

        def forward(self, x):
            return self.head(self.lstm(x)[0]).squeeze(-1)

    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    teacher = numpy.random.default_rng(0).standard_normal(8)

    def batch(rng):
        x = rng.standard_normal((BATCH, 12, 8)).astype("float32")
        means = numpy.cumsum(x @ teacher, axis=1) / numpy.arange(1, 13)
        return x, (means + rng.standard_normal((BATCH, 12))).astype("float32")

    def loss(x, y):
        return nn.functional.mse_loss(model(x), y)

    return model, optimizer, batch, loss


def transformer(torch):
    """Tokens that mostly follow from the one before; AdamW, clipped gradients, a schedule."""
    words = 24
    model = gpt.make(torch, gpt.Size(layers=2, width=32, heads=4, tokens=16, vocabulary=words))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)

    def batch(rng):
        tokens = rng.integers(0, words, (BATCH, 17))
        follows = rng.random((BATCH, 17)) < 0.7
        for i in range(1, 17):
            tokens[:, i] = numpy.where(
                follows[:, i], (5 * tokens[:, i - 1] + 3) % words, tokens[:, i]
            )
        return tokens[:, :-1], tokens[:, 1:]

    def loss(x, y):
        return torch.nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())

    class Clipped:
        """The optimizer with what belongs to its step here."""

        zero_grad = optimizer.zero_grad

        def step(self):
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()

    return model, Clipped(), batch, loss


PROGRAMS = {"mlp": mlp, "convnet": convnet, "lstm": lstm, "gpt": transformer}


@contextlib.contextmanager
def one_thread(torch):
    """Where tests run side by side on few cores, threads mostly wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def losses(torch, name, device="cpu", pipeline=False, steps=STEPS, autocast=None):
    """The loss of each step. In a pipeline, a step is one window."""
    with one_thread(torch):
        return train(torch, name, device, pipeline, steps, autocast)


def precision(torch, device, autocast):
    if autocast is None:
        return contextlib.nullcontext()
    return torch.autocast(device, dtype=getattr(torch, autocast))


def train(torch, name, device, pipeline, steps, autocast):
    torch.manual_seed(0)
    model, optimizer, batch, loss = PROGRAMS[name](torch)
    model.to(device)
    rng = numpy.random.default_rng(1)
    found = []
    for _ in range(steps):
        x, y = (torch.tensor(each).to(device) for each in batch(rng))
        with torch.pipeline() if pipeline else contextlib.nullcontext():
            optimizer.zero_grad()
            with precision(torch, device, autocast):
                value = loss(x, y)
            value.backward()
            optimizer.step()
        found.append(value.detach())
    return numpy.array([value.item() for value in found])
