"""Steps of optimizers and ops over lists on NPUs: CANN's ops, as few launches as it has."""

import pytest

from tests.npu.test_windows import launches
from tests.optim.test_foreach import CALLS, STEPS, call, take_step


def network(torch):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)).npu()
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    return list(model.parameters())


STEPS_OF = [
    ("SGD(p)", ["aclnnForeachAddListV2"]),
    (
        "SGD(p, momentum=0.9)",
        ["aclnnForeachMulScalarV2", "aclnnForeachAddListV2", "aclnnForeachAddListV2"],
    ),
    # The count of steps is the host's: it goes over once.
    ("AdamW(p)", ["aclnnInplaceFillScalar", *["aclnnApplyAdamWV2"] * 4]),
    ("AdamW(p, fused=True)", ["aclnnForeachAddScalarV2", *["aclnnApplyAdamWV2"] * 4]),
    (
        "Adam(p, weight_decay=0.1)",
        ["aclnnForeachAddListV2", "aclnnInplaceFillScalar", *["aclnnApplyAdamWV2"] * 4],
    ),
    (
        "Adagrad(p)",
        [
            "aclnnForeachAddcmulScalarV2",
            "aclnnForeachSqrt",
            "aclnnForeachAddScalarV2",
            "aclnnForeachAddcdivScalarV2",
        ],
    ),
]


@pytest.mark.parametrize(("text", "expected"), STEPS_OF)
def test_launches_of_a_step(torch, called, text, expected):
    optimizer = eval(f"torch.optim.{text}", {"torch": torch, "p": network(torch)})
    optimizer.step()
    assert launches(called(optimizer.step)) == expected


def test_launches_of_clipping(torch, called):
    """One for all norms, a few for the total and the factor, one for all gradients."""
    p = network(torch)
    names = launches(called(lambda: torch.nn.utils.clip_grad_norm_(p, 1.0)))
    assert names.count("aclnnForeachNorm") == names.count("aclnnForeachMulScalar") == 1
    assert len(names) <= 8


# Not those of doubles, of nothing, or with numbers that must be the host's.
ON_DEVICE = [text for text in CALLS if not any(w in text for w in ("double", "empty", "tensor("))]


@pytest.mark.parametrize("text", ON_DEVICE)
def test_lists(torch, text):
    with torch.device("npu"):
        ours = call(torch, text)[1]
    for got, want in zip(ours, call(torch, text)[1], strict=True):
        torch.testing.assert_close(got.cpu(), want, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("text", [text for text in STEPS if "torch.tensor" not in text])
def test_steps(torch, text):
    ours = take_step(torch, text, torch.float32, "plain", "npu")
    expected = take_step(torch, text, torch.float32, "plain")
    for got, want in zip(ours, expected, strict=True):
        for x, y in zip(got, want, strict=True):
            torch.testing.assert_close(x.cpu(), y, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("text", ["Adam(p)", "AdamW(p, amsgrad=True)", "Adam(p, capturable=True)"])
def test_adam_steps_float64(torch, text):
    """CANN's step takes no float64: it is made of ops, as torch's is where nothing is fused."""
    weights = [torch.ones(4, dtype=torch.float64, device=place) for place in ("cpu", "npu")]
    for weight in weights:
        weight.requires_grad_()
        here = text if weight.is_npu else text.replace("capturable=True", "")
        optimizer = eval(here, {"p": [weight], **vars(torch.optim)})
        for _ in range(3):
            optimizer.zero_grad()
            (weight**3).sum().backward()
            optimizer.step()
    torch.testing.assert_close(weights[1].cpu(), weights[0], rtol=1e-12, atol=1e-12)
