"""The cases with a threshold: at most this many times what torch takes."""

from __future__ import annotations

from cases.case import Case, judged

# Thresholds of the whole package rather than of one statement; see package.py.
IMPORT_RATIO_AT_MOST = 0.1
WHEEL_MEGABYTES_AT_MOST = 15.0

_PAIR_16 = "a = torch.rand(16); b = torch.rand(16)"
_PAIR_1M = "a = torch.rand(1 << 20); b = torch.rand(1 << 20)"
_PAIR_16M = "a = torch.rand(1 << 24); b = torch.rand(1 << 24)"
_ONE_1M = "a = torch.randn(1 << 20)"
_ONE_16M = "a = torch.randn(1 << 24)"


def _square_pair(n: int) -> str:
    return f"a = torch.rand({n}, {n}); b = torch.rand({n}, {n})"


_GRADIENTS = "torch.autograd.grad(y, (x, w, b), g, retain_graph=True)"


def _convolution(size: int) -> str:
    return (
        f"x = torch.randn(8, 64, 56, 56, requires_grad=True); p = {size // 2}; "
        f"w = torch.randn(64, 64, {size}, {size}, requires_grad=True); "
        "b = torch.randn(64, requires_grad=True); "
        "y = torch.conv2d(x, w, b, 1, p); g = torch.ones_like(y)"
    )


def _attention(query: str, key: str) -> str:
    return (
        "attend = torch.nn.functional.scaled_dot_product_attention; "
        f"q = torch.randn({query}, requires_grad=True); "
        f"k, v = (torch.randn({key}, requires_grad=True) for _ in range(2)); "
        "g = torch.ones_like(q)"
    )


_HEADS = "1, 8, 1024, 64"
_ATTENTION = (
    ("8 heads of 64, 1024 tokens", _HEADS, _HEADS, ""),
    ("the same, causal", _HEADS, _HEADS, ", is_causal=True"),
    ("the same, 2 heads of keys", _HEADS, "1, 2, 1024, 64", ", enable_gqa=True"),
    ("8x4 heads of 32, 64 tokens, causal", "8, 4, 64, 32", "8, 4, 64, 32", ", is_causal=True"),
)

# 1M is 2^20 and 16M is 2^24, so that rows of 1024 and square matrices come out even.
CASES: list[Case] = [
    # Per call from Python: nothing but overhead.
    judged("a + b, 16", "small", "a + b", _PAIR_16, 0.4),
    judged("a.relu(), 16", "small", "a.relu()", _PAIR_16, 0.4),
    judged("a.sum(), 16", "small", "a.sum()", _PAIR_16, 0.4),
    judged("a.add_(b), 16", "small", "a.add_(b)", _PAIR_16, 0.4),
    judged("torch.empty(16)", "small", "empty(16)", "empty = torch.empty", 0.4),
    judged("a.view(4, 4)", "small", "a.view(4, 4)", _PAIR_16, 0.4),
    judged("a.t(), 4x4", "small", "a.t()", "a = torch.rand(4, 4)", 0.4),
    judged("a[0]", "small", "a[0]", _PAIR_16, 0.5),
    judged("a[1:3]", "small", "a[1:3]", _PAIR_16, 0.5),
    # In cache, or nearly.
    judged("a + b, 1M", "medium", "a + b", _PAIR_1M, 1.0, 1.0),
    judged("a.relu(), 1M", "medium", "a.relu()", _ONE_1M, 1.0, 1.0),
    judged("a.sum(), 1M", "medium", "a.sum()", _ONE_1M, 1.0, 1.0),
    judged("a.exp(), 1M", "medium", "a.exp()", _ONE_1M, 0.8, 1.0),
    judged("a.tanh(), 1M", "medium", "a.tanh()", _ONE_1M, 0.8, 1.0),
    judged("a.sigmoid(), 1M", "medium", "a.sigmoid()", _ONE_1M, 0.8, 1.0),
    judged(
        "a.softmax(-1), 1024x1024",
        "medium",
        "a.softmax(-1)",
        "a = torch.randn(1024, 1024)",
        0.8,
        1.0,
    ),
    # Memory bound: what the allocator does with 64 MiB results decides these.
    judged("a + b, 16M", "large", "a + b", _PAIR_16M, 0.4, 1.0),
    judged("a.exp(), 16M", "large", "a.exp()", _ONE_16M, 0.4, 1.0),
    judged(
        "a.softmax(-1), 16384x1024",
        "large",
        "a.softmax(-1)",
        "a = torch.randn(16384, 1024)",
        0.4,
        1.0,
    ),
    judged(
        "a.t().contiguous(), 4096x4096",
        "large",
        "a.t().contiguous()",
        "a = torch.rand(4096, 4096)",
        0.4,
        1.0,
    ),
    # One algorithm each.
    judged("a.sort(), 1M", "algorithm", "a.sort()", _ONE_1M, 0.4, 1.0),
    judged(
        "a[idx], 100k rows of 64",
        "algorithm",
        "a[idx]",
        "a = torch.rand(100_000, 64); idx = torch.randint(0, 100_000, (100_000,))",
        0.8,
        1.0,
    ),
    judged("a @ b, 64", "algorithm", "a @ b", _square_pair(64), 1.0),
    judged("a @ b, 512", "algorithm", "a @ b", _square_pair(512), 1.05, 1.0),
    judged("a @ b, 2048", "algorithm", "a @ b", _square_pair(2048), 1.05, 1.0),
    *(
        judged(f"{name} of {what}", "algorithm", stmt, _convolution(size), 1.05, 1.05)
        for what, size in (("3x3, 8x64x56x56", 3), ("1x1, 8x64x56x56", 1))
        for name, stmt in (("conv2d", "torch.conv2d(x, w, b, 1, p)"), ("gradients", _GRADIENTS))
    ),
    *(
        judged(f"{name}, {what}", "algorithm", stmt, _attention(query, key), 1.0, 1.0)
        for what, query, key, options in _ATTENTION
        for name, stmt in (
            ("attention", f"attend(q, k, v{options})"),
            (
                "attention and gradients",
                f"torch.autograd.grad(attend(q, k, v{options}), (q, k, v), g)",
            ),
        )
    ),
]
