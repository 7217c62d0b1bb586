"""torch_npu's functions, over torch's ops, on an NPU."""

import math

import mindtorch_v2 as torch
import pytest
from mindtorch_v2 import torch_npu

attend = torch.nn.functional.scaled_dot_product_attention


def tensors(layout, length=4, source=4, heads=2, width=3):
    """(query, key, value) in a layout, and as (batch, heads, length, width), on the CPU."""
    torch.manual_seed(0)
    plain = [torch.randn(2, heads, size, width) for size in (length, source, source)]
    change = {
        "BNSD": lambda t: t,
        "BSND": lambda t: t.transpose(1, 2),
        "BSH": lambda t: t.transpose(1, 2).flatten(2),
        "SBH": lambda t: t.transpose(1, 2).flatten(2).transpose(0, 1),
    }[layout]
    return [change(t).contiguous().npu() for t in plain], plain, change


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "SBH"])
def test_attention_in_every_layout(layout):
    given, plain, change = tensors(layout)
    found = torch_npu.npu_fusion_attention(*given, 2, layout, scale=0.5)[0]
    assert torch.allclose(found.cpu(), change(attend(*plain, scale=0.5)), atol=1e-4)


@pytest.mark.parametrize("sparse_mode", range(5))
def test_masks_of_attention(sparse_mode):
    given, plain, _ = tensors("BNSD", length=3, source=5)
    rows, columns = torch.arange(3)[:, None], torch.arange(5)
    mask = columns > rows + 3
    hidden = {
        0: mask,
        1: mask,
        2: columns > rows,
        3: columns > rows + 2,
        4: (columns > rows + 2) | (columns < rows + 1),
    }[sparse_mode]
    band = {"pre_tockens": 1, "next_tockens": 0} if sparse_mode == 4 else {}
    found = torch_npu.npu_fusion_attention(
        *given, 2, "BNSD", atten_mask=mask.npu(), sparse_mode=sparse_mode, scale=1.0, **band
    )[0]
    assert torch.allclose(found.cpu(), attend(*plain, ~hidden, scale=1.0), atol=1e-4)


def test_sequences_one_after_the_other():
    torch.manual_seed(0)
    q, k, v = (torch.randn(7, 2, 3) for _ in range(3))
    ends = (3, 7)
    found = torch_npu.npu_fusion_attention(
        q.npu(), k.npu(), v.npu(), 2, "TND", scale=1 / math.sqrt(3), sparse_mode=3,
        actual_seq_qlen=ends, actual_seq_kvlen=ends,
    )[0].cpu()  # fmt: skip
    for part in (slice(0, 3), slice(3, 7)):
        wanted = attend(*(t[part].transpose(0, 1) for t in (q, k, v)), is_causal=True)
        assert torch.allclose(found[part], wanted.transpose(0, 1), atol=1e-4)


def test_attention_refuses_what_is_not_there():
    x = torch.ones(1, 1, 1, 1).npu()
    with pytest.raises(NotImplementedError, match="prefix"):
        torch_npu.npu_fusion_attention(x, x, x, 1, "BNSD", prefix=[1])
    with pytest.raises(NotImplementedError, match="sparse_mode 7"):
        torch_npu.npu_fusion_attention(x, x, x, 1, "BNSD", sparse_mode=7)
    with pytest.raises(RuntimeError, match="input_layout 'XYZ'"):
        torch_npu.npu_fusion_attention(x, x, x, 1, "XYZ")


