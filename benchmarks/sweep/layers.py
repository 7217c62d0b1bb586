"""Layers, losses and optimizers, forward and backward, and what programs use beside them."""

from __future__ import annotations

from collections.abc import Iterator

from sweep.case import SweepCase

_BATCHES = (1, 64)

# name, setup of the function f and its operands; {b} is the batch, {t} the dtype
_LAYERS = [
    ("conv1x1", "m = nn.Conv2d(32, 32, 1)", "{b}, 32, 16, 16"),
    ("conv3x3", "m = nn.Conv2d(16, 32, 3, padding=1)", "{b}, 16, 32, 32"),
    ("conv3x3 stride 2", "m = nn.Conv2d(16, 32, 3, 2, 1)", "{b}, 16, 32, 32"),
    ("depthwise", "m = nn.Conv2d(32, 32, 3, padding=1, groups=32)", "{b}, 32, 16, 16"),
    ("depthwise 7x7 stride 2", "m = nn.Conv2d(32, 32, 7, 2, 3, groups=32)", "{b}, 32, 28, 28"),
    ("conv3x3 groups", "m = nn.Conv2d(64, 64, 3, padding=1, groups=8)", "{b}, 64, 14, 14"),
    ("conv3x3 deep", "m = nn.Conv2d(256, 256, 3, padding=1)", "{b}, 256, 7, 7"),
    ("conv1d", "m = nn.Conv1d(32, 64, 5)", "{b}, 32, 128"),
    ("conv3d", "m = nn.Conv3d(8, 16, 3, padding=1)", "{b}, 8, 4, 14, 14"),
    ("conv_transpose2d", "m = nn.ConvTranspose2d(16, 8, 4, 2, 1)", "{b}, 16, 16, 16"),
    ("max_pool2d", "m = nn.MaxPool2d(2)", "{b}, 16, 32, 32"),
    ("max_pool2d padded", "m = nn.MaxPool2d(3, 2, 1, ceil_mode=True)", "{b}, 16, 27, 27"),
    ("avg_pool2d", "m = nn.AvgPool2d(2)", "{b}, 16, 32, 32"),
    ("adaptive_avg_pool2d", "m = nn.AdaptiveAvgPool2d(1)", "{b}, 64, 14, 14"),
    ("batch_norm", "m = nn.BatchNorm2d(16)", "{b}, 16, 32, 32"),
    ("layer_norm", "m = nn.LayerNorm(256)", "{b}, 32, 256"),
    ("rms_norm", "m = nn.RMSNorm(256)", "{b}, 32, 256"),
    ("group_norm", "m = nn.GroupNorm(4, 16)", "{b}, 16, 16, 16"),
    ("linear 256", "m = nn.Linear(256, 256)", "{b}, 256"),
    ("linear 1024", "m = nn.Linear(1024, 1024)", "{b}, 1024"),
    ("mlp", "m = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256))", "{b}, 256"),
    ("gelu", "m = nn.GELU()", "{b}, 32, 256"),
    ("softmax", "m = nn.Softmax(-1)", "{b}, 32, 256"),
    ("interpolate", "m = nn.Upsample(scale_factor=2, mode='bilinear')", "{b}, 8, 16, 16"),
    ("bicubic", "m = nn.Upsample(scale_factor=2, mode='bicubic')", "{b}, 8, 16, 16"),
    ("nearest", "m = nn.Upsample(scale_factor=2)", "{b}, 8, 16, 16"),
    ("instance_norm", "m = nn.InstanceNorm2d(16, affine=True)", "{b}, 16, 16, 16"),
    ("prelu", "m = nn.PReLU()", "{b}, 16, 32, 32"),
    ("rnn", "m = First(nn.RNN(64, 64, batch_first=True))", "{b}, 16, 64"),
    ("lstm", "m = First(nn.LSTM(64, 64, batch_first=True))", "{b}, 16, 64"),
    ("gru", "m = First(nn.GRU(64, 64, batch_first=True))", "{b}, 16, 64"),
]
# The same, of images with their channels beside each other.
_CHANNELS_LAST = [
    ("conv1x1", "m = nn.Conv2d(64, 64, 1)", "{b}, 64, 14, 14"),
    ("conv3x3", "m = nn.Conv2d(32, 32, 3, padding=1)", "{b}, 32, 14, 14"),
    ("depthwise", "m = nn.Conv2d(64, 64, 3, padding=1, groups=64)", "{b}, 64, 14, 14"),
    ("max_pool2d", "m = nn.MaxPool2d(3, 2, 1)", "{b}, 64, 28, 28"),
    ("avg_pool2d", "m = nn.AvgPool2d(2)", "{b}, 64, 28, 28"),
    ("batch_norm", "m = nn.BatchNorm2d(64)", "{b}, 64, 14, 14"),
]
_FIRST = """
class First(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def forward(self, x):
        return self.inner(x)[0]
"""
_LOSSES = [
    ("cross_entropy", "F.cross_entropy(x, y)", "x = torch.randn({b}, 1000)", "1000"),
    ("mse_loss", "F.mse_loss(x, z)", "x = torch.randn({b}, 256); z = torch.randn({b}, 256)", "2"),
    ("bce_with_logits", "F.binary_cross_entropy_with_logits(x, z)",
     "x = torch.randn({b}, 256); z = torch.rand({b}, 256)", "2"),
    ("nll_loss", "F.nll_loss(x.log_softmax(1), y)", "x = torch.randn({b}, 100)", "100"),
    ("smooth_l1", "F.smooth_l1_loss(x, z)", "x = torch.randn({b}, 256); z = torch.randn({b}, 256)",
     "2"),
]  # fmt: skip
_OPTIMIZERS = ["SGD(p, 0.1)", "SGD(p, 0.1, momentum=0.9)", "Adam(p, 1e-3)", "AdamW(p, 1e-3)"]
_OPTIMIZERS += ["RMSprop(p, 1e-3)", "Adagrad(p, 1e-3)"]
_LINALG = """torch.linalg.cholesky(s) torch.linalg.solve(s,a) torch.linalg.inv(s) torch.linalg.qr(a)
    torch.linalg.svd(a) torch.linalg.eigh(s) torch.linalg.det(s) torch.linalg.norm(a)
    torch.linalg.matrix_norm(a) torch.linalg.lstsq(s,a)""".split()
