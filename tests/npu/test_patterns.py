"""Patterns of recorded calls run as CANN's fused ops: which, how many, and with the same values.

The table is in mindtorch/backends/ascend/patterns/table.cpp; each of its lines names a test of this
file.
"""

import math
import pathlib

import pytest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "pipeline.md"
DTYPES = ["float16", "bfloat16", "float32"]
TOLERANCE = {"float16": 4e-3, "bfloat16": 4e-2, "float32": 2e-6}


@pytest.fixture
def fused(torch, simulator):
    """Runs a program in eager mode and in a pipeline, where results have the same values, dtypes
    and layouts; the names of the ops that the pipeline launched."""

    def of(program, *arguments):
        with torch.no_grad():
            expected = program(*arguments)
            with torch.pipeline() as pipe:
                got = program(*arguments)
                torch.npu.synchronize()
                simulator.clear_calls()
                got = None
                got = program(*arguments)
                pipe.flush()
                calls = [call.function for call in simulator.calls() if call.kind == "call"]
        expected, got = ([x] if not isinstance(x, (tuple, list)) else x for x in (expected, got))
        for ours, theirs in zip(got, expected, strict=True):
            assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
            assert ours.stride() == theirs.stride()
            limit = TOLERANCE[str(theirs.dtype).removeprefix("torch.")]
            scale = max(
                1.0, theirs.float().nan_to_num().abs().max().item() if theirs.numel() else 1
            )
            torch.testing.assert_close(
                ours.float().cpu(),
                theirs.float().cpu(),
                rtol=limit,
                atol=limit * scale,
                equal_nan=True,
            )
        return [
            name.removeprefix("aclnn")
            for name in calls
            if name.startswith("aclnn") and not name.endswith("GetWorkspaceSize")
        ]

    return of


def make(torch, dtype, *sizes, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(sizes))
    return torch.randn(*sizes, generator=generator).to(getattr(torch, dtype)).npu()


def rms_norm(torch, x, weight, eps=1e-6):
    """As transformers' Llama writes it."""
    dtype = x.dtype
    x = x.to(torch.float32)
    variance = x.pow(2).mean(-1, keepdim=True)
    x = x * torch.rsqrt(variance + eps)
    return weight * x.to(dtype)


def rotate_half(torch, x):
    first, second = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-second, first), dim=-1)


def rotary(torch, x, cos, sin):
    return (x * cos) + (rotate_half(torch, x) * sin)


