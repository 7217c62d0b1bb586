"""Functions of torch.nn.functional that are ops: a profile names them, autocast casts losses."""

import mindtorch_v2 as torch
import pytest

F = torch.nn.functional
X = torch.tensor([[0.25, 0.5], [0.75, 0.125]])
Y = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
SIGN = torch.tensor([1.0, -1.0])

CALLS = {
    "mse_loss": lambda x: F.mse_loss(x, Y.to(x.dtype)),
    "l1_loss": lambda x: F.l1_loss(x, Y.to(x.dtype)),
    "smooth_l1_loss": lambda x: F.smooth_l1_loss(x, Y.to(x.dtype)),
    "huber_loss": lambda x: F.huber_loss(x, Y.to(x.dtype), delta=0.5),
    "poisson_nll_loss": lambda x: F.poisson_nll_loss(x, Y.to(x.dtype)),
    "kl_div": lambda x: F.kl_div(x, Y.to(x.dtype), reduction="batchmean"),
    "hinge_embedding_loss": lambda x: F.hinge_embedding_loss(x, SIGN),
    "margin_ranking_loss": lambda x: F.margin_ranking_loss(x[0], x[1], SIGN.to(x.dtype)),
    "cosine_embedding_loss": lambda x: F.cosine_embedding_loss(x, x, SIGN),
    "triplet_margin_loss": lambda x: F.triplet_margin_loss(x, x + 1, x),
    "soft_margin_loss": lambda x: F.soft_margin_loss(x, Y.to(x.dtype)),
    "binary_cross_entropy": lambda x: F.binary_cross_entropy(x, Y.to(x.dtype)),
    "binary_cross_entropy_with_logits": lambda x: F.binary_cross_entropy_with_logits(
        x, Y.to(x.dtype)
    ),
    "multi_margin_loss": lambda x: F.multi_margin_loss(x, torch.tensor([1, 0])),
    "multilabel_margin_loss": lambda x: F.multilabel_margin_loss(x, Y.long()),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x + 1),
    "pairwise_distance": lambda x: F.pairwise_distance(x, x + 1),
    "pdist": lambda x: F.pdist(x),
    "glu": lambda x: F.glu(x),
    "bilinear": lambda x: F.bilinear(x, x, x[None]),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x.view(4, 1, 1), 2),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x[None], 2),
    "channel_shuffle": lambda x: F.channel_shuffle(x.view(1, 4, 1), 2),
    "alpha_dropout": lambda x: F.alpha_dropout(x, 0.5, True),
    "feature_alpha_dropout": lambda x: F.feature_alpha_dropout(x, 0.5, True),
    "feature_dropout": lambda x: F.dropout2d(x[None, None], 0.5),
}
LOSSES = [name for name in CALLS if name.endswith("loss") or name.startswith(("binary", "kl"))]
RANDOM = {"alpha_dropout", "feature_alpha_dropout", "feature_dropout"}
NO_GRADCHECK = {"bilinear", "multilabel_margin_loss", *RANDOM}


@pytest.mark.parametrize("name", CALLS)
def test_a_profile_names_it(name):
    with torch.profiler.profile() as profile:
        CALLS[name](X)
    assert f"aten::{name}" in {event.key for event in profile.key_averages()}


@pytest.mark.parametrize("name", LOSSES)
def test_autocast_computes_it_in_float32(name):
    half = X.bfloat16()
    with torch.autocast("cpu"):
        result = CALLS[name](half)
    assert result.dtype == torch.float32
    torch.testing.assert_close(result, CALLS[name](half.float()))


@pytest.mark.parametrize("name", sorted(CALLS.keys() - NO_GRADCHECK))
def test_gradients(name):
    x = (X.double() * 0.9).requires_grad_()
    if name in ("hinge_embedding_loss", "cosine_embedding_loss", "triplet_margin_loss"):
        x = x.detach() + torch.tensor([[0.01, 0.02], [0.03, 0.04]], dtype=x.dtype)
        x.requires_grad_()
    calls = {**CALLS, "margin_ranking_loss": lambda x: F.margin_ranking_loss(x[0], x[1], SIGN)}
    assert torch.autograd.gradcheck(calls[name], x)


def test_a_certain_mistake_costs_100_and_has_a_gradient():
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    loss = F.binary_cross_entropy(x, torch.tensor([1.0, 0.0]), reduction="sum")
    loss.backward()
    assert loss.item() == 200
    assert x.grad.isfinite().all()


def test_a_factor_whose_square_is_no_number():
    x = torch.ones(1, 4, 2, 2)
    for factor in (2**32, 2**33):
        with pytest.raises(ValueError, match=f"overflowed: upscale_factor={factor}"):
            F.pixel_shuffle(x, factor)
        with pytest.raises(ValueError, match=f"overflowed: downscale_factor={factor}"):
            F.pixel_unshuffle(x, factor)


def test_bilinear_of_numbers():
    one = torch.ones(())
    with pytest.raises(IndexError, match="Dimension specified as -1 but tensor has no dimensions"):
        F.bilinear(one, one, torch.ones(1, 1, 1))