_FFT = "torch.fft.fft(c) torch.fft.ifft(c) torch.fft.rfft(a) torch.fft.fft2(c)".split()


def _case(family, name, dtype, layout, elements, statement, setup) -> SweepCase:
    head = "nn = torch.nn\n"
    return SweepCase(name, family, dtype, layout, elements, statement, head + setup)


def _layers() -> Iterator[SweepCase]:
    for dtype in ("float32", "bfloat16"):
        for batch in _BATCHES:
            for name, module, shape in _LAYERS:
                if name == "batch_norm" and batch == 1 and dtype == "bfloat16":
                    continue
                yield from _layer(name, module, shape.format(b=batch), dtype, f"batch {batch}")
            for name, module, shape in _CHANNELS_LAST:
                layout = f"batch {batch}, channels last"
                yield from _layer(name, module, shape.format(b=batch), dtype, layout)


def _layer(name, module, shape, dtype, layout) -> Iterator[SweepCase]:
    last = ".to(memory_format=torch.channels_last)" if "channels last" in layout else ""
    setup = f"{_FIRST}\n{module}; m = m.to(torch.{dtype}){last}; x = torch.randn({shape})"
    setup += f".to(torch.{dtype}){last}"
    elements = 1
    for size in shape.split(","):
        elements *= int(size)
    forward = setup + "\ndef run():\n    with torch.no_grad():\n        return m(x)"
    yield _case("layer", name, dtype, layout, elements, "run()", forward)
    backward = setup + ".requires_grad_()\ng = torch.ones_like(m(x))\ndef run():\n"
    backward += "    y = m(x)\n    y.backward(g)"
    yield _case("layer", f"{name}, backward", dtype, layout, elements, "run()", backward)