def test_norms_and_activations():
    torch.manual_seed(0)
    x, y, gamma = torch.randn(2, 6), torch.randn(2, 6), torch.randn(6)
    norm, reciprocal = torch_npu.npu_rms_norm(x.npu(), gamma.npu(), 1e-5)
    wanted = torch.nn.functional.rms_norm(x, (6,), gamma, 1e-5)
    assert torch.allclose(norm.cpu(), wanted, atol=1e-5) and reciprocal.shape == (2, 1)
    norm, _, total = torch_npu.npu_add_rms_norm(x.npu(), y.npu(), gamma.npu(), 1e-5)
    wanted = torch.nn.functional.rms_norm(x + y, (6,), gamma, 1e-5)
    assert torch.allclose(norm.cpu(), wanted, atol=1e-5) and torch.equal(total.cpu(), x + y)
    gate, value = x.chunk(2, -1)
    wanted = torch.nn.functional.silu(gate) * value
    assert torch.allclose(torch_npu.npu_swiglu(x.npu()).cpu(), wanted, atol=1e-6)
    assert torch.allclose(torch_npu.fast_gelu(x.npu()).cpu(), x * (1.702 * x).sigmoid(), atol=1e-6)
    mask = torch.tensor([False] * 5 + [True])
    found = torch_npu.npu_scaled_masked_softmax(x.npu(), mask.npu(), 0.5).cpu()
    assert torch.allclose(found[:, :5], torch.softmax(x[:, :5] * 0.5, -1), atol=1e-5)


def test_rotary_and_layouts():
    x = torch.arange(4.0).npu()
    cos, sin = torch.full((4,), 2.0).npu(), torch.ones(4).npu()
    assert torch_npu.npu_rotary_mul(x, cos, sin).tolist() == [-2, -1, 4, 7]
    assert torch_npu.npu_rotary_mul(x, cos, sin, "interleave").tolist() == [-1, 2, 1, 8]
    with pytest.raises(RuntimeError, match="rotary_mode"):
        torch_npu.npu_rotary_mul(x, cos, sin, "quarter")
    assert torch_npu.npu_format_cast(x, 29) is x and torch_npu.get_npu_format(x) == 2
    y = torch.arange(6).reshape(2, 3).npu()
    assert torch_npu.npu_confusion_transpose(y, (1, 0), (6,), True).tolist() == [0, 3, 1, 4, 2, 5]
    assert torch_npu.npu_confusion_transpose(y, (1, 0), (3, 2), False).shape == (2, 3)


def test_optimizers():
    weight = torch.nn.Parameter(torch.ones(2).npu())
    weight.grad = torch.ones(2).npu()
    torch_npu.optim.NpuFusedAdamW([weight], lr=0.5, weight_decay=0).step()
    assert torch.allclose(weight.detach().cpu(), torch.full((2,), 0.5), atol=1e-6)


def test_integers_are_counted():
    values = torch.tensor([0, 3, 1, 3, 2, 3], dtype=torch.int32).npu()
    assert torch.histc(values, bins=4, min=0, max=3).tolist() == [1, 1, 1, 3]
    with pytest.raises(NotImplementedError, match="histogram_cpu"):
        torch.histc(values.cpu(), bins=4, min=0, max=3)


def test_rms_norm_of_half_with_weights_of_float():
    x = torch.randn(2, 4, dtype=torch.float16)
    weight = torch.rand(4)
    y, scale = torch_npu.npu_rms_norm(x.npu(), weight.npu())
    assert (y.dtype, scale.dtype) == (torch.float16, torch.float32)
    wanted = torch.nn.functional.rms_norm(x.float(), (4,), weight, 1e-6)
    assert torch.allclose(y.cpu().float(), wanted, atol=2e-3)
    z, _, total = torch_npu.npu_add_rms_norm(x.npu(), x.npu(), weight.npu())
    assert z.dtype == total.dtype == torch.float16


def check_same(name, *args, wanted, **kwargs):
    """Compares a function on the CPU and the NPU with what it must give."""
    for device in ("cpu", "npu"):

        def move(value, device=device):
            return value.to(device) if isinstance(value, torch.Tensor) else value

        named = {key: move(value) for key, value in kwargs.items()}
        found = getattr(torch_npu, name)(*map(move, args), **named)
        assert torch.allclose(found.cpu(), wanted, atol=1e-5), (name, device)


