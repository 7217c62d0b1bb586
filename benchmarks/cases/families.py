"""A broad sweep over the op families. No thresholds: it is there so that a regression is seen."""

from __future__ import annotations

from cases.case import Case

# Small shows the overhead per call, middle fits the first-level caches, large leaves them.
_SIZES = {"16": 16, "64K": 1 << 16, "1M": 1 << 20}


def _sized(family: str, stmts: list[str], setup: str, sizes: tuple[str, ...] = ("16", "64K", "1M")):
    """One case per statement and size; `N` in the setup stands for the number of elements."""
    for stmt in stmts:
        for size in sizes:
            yield Case(f"{stmt}, {size}", family, stmt, setup.replace("N", str(_SIZES[size])))


def _each(family: str, setup: str, stmts: list[str], note: str = ""):
    """One case per statement, all over one setup."""
    for stmt in stmts:
        yield Case(f"{stmt}{', ' + note if note else ''}", family, stmt, setup)


def _binary():
    floats = "a = torch.rand(N) + 0.5; b = torch.rand(N) + 0.5"
    yield from _sized("binary", ["a * b", "a / b", "a < b", "a + 1"], floats)
    yield from _sized("binary", ["a ** b", "torch.maximum(a, b)"], floats, ("64K",))
    yield from _sized(
        "binary",
        ["torch.where(c, a, b)", "a.lerp(b, 0.3)", "torch.addcmul(a, b, b, value=0.5)"],
        floats + "; c = a < b",
        ("16", "1M"),
    )
    for dtype in ("float64", "bfloat16", "float16", "int64", "int32", "uint8"):
        yield Case(
            f"a + b, {dtype} 1M",
            "binary",
            "a + b",
            f"a = (torch.rand(1 << 20) * 90).to(torch.{dtype}); b = a.clone()",
        )
    yield Case(
        "a + b, float32 + int64 1M",
        "binary",
        "a + b",
        "a = torch.rand(1 << 20); b = torch.arange(1 << 20)",
    )
    square = "a = torch.rand(1024, 1024); row = torch.rand(1024); col = torch.rand(1024, 1)"
    yield from _each("binary", square, ["a + row", "a + col", "a + a.t()", "a.add_(1)"], "1M")
    yield Case(
        "torch.add(a, b, out=c), 1M",
        "binary",
        "torch.add(a, b, out=c)",
        "a = torch.rand(1 << 20); b = torch.rand(1 << 20); c = torch.empty(1 << 20)",
    )


def _unary():
    positive = "a = torch.rand(N) + 0.1"
    yield from _sized("unary", ["a.neg()", "a.sqrt()", "a.log()"], positive)
    yield from _sized(
        "unary",
        ["a.sin()", "a.erf()", "a.atan()", "a.round()", "a.clamp(0.2, 0.8)", "a.rsqrt()"],
        positive,
        ("1M",),
    )
    yield from _sized(
        "unary",
        ["F.gelu(a)", "F.silu(a)", "F.leaky_relu(a)"],
        "import importlib; F = importlib.import_module(torch.__name__ + '.nn.functional'); "
        "a = torch.randn(N)",
        ("1M",),
    )
    for dtype in ("float64", "bfloat16"):
        yield Case(
            f"a.exp(), {dtype} 1M",
            "unary",
            "a.exp()",
            f"a = torch.randn(1 << 20).to(torch.{dtype})",
        )
    yield Case("a.exp(), transposed 1M", "unary", "a.exp()", "a = torch.randn(1024, 1024).t()")
    yield Case("a.exp(), every other of 2M", "unary", "a.exp()", "a = torch.randn(1 << 21)[::2]")