def _attention() -> Iterator[SweepCase]:
    for dtype in ("float32", "bfloat16"):
        for batch, heads, length, width in ((1, 8, 1, 64), (1, 8, 128, 64), (8, 8, 256, 64)):
            shape = f"{batch}, {heads}, {length}, {width}"
            setup = f"q, k, v = (torch.randn({shape}).to(torch.{dtype}) for _ in range(3))"
            elements = batch * heads * length * width
            layout = f"{batch}x{heads}x{length}x{width}"
            for causal in (False, True):
                call = f"F.scaled_dot_product_attention(q, k, v, is_causal={causal})"
                name = "attention, causal" if causal else "attention"
                yield _case("layer", name, dtype, layout, elements, call, setup)
                backward = f"{setup}\nfor t in (q, k, v): t.requires_grad_()\n"
                backward += f"g = torch.ones_like(q)\ndef run():\n    {call}.backward(g)"
                name += ", backward"
                yield _case("layer", name, dtype, layout, elements, "run()", backward)


def _losses() -> Iterator[SweepCase]:
    for dtype in ("float32", "bfloat16"):
        for batch in _BATCHES:
            for name, call, operands, classes in _LOSSES:
                setup = operands.format(b=batch)
                setup += f"; y = torch.randint({classes}, ({batch},)); x = x.to(torch.{dtype})"
                setup += f"; z = z.to(torch.{dtype})" if "z =" in operands else ""
                setup += "; x.requires_grad_()"
                elements = batch * 256
                layout = f"batch {batch}"
                yield _case("loss", name, dtype, layout, elements, call, setup)
                statement = f"{call}.backward()"
                yield _case("loss", name + ", backward", dtype, layout, elements, statement, setup)


def _optimizers() -> Iterator[SweepCase]:
    for count, side in ((10, 32), (100, 32), (10, 256)):
        for call in _OPTIMIZERS:
            setup = f"p = [nn.Parameter(torch.randn({side}, {side})) for _ in range({count})]\n"
            setup += "for t in p: t.grad = torch.randn_like(t)\n"
            setup += f"o = torch.optim.{call}"
            elements = count * side * side
            yield _case(
                "optimizer",
                call,
                "float32",
                f"{count} of {side}x{side}",
                elements,
                "o.step()",
                setup,
            )


def _others() -> Iterator[SweepCase]:
    for dtype in ("float32", "float64"):
        for n in (8, 64, 256):
            setup = (
                f"a = torch.randn({n}, {n}, dtype=torch.{dtype}); s = a @ a.t() + torch.eye({n})"
            )
            for call in _LINALG:
                yield _case("linalg", call, dtype, f"{n}x{n}", n * n, call, setup)
        for batch, n in ((64, 16), (16, 64)):
            setup = f"a = torch.randn({batch}, {n}, {n}, dtype=torch.{dtype})"
            setup += f"; s = a @ a.mT + torch.eye({n})"
            for call in _LINALG:
                layout = f"{batch}x{n}x{n}"
                yield _case("linalg", call, dtype, layout, batch * n * n, call, setup)
        for batch, n in ((1, 1024), (64, 1000), (64, 256), (8, 1009), (256, 256)):
            setup = f"a = torch.randn({batch}, {n}, dtype=torch.{dtype}); c = torch.complex(a, a)"
            for call in _FFT:
                yield _case("fft", call, dtype, f"{batch}x{n}", batch * n, call, setup)
    for n, columns in ((1000, 16), (10_000, 64)):
        setup = f"i = torch.randint({n}, (2, {n} * 10))\n"
        setup += f"s = torch.sparse_coo_tensor(i, torch.rand({n} * 10), ({n}, {n})).coalesce()\n"
        setup += f"r = s.to_sparse_csr(); x = torch.rand({n}, {columns})"
        for call in ("torch.sparse.mm(s,x)", "r@x", "s.to_dense()" if n < 5000 else "s+s"):
            yield _case("sparse", call, "float32", f"{n}x{columns}", n * 10, call, setup)


def cases() -> Iterator[SweepCase]:
    yield from _layers()
    yield from _attention()
    yield from _losses()
    yield from _optimizers()
    yield from _others()
    indices = "e = torch.randn(1000, 64); i = torch.randint(1000, ({b}, 32))"
    for batch in _BATCHES:
        layout, setup, size = f"batch {batch}", indices.format(b=batch), batch * 2048
        yield _case("layer", "embedding", "float32", layout, size, "F.embedding(i, e)", setup)
        for mode in ("sum", "mean", "max"):
            call = f"F.embedding_bag(i, e, mode='{mode}')"
            yield _case("layer", f"embedding_bag {mode}", "float32", layout, size, call, setup)
