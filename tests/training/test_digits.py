"""A network learns handwritten digits."""

import contextlib

import numpy
from sklearn.datasets import load_digits

from tests.training.programs import one_thread


def digits(torch):
    """Pixels and classes of 360 images to test with, and of 1,437 to learn from."""
    data = load_digits()
    order = numpy.random.default_rng(0).permutation(len(data.target))
    x = torch.from_numpy(data.data[order].astype("float32")) / 16
    y = torch.from_numpy(data.target[order].astype("int64"))
    return x[:360], y[:360], x[360:], y[360:]


def learn(torch, mode, x, y):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(15):
        for rows in torch.randperm(len(y)).split(64):
            with torch.pipeline() if mode == "pipeline" else contextlib.nullcontext():
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
                optimizer.step()
    return model.eval()


def test_digits_reach_97_percent(torch, mode):
    torch.manual_seed(0)
    x_test, y_test, x, y = digits(torch)
    with one_thread(torch):
        model = learn(torch, mode, x, y)
    with torch.no_grad():
        right = (model(x_test).argmax(1) == y_test).float().mean().item()
    assert right >= 0.97