def _reduce():
    yield from _sized(
        "reduce", ["a.mean()", "a.max()", "a.argmax()", "a.var()"], "a = torch.rand(N)"
    )
    square = "a = torch.rand(1024, 1024)"
    yield from _each(
        "reduce",
        square,
        [
            "a.sum(0)",
            "a.sum(1)",
            "a.max(1)",
            "a.amax(0)",
            "a.argmin(1)",
            "a.std(1)",
            "a.norm()",
            "a.prod(1)",
            "a.cumsum(0)",
            "a.cumsum(1)",
            "a.logsumexp(1)",
            "a.log_softmax(1)",
            "a.softmax(0)",
        ],
        "1024x1024",
    )
    yield Case("a.any(), bool 1M", "reduce", "a.any()", "a = torch.zeros(1 << 20) > 1")
    yield Case("a.sum(), int64 1M", "reduce", "a.sum()", "a = torch.arange(1 << 20)")
    yield Case(
        "a.sum(), bfloat16 1M", "reduce", "a.sum()", "a = torch.rand(1 << 20).to(torch.bfloat16)"
    )


def _matmul():
    for n in (4, 16, 128, 1024):
        yield Case(
            f"a @ b, {n}", "matmul", "a @ b", f"a = torch.rand({n}, {n}); b = torch.rand({n}, {n})"
        )
    square = "a = torch.rand(512, 512); b = torch.rand(512, 512); v = torch.rand(512)"
    yield from _each(
        "matmul",
        square,
        ["a @ b.t()", "a.t() @ b", "a @ v", "v.dot(v)", "torch.addmm(v, a, b)"],
        "512",
    )
    yield Case(
        "a @ b, float64 512",
        "matmul",
        "a @ b",
        "a = torch.rand(512, 512).double(); b = torch.rand(512, 512).double()",
    )
    yield Case(
        "torch.bmm, 64 of 32x32",
        "matmul",
        "torch.bmm(a, b)",
        "a = torch.rand(64, 32, 32); b = torch.rand(64, 32, 32)",
    )
    yield Case(
        "torch.einsum bij,bjk->bik, 16 of 64x64",
        "matmul",
        "torch.einsum('bij,bjk->bik', a, b)",
        "a = torch.rand(16, 64, 64); b = torch.rand(16, 64, 64)",
    )


def _network():
    yield from _each(
        "norm",
        "F = torch.nn.functional; a = torch.rand(8, 128, 512); w = torch.rand(512)",
        ["F.layer_norm(a, (512,), w, w)", "F.layer_norm(a, (512,))", "F.rms_norm(a, (512,), w)"],
        "8x128x512",
    )
    yield Case(
        "F.linear with bias, 8x128x512 to 2048",
        "matmul",
        "torch.nn.functional.linear(a, w, b)",
        "a = torch.rand(8, 128, 512); w = torch.rand(2048, 512); b = torch.rand(2048)",
    )
    yield Case(
        "F.embedding, 8x128 of 32000x512",
        "embedding",
        "torch.nn.functional.embedding(i, w)",
        "w = torch.rand(32000, 512); i = torch.randint(0, 32000, (8, 128))",
    )
    yield from _each(
        "attention",
        "F = torch.nn.functional; q = torch.rand(8, 8, 128, 64); m = torch.rand(128, 128)",
        [
            "F.scaled_dot_product_attention(q, q, q)",
            "F.scaled_dot_product_attention(q, q, q, is_causal=True)",
            "F.scaled_dot_product_attention(q, q, q, m)",
        ],
        "8x8x128x64",
    )


def _windows():
    image = (
        "F = torch.nn.functional; x = torch.randn(64, 16, 28, 28); w = torch.randn(32, 16, 3, 3)"
    )
    yield from _each(
        "windows",
        image + "; v = torch.randn(16, 32, 2, 2); s = torch.randn(16, 1, 3, 3)",
        [
            "F.conv2d(x, w, padding=1)",
            "F.conv2d(x, w, stride=2)",
            "F.conv2d(x, s, groups=16)",
            "F.conv_transpose2d(x, v, stride=2)",
            "F.max_pool2d(x, 2)",
            "F.avg_pool2d(x, 2)",
            "F.adaptive_avg_pool2d(x, 1)",
            "F.interpolate(x, scale_factor=2, mode='bilinear')",
            "F.unfold(x, 3)",
        ],
        "64x16x28x28",
    )