def test_functions_that_pick_elements():
    x = torch.arange(24.0).view(2, 3, 4)
    check_same("npu_slice", x, [0, 1, 1], [2, 2, -1], wanted=x[:, 1:3, 1:])
    check_same("npu_transpose", x, (2, 0, 1), wanted=x.permute(2, 0, 1))
    check_same("npu_indexing", x, [0, 1, 0], [2, 3, 4], [1, 1, 2], wanted=x[0:2, 1:3, 0:4:2])
    check_same(
        "npu_indexing", x, [1, 0, 9], [0, 9, 2], [1, 1, 1], 4, 0, 2, 0, 1, wanted=x[1, ..., :2]
    )
    padded = torch.nn.functional.pad(x, (0, 0, 0, 2, 1, 0))
    check_same("npu_pad", x, (1, 0, 0, 2, 0, 0), wanted=padded)
    check_same("npu_broadcast", x[:, :1], (2, 3, 4), wanted=x[:, :1].expand(2, 3, 4))
    values, places = torch_npu.npu_max(x.npu(), 1)
    assert places.dtype == torch.int32 and places.tolist() == x.max(1).indices.tolist()
    assert values.tolist() == x.max(1).values.tolist()


def test_a_cache_is_written_where_each_row_ends():
    cache, new = torch.zeros(2, 2, 4, 3), torch.ones(2, 2, 1, 3)
    wanted = cache.clone()
    wanted[0, :, 1] = wanted[1, :, 3] = 1
    check_same("scatter_update", cache, torch.tensor([1, 3]), new, -2, wanted=wanted)
    on_npu = cache.npu()
    assert torch_npu.scatter_update_(on_npu, torch.tensor([1, 3]).npu(), new.npu(), -2) is on_npu
    assert torch.equal(on_npu.cpu(), wanted)


def test_feed_forward_of_experts():
    torch.manual_seed(0)
    x, first, second = torch.randn(5, 4), torch.randn(2, 4, 6), torch.randn(2, 6, 3)
    bias = torch.randn(2, 6)
    relu = torch.nn.functional.relu
    wanted = torch.cat(
        [relu(rows @ first[i] + bias[i]) @ second[i] for i, rows in enumerate(x.split([2, 3]))]
    )
    check_same("npu_ffn", x, first, second, "relu", wanted=wanted, expert_tokens=[2, 3], bias1=bias)
    gate, value = (x @ first[0]).chunk(2, -1)
    wanted = (torch.nn.functional.silu(gate) * value) @ second[0, :3]
    check_same("npu_ffn", x, first[0], second[0, :3], "swiglu", wanted=wanted)
    with pytest.raises(RuntimeError, match="activation should be one of"):
        torch_npu.npu_ffn(x, first[0], second[0], "tan")
    with pytest.raises(NotImplementedError, match="deq_scale1"):
        torch_npu.npu_ffn(x, first[0], second[0], "relu", deq_scale1=x)


def test_norms_and_losses():
    torch.manual_seed(0)
    x, y, weight, bias = torch.randn(3, 8), torch.randn(3, 8), torch.rand(8), torch.rand(8)
    norm = torch.nn.functional.layer_norm
    found = torch_npu.npu_deep_norm(x.npu(), y.npu(), bias.npu(), weight.npu(), 0.5)[2]
    wanted = norm(x * 0.5 + y, (8,), weight, bias, 1e-6)
    assert torch.allclose(found.cpu(), wanted, atol=1e-5)
    found = torch_npu.npu_add_layer_norm(x.npu(), y.npu(), weight.npu(), bias.npu())[0]
    assert torch.allclose(found.cpu(), norm(x + y, (8,), weight, bias), atol=1e-5)
    labels = y.softmax(-1)
    wanted = torch.nn.functional.cross_entropy(x, labels, reduction="none")
    check_same("npu_softmax_cross_entropy_with_logits", x, labels, wanted=wanted)
    sums, squares = torch_npu.batch_norm_reduce(x.npu().half(), 1e-5)
    assert sums.dtype == torch.float32 and torch.allclose(sums.cpu(), x.half().float().sum(0))
    assert torch.allclose(squares.cpu(), x.half().float().square().sum(0))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [((0,), "greater than zero, but got 0"), ((8, -1), "smaller than zero"), ((8, 32), "size: 16")],
)
def test_prefetch_checks_its_arguments(arguments, text):
    x = torch.ones(4).npu()
    assert torch_npu.npu_prefetch(x, None, 8, 4) is None
    with pytest.raises(RuntimeError, match=text):
        torch_npu.npu_prefetch(x, None, *arguments)
