"""torch.nn.attention.flex_attention against plain attention with a mask or bias."""

import importlib
import math

import mindtorch_v2 as torch
import pytest
from mindtorch_v2.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)

from tests.nn.compare import assert_same

attend = torch.nn.functional.scaled_dot_product_attention


def causal(b, h, q, k):
    return q >= k


def inputs(heads=2, keys=2, length=5, source=5, dtype=torch.float64):
    torch.manual_seed(0)
    q = torch.randn(3, heads, length, 4, dtype=dtype, requires_grad=True)
    k, v = (torch.randn(3, keys, source, 4, dtype=dtype, requires_grad=True) for _ in range(2))
    return q, k, v


def test_without_changes_it_is_attention():
    q, k, v = inputs(source=7)
    assert torch.allclose(flex_attention(q, k, v), attend(q, k, v))
    assert torch.allclose(flex_attention(q, k, v, scale=2.0), attend(q, k, v, scale=2.0))


def test_scores_that_a_function_changes():
    q, k, v = inputs()
    slopes, table = torch.tensor([0.5, 0.25], dtype=torch.float64), torch.randn(5, 5)

    def score_mod(score, b, h, q_idx, kv_idx):
        biased = score + slopes[h] * (kv_idx - q_idx) + table[q_idx, kv_idx].double()
        return torch.where(q_idx >= kv_idx, biased, -float("inf"))

    places = torch.arange(5)
    bias = slopes[:, None, None] * (places[None, :] - places[:, None]) + table.double()
    bias = bias.masked_fill(places[:, None] < places[None, :], -math.inf)
    found = flex_attention(q, k, v, score_mod)
    wanted = attend(q, k, v, bias.expand(3, 2, 5, 5))
    assert torch.allclose(found, wanted)
    weights = torch.randn_like(found)
    for mine, theirs in zip(
        torch.autograd.grad((found * weights).sum(), (q, k, v)),
        torch.autograd.grad((wanted * weights).sum(), (q, k, v)),
        strict=True,
    ):
        assert torch.allclose(mine, theirs)


@pytest.mark.parametrize("block", [2, (2, 4), 128])
def test_block_masks(block):
    q, k, v = inputs()
    mask = create_block_mask(causal, 1, 1, 5, 5, BLOCK_SIZE=block)
    assert torch.allclose(flex_attention(q, k, v, block_mask=mask), attend(q, k, v, is_causal=True))
    documents = torch.tensor([0, 0, 1, 1, 1])
    same = and_masks(causal, lambda b, h, q, k: documents[q] == documents[k])
    dense = create_mask(same, 3, 2, 5, 5)
    assert dense.dtype == torch.bool and dense.shape == (3, 2, 5, 5)
    found = flex_attention(q, k, v, block_mask=create_block_mask(same, None, None, 5, 5))
    assert torch.allclose(found, attend(q, k, v, dense))
    assert create_mask(or_masks(causal, noop_mask), 1, 1, 2, 2).all()


def test_rows_without_scores_are_zero():
    q, k, v = inputs()
    none = create_block_mask(lambda b, h, q, k: (q > 0) & (k >= 0), None, None, 5, 5)
    found, lse = flex_attention(q, k, v, block_mask=none, return_lse=True)
    assert (found[:, :, 0] == 0).all() and (lse[:, :, 0] == -math.inf).all()
    assert torch.allclose(found[:, :, 1:], attend(q, k, v)[:, :, 1:])
    _, aux = flex_attention(q, k, v, return_aux=AuxRequest(lse=True, max_scores=True))
    scores = q @ k.transpose(-2, -1) / 2
    assert torch.allclose(aux.lse, scores.logsumexp(-1))
    assert torch.allclose(aux.max_scores, scores.amax(-1))


def test_grouped_heads():
    q, k, v = inputs(heads=4, keys=2)
    wanted = attend(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1))
    assert torch.allclose(flex_attention(q, k, v, enable_gqa=True), wanted)
    with pytest.raises(ValueError, match="enable_gqa=True"):
        flex_attention(q, k, v)
    with pytest.raises(ValueError, match="multiple of kv heads"):
        flex_attention(q[:, :3], k, v, enable_gqa=True)
    with pytest.raises(ValueError, match="to be a 4D tensor"):
        flex_attention(q[0], k, v)
    with pytest.raises(ValueError, match="the same dtype"):
        flex_attention(q, k.float(), v)


def test_half_precision_sums_in_float32():
    q, k, v = (t.detach() for t in inputs(dtype=torch.bfloat16))
    found = flex_attention(q, k, v)
    assert found.dtype == torch.bfloat16
    assert torch.allclose(found.float(), attend(q.float(), k.float(), v.float()), atol=3e-2)


def test_what_a_block_mask_lists():
    mask = create_block_mask(causal, 1, 1, 300, 300)
    assert mask.shape == (1, 1, 300, 300) and mask.numel() == 90000
    assert mask.kv_num_blocks.tolist() == [[[1, 1, 3]]]
    assert mask.kv_indices.tolist() == [[[[0, 1, 2], [1, 0, 2], [0, 1, 2]]]]
    assert mask.full_kv_num_blocks.tolist() == [[[0, 1, 0]]]
    assert mask.q_num_blocks.tolist() == [[[2, 2, 1]]]
    assert mask.q_indices.tolist() == [[[[0, 2, 1], [1, 2, 0], [2, 0, 1]]]]
    assert mask.full_q_indices.tolist() == [[[[1, 0, 2], [0, 1, 2], [0, 1, 2]]]]
    assert mask.to_dense().tolist() == [[[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]]
    assert mask.sparsity() == pytest.approx(-9.2266667)
    assert "sparsity=-9.23%" in repr(mask) and "mask_mod=causal" in repr(mask)
    assert mask.to("cpu").kv_indices.device.type == "cpu"
    assert mask[0].shape == (1, 300, 300)
    again = BlockMask.from_kv_blocks(
        mask.kv_num_blocks, mask.kv_indices, mask.full_kv_num_blocks, mask.full_kv_indices
    )
    assert again.shape == (1, 1, 384, 384) and torch.equal(again.to_dense(), mask.to_dense())


@pytest.mark.parametrize("separate", [True, False])
@pytest.mark.parametrize("block", [16, (8, 32)])
def test_block_masks_are_torchs(torch, torch_gives, block, separate):
    def mask_mod(b, h, q, k):
        return (q >= k) & (q - k < 20 + 10 * h)

    def made(library):
        module = importlib.import_module(f"{library.__name__}.nn.attention.flex_attention")
        settings = {"BLOCK_SIZE": block, "separate_full_blocks": separate}
        mask = module.create_block_mask(mask_mod, 2, 3, 50, 70, device="cpu", **settings)
        tensors = [getattr(mask, name) for name in BlockMask._TENSORS]
        return [x if x is None else x.cpu().numpy() for x in tensors], mask.sparsity()

    (ours, sparsity), (theirs, expected) = made(torch), torch_gives(made)
    assert [x is None for x in ours] == [x is None for x in theirs]
    assert_same(ours, theirs, rtol=0, atol=0)
    assert sparsity == pytest.approx(expected)