def _views():
    yield from _each(
        "views",
        "a = torch.rand(2, 8, 4); m = torch.rand(4, 4)",
        [
            "a.reshape(16, 4)",
            "a.transpose(0, 1)",
            "a.permute(2, 0, 1)",
            "a.unsqueeze(0)",
            "a.squeeze()",
            "a.flatten()",
            "a.narrow(1, 2, 3)",
            "a.select(0, 1)",
            "a.expand(3, 2, 8, 4)",
            "a.unbind(1)",
            "a.chunk(2, 1)",
            "a.split(3, 1)",
            "m.diagonal()",
            "a.shape",
            "a.contiguous()",
            "a.detach()",
        ],
    )
    yield from _each(
        "views",
        "a = torch.rand(1024, 1024); b = torch.rand(1024, 1024)",
        [
            "a.clone()",
            "a.t().contiguous()",
            "torch.cat((a, b))",
            "torch.cat((a, b), 1)",
            "torch.stack((a, b))",
            "a.flip(1)",
            "a.roll(3, 1)",
            "a.repeat(2, 1)",
            "a.to(torch.float64)",
            "a.to(torch.bfloat16)",
            "a.to(torch.int64)",
            "b.copy_(a)",
            "a.tril()",
        ],
        "1024x1024",
    )
    yield Case(
        "a.permute(0, 2, 3, 1).contiguous(), 8x64x64x32",
        "views",
        "a.permute(0, 2, 3, 1).contiguous()",
        "a = torch.rand(8, 64, 64, 32)",
    )


def _indexing():
    yield from _each(
        "indexing",
        "a = torch.rand(8, 8); v = torch.rand(16)",
        ["a[0, 1]", "a[:, 1]", "a[..., None]", "a[1:5, ::2]", "v[3].item()"],
    )
    yield Case("a[0] = 1, 16", "indexing", "a[0] = 1", "a = torch.rand(16)")
    yield Case("a[1:3] = b, 16", "indexing", "a[1:3] = b", "a = torch.rand(16); b = torch.rand(2)")
    rows = (
        "a = torch.rand(100_000, 64); i = torch.randint(0, 100_000, (100_000,)); "
        "j = torch.randint(0, 64, (100_000, 64)); m = a > 0.5; z = torch.zeros(100_000, 64)"
    )
    yield from _each(
        "indexing",
        rows,
        [
            "a.index_select(0, i)",
            "a[i, 3]",
            "a.gather(1, j)",
            "z.scatter_add(1, j, a)",
            "z.index_add(0, i, a)",
            "a[m]",
            "m.nonzero()",
            "a.masked_fill(m, 0.0)",
        ],
        "100k rows of 64",
    )
    yield Case("a[i] = b, 100k rows of 64", "indexing", "a[i] = b", rows + "; b = torch.rand(64)")


def _sort():
    yield Case("a.sort(), 16", "sort", "a.sort()", "a = torch.randn(16)")
    yield from _each("sort", "a = torch.randn(1024, 1024)", ["a.sort(1)", "a.sort(0)"], "1024x1024")
    yield from _each(
        "sort",
        "a = torch.randn(1 << 20); k = torch.randint(0, 1000, (1 << 20,)); s = a.sort()[0]",
        [
            "a.argsort()",
            "a.topk(100)",
            "k.sort()",
            "k.unique()",
            "k.bincount()",
            "s.sort()",
            "torch.searchsorted(s, a)",
        ],
        "1M",
    )