# --- norms ---


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [(16,), (3, 32), (2, 5, 24)])
def test_rms_norm(torch, fused, dtype, sizes):
    x, weight = make(torch, dtype, *sizes), make(torch, dtype, sizes[-1], seed=1)
    assert fused(lambda: rms_norm(torch, x, weight)) == ["RmsNorm"]
    if len(sizes) == 2:
        turned = make(torch, dtype, sizes[1], sizes[0]).t()
        assert fused(lambda: rms_norm(torch, turned, weight)) == ["RmsNorm"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rms_norm_of_t5(torch, fused, dtype):
    x, weight = make(torch, dtype, 3, 32), make(torch, dtype, 32, seed=1)

    def norm():
        variance = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
        return weight * (x * torch.rsqrt(variance + 1e-5)).to(x.dtype)

    assert fused(norm) == ["RmsNorm"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_gemma_rms_norm(torch, fused, dtype):
    x, weight = make(torch, dtype, 2, 3, 32), make(torch, dtype, 32, seed=1)

    def norm():
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        return (y * (1.0 + weight.float())).type_as(x)

    assert fused(norm) == ["GemmaRmsNorm"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_add_rms_norm(torch, fused, dtype):
    a, b, weight = (make(torch, dtype, *s) for s in ((2, 5, 32), (2, 5, 32), (32,)))

    def layer():
        total = a + b
        return rms_norm(torch, total, weight), total

    assert fused(layer) == ["AddRmsNorm"]
    assert fused(lambda: rms_norm(torch, a + b, weight)) == ["AddRmsNorm"]
    assert fused(lambda: rms_norm(torch, a + b[:1], weight))[-1:] == ["RmsNorm"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_add_rms_norm_op(torch, fused, dtype):
    a, b, weight = (make(torch, dtype, *s) for s in ((2, 5, 32), (2, 5, 32), (32,)))
    norm = torch.nn.functional.rms_norm
    assert fused(lambda: norm(a + b, (32,), weight, 1e-6)) == ["AddRmsNorm"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_add_layer_norm(torch, fused, dtype):
    a, b = make(torch, dtype, 2, 5, 32), make(torch, dtype, 2, 5, 32, seed=1)
    weight, bias = make(torch, dtype, 32), make(torch, dtype, 32, seed=3)

    def layer():
        total = a + b
        return torch.nn.functional.layer_norm(total, (32,), weight, bias), total

    assert fused(layer) == ["AddLayerNorm"]
    norm = torch.nn.functional.layer_norm
    assert fused(lambda: norm(a + b, (32,))) == ["Add", "LayerNorm"]
    assert fused(lambda: norm(a + b, (5, 32))) == ["Add", "LayerNorm"]


NEAR_MISSES = {
    "eps behind the root": lambda t, x, w: (
        w * (x / (x.pow(2).mean(-1, keepdim=True).sqrt() + 1e-6))
    ),
    "another dim": lambda t, x, w: w * (x * t.rsqrt(x.pow(2).mean(0, keepdim=True) + 1e-6)),
    "a cube": lambda t, x, w: w * (x * t.rsqrt(x.pow(3).abs().mean(-1, keepdim=True) + 1e-6)),
    "another tensor": lambda t, x, w: (
        w * (x * t.rsqrt((x + 1).pow(2).mean(-1, keepdim=True) + 1e-6))
    ),
    "a sum": lambda t, x, w: w * (x * t.rsqrt(x.pow(2).sum(-1, keepdim=True) + 1e-6)),
    "alpha": lambda t, x, w: (
        w * (x * t.rsqrt(t.add(x.pow(2).mean(-1, keepdim=True), 1e-6, alpha=2)))
    ),
    "a weight for each element": lambda t, x, w: (
        w.expand(5, 32).contiguous() * (x * t.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
    ),
    "a weight of another dtype": lambda t, x, w: (
        w.half() * (x * t.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
    ),
    "float16 squares": lambda t, x, w: (
        w.half() * (x.half() * t.rsqrt(x.half().pow(2).mean(-1, keepdim=True) + 1e-3))
    ),
    "a tensor eps": lambda t, x, w: w * (x * t.rsqrt(x.pow(2).mean(-1, keepdim=True) + w[0].abs())),
    "an empty tensor": lambda t, x, w: (
        w * (x[:0] * t.rsqrt(x[:0].pow(2).mean(-1, keepdim=True) + 1e-6))
    ),
}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_near_misses_run_in_parts(torch, fused, name):
    x, w = make(torch, "float32", 5, 32), make(torch, "float32", 32, seed=1)
    assert "RmsNorm" not in fused(lambda: NEAR_MISSES[name](torch, x, w))


def test_values_that_others_see_are_written(torch, fused):
    x, w = make(torch, "float32", 5, 32), make(torch, "float32", 32, seed=1)

    def kept_outside():
        variance = x.pow(2).mean(-1, keepdim=True)
        return w * (x * torch.rsqrt(variance + 1e-6)), variance

    def used_inside():
        scaled = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return w * scaled + scaled.relu()

    def a_view_outside():
        scaled = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return w * scaled, scaled[1:]

    for program in (kept_outside, used_inside, a_view_outside):
        assert "RmsNorm" not in fused(program)


def test_operands_that_change_in_between(torch, fused):
    def program():
        x, w = make(torch, "float32", 5, 32), make(torch, "float32", 32, seed=1)
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        x.add_(1)
        return w * (x * scale), x

    assert "RmsNorm" not in fused(program)

    def behind():
        x, w = make(torch, "float32", 5, 32), make(torch, "float32", 32, seed=1)
        y = w * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
        x.add_(1)
        y.mul_(2)
        return y, x

    assert "RmsNorm" in fused(behind)


def test_a_sum_that_is_read_before_the_norm(torch, fused):
    a, b, w = (make(torch, "float32", *s) for s in ((5, 32), (5, 32), (32,)))

    def program():
        total = a + b
        other = total.exp()
        return rms_norm(torch, total, w), other

    assert "AddRmsNorm" not in fused(program)


def test_gradients_need_the_parts(torch, called):
    x = make(torch, "float32", 5, 32).requires_grad_()
    w = make(torch, "float32", 32, seed=1).requires_grad_()

    def step(pipe):
        rms_norm(torch, x, w).sum().backward()

    rms_norm(torch, x, w).sum().backward()
    expected = x.grad.clone(), w.grad.clone()
    x.grad = w.grad = None

    def run():
        with torch.pipeline() as pipe:
            step(pipe)

    assert "aclnnRmsNorm" not in called(run)
    torch.testing.assert_close(x.grad, expected[0])
    torch.testing.assert_close(w.grad, expected[1])


def test_numbers_are_part_of_the_match(torch, fused):
    """A plan that was made for one eps does not serve another; after a few it takes them all."""
    x, w = make(torch, "float32", 5, 32), make(torch, "float32", 32, seed=1)
    for eps in (1e-6, 1.0, 1e-6, 4.0):
        assert fused(lambda eps=eps: rms_norm(torch, x, w, eps)) == ["RmsNorm"]
    for i in range(24):
        names = fused(lambda i=i: rms_norm(torch, x, w, 2.0 + i))
    assert names[-1] == "Mul"


def test_repeated_traces_are_matched_once(torch):
    x, w = make(torch, "float16", 5, 32), make(torch, "float16", 32, seed=1)
    made = []
    for _ in range(6):
        with torch.pipeline() as pipe:
            y = rms_norm(torch, x, w)
            pipe.flush()
            made.append(pipe._plans_made())
            del y
    assert made[-1] == made[0]


# --- rotary embedding ---


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [1, 2])
def test_rotary(torch, fused, dtype, batch):
    length, heads, size = 6, 3, 16
    cos, sin = (make(torch, dtype, batch, 1, length, size, seed=i) for i in (1, 2))
    q = make(torch, dtype, batch, length, heads * size).view(batch, length, heads, size)
    for x in (q.transpose(1, 2), q.transpose(1, 2).contiguous()):
        assert fused(lambda x=x: rotary(torch, x, cos, sin)) == ["RotaryPositionEmbedding"]
        assert fused(lambda x=x: sin * rotate_half(torch, x) + cos * x) == [
            "RotaryPositionEmbedding"
        ]
    flat = cos.squeeze(1).unsqueeze(2), sin.squeeze(1).unsqueeze(2)
    assert fused(lambda: rotary(torch, q, *flat)) == ["RotaryPositionEmbedding"]


def test_what_is_no_rotary_embedding(torch, fused):
    x = make(torch, "float32", 1, 3, 6, 16)
    other = make(torch, "float32", 1, 3, 6, 16, seed=9)
    cos, sin = (make(torch, "float32", 1, 1, 6, 16, seed=i) for i in (1, 2))
    programs = [
        lambda: x * cos + rotate_half(torch, other) * sin,
        lambda: x * cos + torch.cat((x[..., 8:], -x[..., :8]), -1) * sin,
        lambda: x * cos + torch.cat((-x[..., :8], x[..., 8:]), -1) * sin,
        lambda: x * cos + torch.cat((-x[..., 6:], x[..., :6]), -1) * sin,
        lambda: x * cos - rotate_half(torch, x) * sin,
        lambda: rotary(torch, x[0], cos[0], sin[0]),
        lambda: rotary(torch, x, cos[..., :1], sin[..., :1]),
        lambda: rotary(torch, x, cos.expand(1, 3, 6, 16), sin),
        lambda: rotary(torch, x, cos.half(), sin.half()),
    ]
    for program in programs:
        assert "RotaryPositionEmbedding" not in fused(program)


# --- attention ---


def written_attention(torch, q, k, v, scale, mask=None, divides=False):
    scores = torch.matmul(q, k.transpose(2, 3))
    scores = scores / (1 / scale) if divides else scores * scale
    if mask is not None:
        scores = scores + mask
    weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.matmul(weights, v)


def repeat(x, times):
    batch, heads, length, size = x.shape
    return x[:, :, None].expand(batch, heads, times, length, size).reshape(batch, -1, length, size)


FUSED_ATTENTION = {"PromptFlashAttentionV3", "IncreFlashAttention", "FlashAttentionScoreV2"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("queries", [1, 5])
@pytest.mark.parametrize("is_masked", [False, True])
def test_written_attention(torch, fused, dtype, batch, queries, is_masked):
    q = make(torch, dtype, batch, queries, 4, 16).transpose(1, 2)
    k, v = (make(torch, dtype, batch, 2, 7, 16, seed=i) for i in (1, 2))
    mask = make(torch, dtype, batch, 1, queries, 7) if is_masked else None
    expected = (
        "FlashAttentionScoreV2"
        if is_masked or dtype == "float32"
        else ("IncreFlashAttention" if queries == 1 else "PromptFlashAttentionV3")
    )
    for divides in (False, True):

        def heads(divides=divides):
            return written_attention(torch, q, repeat(k, 2), repeat(v, 2), 0.25, mask, divides)

        assert fused(heads) == [expected]
        assert fused(lambda heads=heads: heads().transpose(1, 2).contiguous()) == [expected]
        whole = make(torch, dtype, batch, 4, 7, 16, seed=5)
        assert fused(
            lambda whole=whole, divides=divides: written_attention(
                torch, q, whole, whole, 0.25, mask, divides
            )
        ) == [expected]


def test_attention_that_runs_in_parts(torch, fused):
    q, k, v = (make(torch, "float16", 1, 4, 5, 16, seed=i) for i in range(3))
    odd = [make(torch, "float16", 1, 4, 5, 10, seed=i) for i in range(3)]
    attend = torch.nn.functional.scaled_dot_product_attention

    def keeps_weights():
        weights = torch.softmax(torch.matmul(q, k.transpose(2, 3)) * 0.25, dim=-1)
        return torch.matmul(weights, v), weights

    def other_dim():
        weights = torch.softmax(torch.matmul(q, k.transpose(2, 3)) * 0.25, dim=-2)
        return torch.matmul(weights, v)

    programs = [
        keeps_weights,
        other_dim,
        lambda: written_attention(torch, *odd, 0.25),
        lambda: written_attention(torch, q, k, v[..., :8], 0.25),
        lambda: attend(*odd),
    ]
    for program in programs:
        assert not FUSED_ATTENTION & set(fused(program))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("queries", [1, 6])
def test_attention(torch, fused, dtype, queries):
    q = make(torch, dtype, 2, queries, 4, 16).transpose(1, 2)
    k, v = (make(torch, dtype, 2, 2, 6, 16, seed=i) for i in (1, 2))
    attend = torch.nn.functional.scaled_dot_product_attention
    expected = "IncreFlashAttention" if queries == 1 else "PromptFlashAttentionV3"
    assert fused(lambda: attend(q, k, v, enable_gqa=True)) == [expected]
    seen = torch.ones(queries, 6, dtype=torch.bool).tril(6 - queries).npu()
    names = ["LogicalNot", expected]
    assert fused(lambda: attend(q, k, v, seen[None, None], enable_gqa=True)) == names
    if queries > 1:
        assert fused(lambda: attend(q, k, v, is_causal=True, enable_gqa=True)) == [expected]
    shift = make(torch, dtype, 2, 1, queries, 6)
    assert fused(lambda: attend(q, k, v, shift, enable_gqa=True)) == ["FlashAttentionScoreV2"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("queries", [1, 6])
def test_attention_of_repeated_keys(torch, fused, dtype, queries):
    q = make(torch, dtype, 2, queries, 4, 16).transpose(1, 2)
    k, v = (make(torch, dtype, 2, 2, 6, 16, seed=i) for i in (1, 2))
    seen = torch.ones(1, 1, queries, 6, dtype=torch.bool).tril(6 - queries).npu()
    attend = torch.nn.functional.scaled_dot_product_attention
    names = fused(lambda: attend(q, repeat(k, 2), repeat(v, 2), seen))
    assert names[0] == "LogicalNot" and len(names) == 2 and names[1] in FUSED_ATTENTION


def test_gradients_of_attention_need_its_statistics(torch, called):
    q = make(torch, "float16", 1, 2, 6, 16).requires_grad_()

    def run():
        with torch.pipeline():
            torch.nn.functional.scaled_dot_product_attention(q, q, q).float().sum().backward()

    names = called(run)
    assert "aclnnFlashAttentionScore" in names and "aclnnPromptFlashAttentionV3" not in names


# --- products, gates, softmax, loss ---


@pytest.mark.parametrize("dtype", DTYPES)
def test_swiglu_of_products(torch, fused, dtype):
    x = make(torch, dtype, 2, 3, 16)
    gate, up = (make(torch, dtype, 24, 16, seed=i) for i in (1, 2))
    linear, silu = torch.nn.functional.linear, torch.nn.functional.silu
    names = ["Mm", "Mm", "SwiGlu"]
    assert fused(lambda: silu(linear(x, gate)) * linear(x, up)) == names
    assert fused(lambda: linear(x, up) * silu(linear(x, gate))) == names
    assert "SwiGlu" not in fused(lambda: silu(linear(x, gate)) * linear(x + 1, up))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("gate", ["silu", "gelu", "gelu_tanh"])
def test_gates(torch, fused, dtype, gate):
    functional = torch.nn.functional
    act = {
        "silu": functional.silu,
        "gelu": functional.gelu,
        "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    }[gate]
    x = make(torch, dtype, 2, 3, 32)
    name = "SwiGlu" if gate == "silu" else "GeGluV3"

    def halves(whole, swaps=False):
        a, b = whole.chunk(2, dim=-1)
        return b * act(a) if not swaps else act(b) * a

    assert fused(lambda: halves(x)) == [name]
    assert name not in fused(lambda: halves(x, swaps=True))
    assert name not in fused(lambda: act(x[..., :8]) * x[..., 16:24])
    assert name not in fused(lambda: act(x[..., :16]) * make(torch, dtype, 2, 3, 16))


@pytest.mark.parametrize("dtype", DTYPES)
def test_product_and_sum(torch, fused, dtype):
    x, w = make(torch, dtype, 2, 3, 16), make(torch, dtype, 16, 8, seed=1)
    bias, more = make(torch, dtype, 8), make(torch, dtype, 2, 3, 8)
    assert fused(lambda: x @ w + bias) == ["Addmm"]
    assert fused(lambda: more + x @ w) == ["Addmm"]
    assert fused(lambda: x[0] @ w + more[0]) == ["Addmm"]
    assert fused(lambda: x @ w + 1) == ["Mm", "Adds"]
    assert fused(lambda: x @ w + more[:1]) == ["Mm", "Add"]
    batch = make(torch, dtype, 2, 16, 8)
    assert fused(lambda: torch.bmm(x, batch) + more) == ["Baddbmm"]
    assert fused(lambda: torch.bmm(x, batch) + bias) == ["BatchMatMul", "Add"]
    assert fused(lambda: torch.add(x @ w, more, alpha=2))[0] == "Mm"


@pytest.mark.parametrize("dtype", DTYPES)
def test_softmax_with_mask(torch, fused, dtype):
    name = "MaskedSoftmaxWithRelPosBias"
    x = make(torch, dtype, 2, 3, 4, 8)
    hidden = torch.full((4, 8), -math.inf).triu(5).to(x.dtype).npu()
    for mask in (hidden, hidden[None, None], make(torch, dtype, 3, 4, 8)):
        assert fused(lambda mask=mask: torch.softmax(x + mask, -1)) == [name]
        assert fused(lambda mask=mask: torch.softmax(mask + x * 0.5, -1)) == [name]
    nothing = torch.full((4, 8), -math.inf).to(x.dtype).npu()
    assert fused(lambda: torch.softmax(x + nothing, -1)) == [name]  # NaN, as in parts
    assert name not in fused(lambda: torch.softmax(x + hidden, -2))
    assert name not in fused(lambda: torch.softmax(x + make(torch, dtype, 2, 1, 4, 8), -1))
    assert name not in fused(lambda: torch.softmax(x.transpose(2, 3) + hidden.t(), -1))
    assert name not in fused(lambda: torch.softmax(x + 1.0, -1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_cross_entropy(torch, fused, dtype):
    x = make(torch, dtype, 6, 9)
    target = torch.tensor([1, 0, 8, 3, -100, 2]).npu()
    loss = torch.nn.functional.cross_entropy
    for reduction in ("none", "mean", "sum"):
        assert fused(lambda r=reduction: loss(x, target, reduction=r)) == ["CrossEntropyLoss"]
    if dtype == "float32":
        weight = make(torch, dtype, 9).abs()
        assert fused(lambda: loss(x, target, weight)) == ["CrossEntropyLoss"]
    grad = x.clone().requires_grad_()
    with torch.pipeline():
        total = loss(grad, target)
        total.backward()
    expected = x.clone().requires_grad_()
    loss(expected, target).backward()
    torch.testing.assert_close(grad.grad, expected.grad)


def test_adamw_is_one_op_for_each_parameter(torch, simulator):
    params = [torch.nn.Parameter(make(torch, "float32", 4, 4, seed=i)) for i in range(3)]
    optimizer = torch.optim.AdamW(params)
    for _ in range(2):
        with torch.pipeline() as pipe:
            for param in params:
                param.grad = torch.ones_like(param)
            pipe.flush()
            optimizer.step()
            simulator.clear_calls()
            pipe.flush()
            calls = [call.function for call in simulator.calls() if call.kind == "call"]
    steps = [name for name in calls if name.startswith("aclnn") and "Workspace" not in name]
    assert steps.count("aclnnApplyAdamWV2") == 3 and len(steps) <= 5


# --- the table ---


def test_each_line_of_the_table_has_its_proof_and_its_line_in_the_documentation(torch):
    documented = DOCS.read_text()
    for name, _, calls, proof in torch._C._npu_call_patterns():
        assert proof in globals(), proof
        assert f"| `{name}` | {', '.join(f'`{call}`' for call in calls.split())} |" in documented


@pytest.mark.parametrize("dtype", DTYPES)
def test_strided_and_broadcast_operands(torch, fused, dtype):
    """Whatever layout operands have, results are those of the parts."""
    x = make(torch, dtype, 4, 6, 32)
    w = make(torch, dtype, 64, seed=1)[::2]
    matrix, bias = make(torch, dtype, 32, 8), make(torch, dtype, 8)
    for each in (x, x.transpose(0, 1), x[:, ::2], x[:1].expand(4, 6, 32)):
        fused(lambda each=each: rms_norm(torch, each, w))
        fused(lambda each=each: rms_norm(torch, each + each, w))
        fused(lambda each=each: torch.nn.functional.silu(each[..., :16]) * each[..., 16:])
        fused(lambda each=each: each @ matrix + bias)
        fused(lambda each=each: torch.softmax(each * 0.5 + each[0], -1))
