"""Running the same text in this package and in torch."""

import numpy

from tests.support.recorded import Sample


class World:
    """The names that the texts of layers.py use, for one of the libraries."""

    def __init__(self, torch):
        self.torch, self.nn = torch, torch.nn
        self.device = torch.get_default_device()
        self.rng = numpy.random.default_rng(7)

    def f(self, *shape):
        values = self.rng.standard_normal(shape).astype("float32")
        return self.made(values.tolist(), self.torch.float32).reshape(shape)

    def pos(self, *shape):
        values = self.rng.uniform(0.01, 0.99, shape).astype("float32")
        return self.made(values.tolist(), self.torch.float32).reshape(shape)

    def i(self, high, *shape):
        return self.made(self.rng.integers(0, high, shape).tolist()).reshape(shape)

    def made(self, values, dtype=None):
        return self.torch.tensor(values, dtype=dtype, device=self.device)

    def module(self, text):
        """A layer with the random numbers of the CPU, on the default device."""
        device, self.device = self.device, "cpu"
        with self.torch.device("cpu"):
            layer = self.eval(text)
        self.device = device
        return layer.to(device)

    def eval(self, text):
        self.torch.manual_seed(0)
        names = {name: getattr(self, name) for name in ("torch", "nn", "f", "pos", "i")}
        return eval(text, names)

    def arguments(self, text):
        return self.eval(f"(lambda *a, **k: (a, k))({text})")


def flat(value):
    """The tensors in a result, as NumPy arrays."""
    if value is None:
        return []
    if isinstance(value, Sample):
        return [value]
    if isinstance(value, (tuple, list)):
        return [array for item in value for array in flat(item)]
    if isinstance(value, dict):
        return [array for item in value.values() for array in flat(item)]
    if hasattr(value, "detach"):
        return [value.detach().cpu().double().numpy()]
    return [numpy.asarray(value)]


def assert_same(ours, theirs, rtol=1e-5, atol=1e-6):
    ours, theirs = flat(ours), flat(theirs)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape
        if isinstance(b, Sample):
            a, b = Sample.of(a), b.values
        numpy.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