def _creation():
    yield from _each(
        "creation",
        "import numpy; n = numpy.zeros(16, numpy.float32); x = list(range(16)); "
        "a = torch.rand(16); s = torch.rand(())",
        [
            "torch.zeros(16)",
            "torch.ones(4, 4)",
            "torch.full((4, 4), 7.0)",
            "torch.arange(16)",
            "torch.tensor(1.0)",
            "torch.tensor(x)",
            "torch.from_numpy(n)",
            "torch.zeros_like(a)",
            "a.new_empty(4)",
            "a.numpy()",
            "a.tolist()",
            "s.item()",
            "float(s)",
        ],
    )
    yield from _each(
        "creation",
        "pass",
        [
            "torch.zeros(1 << 20)",
            "torch.ones(1 << 20)",
            "torch.arange(1 << 20)",
            "torch.linspace(0, 1, 1 << 20)",
            "torch.eye(1024)",
        ],
    )


def _random():
    yield from _each(
        "random",
        "p = torch.rand(1 << 20); w = torch.rand(1000)",
        [
            "torch.rand(16)",
            "torch.randn(16)",
            "torch.rand(1 << 20)",
            "torch.randn(1 << 20)",
            "torch.randint(0, 100, (1 << 20,))",
            "torch.randperm(100_000)",
            "torch.bernoulli(p)",
            "torch.multinomial(w, 100)",
        ],
    )


def _gradients():
    """A call and its gradients."""
    for note, setup, call, inputs in (
        ("512x128", "a, w = leaf(512, 128), leaf(128)", "F.layer_norm(a, (128,), w, w)", "a, w"),
        ("2048x1024", "a, w = leaf(2048, 1024), leaf(1024)", "F.layer_norm(a, (1024,), w, w)",
         "a, w"),
        ("2048x1024", "a, w = leaf(2048, 1024), leaf(1024)", "F.rms_norm(a, (1024,), w)", "a, w"),
        ("1024x1024", "a = leaf(1024, 1024)", "a.softmax(-1)", "a,"),
        ("1024x1024", "a = leaf(1024, 1024)", "a.log_softmax(-1)", "a,"),
        ("4x21x64x64", "a = leaf(4, 21, 64, 64)", "a.softmax(1)", "a,"),
        ("512x256", "a, t = leaf(512, 256), torch.randint(0, 256, (512,))",
         "F.cross_entropy(a, t)", "a,"),
        ("4x16", "a, t = leaf(4, 16), torch.randint(0, 16, (4,))", "F.cross_entropy(a, t)", "a,"),
        ("512x512", "a = leaf(512, 512)", "F.gelu(a)", "a,"),
        ("512x512", "a = leaf(512, 512)", "F.gelu(a, approximate='tanh')", "a,"),
        ("16x64x28x28", "a, w = leaf(16, 64, 28, 28), leaf(64)",
         "F.batch_norm(a, None, None, w, w, True)", "a, w"),
        ("512x64", "a, w = leaf(512, 64), leaf(64)", "F.batch_norm(a, None, None, w, w, True)",
         "a, w"),
        ("16x64x28x28", "a, w = leaf(16, 64, 28, 28), leaf(64)", "F.group_norm(a, 8, w, w)",
         "a, w"),
        ("512 of 256x128", "a, t = leaf(256, 128), torch.randint(0, 256, (512,))",
         "F.embedding(t, a)", "a,"),
    ):  # fmt: skip
        yield Case(
            f"{call}, gradients, {note}",
            "gradients",
            f"torch.autograd.grad({call}, ({inputs}), g)",
            "import functools; F = torch.nn.functional; "
            "leaf = functools.partial(torch.randn, requires_grad=True); "
            f"{setup}; g = torch.ones_like({call})",
        )


CASES: list[Case] = [
    *_binary(),
    *_unary(),
    *_reduce(),
    *_matmul(),
    *_network(),
    *_gradients(),
    *_windows(),
    *_views(),
    *_indexing(),
    *_sort(),
    *_creation(),
    *_random(),
]
