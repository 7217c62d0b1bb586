"""Losses, distances and settings at their edges: torch's values, dtypes and errors."""

import math
import warnings

import pytest

WEIGHTED = ("huber_loss", "mse_loss", "l1_loss")
SCORES = ("f(2, 3)", "i(2, 3)", "f(3)", "f()", "f(0)", "f(2, 0)", "f(2, 2, 3)", "f(2, 3) > 0")
SIGNS = ("s(2, 3)", "s(3)", "f(2, 3)", "s(2, 3).int()", "s(2)", "i(0)")

CASES = {
    "weighted losses": [
        *(f"F.{n}(f(2, 3), f(2, 3) * 2, weight=f(2, 3), reduction={r!r})"
          for n in WEIGHTED for r in ("mean", "sum", "none", "bad")),
        *(f"F.{n}({arguments})" for n in WEIGHTED for arguments in (
            "f(2, 3), f(2, 3), weight=f(3)", "f(2, 3), f(1, 3), weight=f(2, 3)",
            "f(3), f(2, 3), weight=f(3)", "f(3), f(2, 3), weight=f(2, 3)",
            "i(3), i(3) + 1, weight=f(3)", "f(3), f(3), weight=i(3)",
            "f(2, 3), f(4), weight=f(2, 3)", "f(0), f(0), weight=f(0)",
            "f(2, 3), f(4)", "f(3).double(), f(3), weight=f(3)")),
    ],
    "unknown reductions": [
        f"torch.ops.aten.{call}".replace("R", str(r)) for r in (0, 1, 2, 3, -1) for call in (
            "l1_loss(f(3), f(3) * 2, R)", "huber_loss(f(3), f(3) * 2, R)",
            "kl_div(f(3), f(3) + 2, R)", "hinge_embedding_loss(f(3), s(3), 1.0, R)",
            "multilabel_margin_loss(f(2, 3), i(2, 3), R)",
            "multi_margin_loss(f(2, 3), i(2), 1, 1, None, R)",
            "margin_ranking_loss(f(3), f(3) * 2, f(3), 0.0, R)",
            "poisson_nll_loss(f(3), f(3) + 2, True, False, 1e-8, R)",
            "nll_loss(f(2, 3), i(2), None, R, -100)",
            "cross_entropy_loss(f(2, 3), i(2), None, R, -100, 0.0)",
            "cross_entropy_loss(f(2, 3), f(2, 3), None, R, -100, 0.0)")
    ],
    "bilinear": [
        f"F.bilinear({arguments})" for arguments in (
            "f(2, 3), f(3, 4), f(5, 3, 4)", "f(0, 3), f(0, 4), f(5, 3, 4)",
            "f(2, 0), f(2, 4), f(5, 0, 4)", "f(2, 3), f(2, 0), f(5, 3, 0)",
            "f(2, 3), f(2, 4), f(0, 3, 4)", "i(2, 3), i(2, 4), i(5, 3, 4)",
            "i(2, 3), f(2, 4), f(5, 3, 4)", "f(2, 3), f(2, 4), i(5, 3, 4)",
            "f(3), f(4), f(5, 3, 4)", "f(), f(), f(5, 3, 4)",
            "f(2, 2, 3), f(2, 1, 4), f(5, 3, 4)", "f(1, 3), f(2, 4), f(5, 3, 4)",
            "f(2, 3), f(2, 4), f(5, 3)", "f(2, 3), f(2, 4), f(3, 4)",
            "f(2, 3), f(2, 4), f(5, 3, 4), f(4)", "f(2, 3), f(2, 4), f(5, 3, 4), f(1)",
            "f(2, 3), f(2, 4), f(5, 3, 4), f()", "f(2, 3), f(2, 4), f(5, 3, 4), i(5)",
            "f(2, 3).half(), f(2, 4).bfloat16(), f(5, 3, 4).int()",
            "f(2, 3), f(2, 3, 4), f(5, 3, 4)", "f(2, 2), f(2, 4), f(5, 3, 4)",
            "f(2, 3), f(2, 3), f(5, 3, 4)", "f(2, 3), f(2, 4), f(2, 5, 3, 4)")
    ],
    "scores of classes": [
        f"F.{n}({scores}, {target})" for n in ("multi_margin_loss", "multilabel_margin_loss")
        for scores in SCORES for target in ("i(2)", "i()", "i(1)", "f(2)", "i(2, 3)", "i(3)")
    ] + [
        f"F.multi_margin_loss(f(2, 3), i(2), {options})" for options in (
            "weight=f(2)", "weight=f(3).double()", "weight=f(3, 1)", "weight=f(0)", "weight=i(3)",
            "weight=f(3)", "p=3", "p=2.0", "reduction='none'")
    ],
    "signs": [
        call for scores in ("f(2, 3)", "i(2, 3)", "f(3)", "f()", "f(0)", "f(2, 3) > 0")
        for sign in SIGNS for call in (
            f"F.hinge_embedding_loss({scores}, {sign})",
            f"F.hinge_embedding_loss({scores}, {sign}, reduction='none')",
            f"F.soft_margin_loss({scores}, {sign})",
            f"F.margin_ranking_loss({scores}, {scores}, {sign})")
    ],
    "cosines": [
        f"F.cosine_similarity({arguments})" for arguments in (
            "f(2, 3), i(2, 3)", "i(2, 3), f(2, 3)", "f(2, 3), f(2, 3).double()",
            "f(2, 3).half(), f(2, 3)", "f(2, 3).half(), i(2, 3)", "i(2, 3), i(2, 3)",
            "f(2, 3).to(torch.complex64), f(2, 3)", "f(2, 3) > 0, f(2, 3) > 0", "f(2, 3), f()",
            "f(2, 3), f(4)", "f(2, 3), f(2, 3), dim=5", "f(0, 3), i(0, 3)")
    ],
    "divergences": [
        f"F.kl_div({arguments})" for arguments in (
            "f(3).to(torch.complex64), f(3)", "f(3), f(3).to(torch.complex64)", "i(3), f(3)",
            "f(3), i(3)", "f(3) > 0, f(3).to(torch.complex64)", "f(3), f(3) + 2", "f(3), f(4)",
            "f(3), f(3).double() + 2, log_target=True")
    ],
    "pixels": [
        f"F.pixel_unshuffle({shape}, {factor})" for factor in (2, 1, 3, 0, -1) for shape in (
            "f(0)", "f(0, 4, 4)", "f(1, 0, 4, 4)", "f(1, 4, 0, 4)", "f(0, 1, 4, 4)", "f(4, 0, 0)")
    ],
}  # fmt: skip


def evaluated(torch, text):
    def f(*sizes):
        return (torch.arange(math.prod(sizes)).reshape(sizes) * 0.7 - 1.3).float()

    def i(*sizes):
        return (torch.arange(math.prod(sizes)) % 2).reshape(sizes)

    names = {"torch": torch, "F": torch.nn.functional, "f": f, "i": i}
    names["s"] = lambda *sizes: i(*sizes) * 2 - 1
    try:
        found = eval(text, names)
        return [str(found.dtype), list(found.shape), found.double().flatten().tolist()]
    except Exception as error:
        return [type(error).__name__, str(error)]


def outcomes(torch, texts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {text: evaluated(torch, text) for text in texts}


@pytest.mark.parametrize("name", CASES)
def test_like_torch(torch, torch_gives, name):
    theirs = torch_gives(outcomes, CASES[name])
    for text, ours in outcomes(torch, CASES[name]).items():
        *about, numbers = theirs[text]
        if isinstance(numbers, list):
            numbers = pytest.approx(numbers, rel=2e-3, abs=1e-5, nan_ok=True)
        assert ours == [*about, numbers], text


# Torch fails in an assertion of its own, or reads what is not there.
@pytest.mark.parametrize("loss", ["mse_loss", "smooth_l1_loss", "soft_margin_loss"])
def test_losses_that_know_their_reductions(torch, loss):
    x = torch.ones(3)
    for number in (-1, 3):
        with pytest.raises(RuntimeError, match=f"^{loss}: reduction must be 0 .*got {number}$"):
            getattr(torch.ops.aten, loss)(x, x, number)


OUT_OF_RANGE = {
    "multi_margin_loss": [([1, 3], "target out of range"), ([1, -1], "target out of range")],
    "multilabel_margin_loss": [
        ([[1, 3, 0], [0, 1, 2]], "argument #2 'target' is out of range"),
        ([[1, -2, 0], [0, 1, 2]], "argument #2 'target' is out of range"),
    ],
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_margin_losses_refuse(torch, name):
    loss = getattr(torch.nn.functional, name)
    x = torch.arange(6.0, device="cpu").view(2, 3)
    for target, text in OUT_OF_RANGE[name]:
        with pytest.raises(RuntimeError, match=f"^{text}$"):
            loss(x, torch.tensor(target, device="cpu"))
    fine = torch.tensor([1, 2] if name == "multi_margin_loss" else [[1, -1, 0], [0, 1, 2]])
    for dtype in (torch.float16, torch.bfloat16):
        with pytest.raises(NotImplementedError, match=f"{name}.* not implemented for '(Half|BFl)"):
            loss(x.to(dtype), fine.cpu())
    assert torch.func.vmap(loss)(x[None], fine.cpu()[None]).item() == loss(x, fine.cpu()).item()


def test_one_hot_refuses(torch):
    one_hot = torch.nn.functional.one_hot
    index = torch.tensor([0, 2])
    for arguments, text in [
        ((index.float(), 3), "only applicable to index tensor of type LongTensor"),
        ((index - 1, 3), "Class values must be non-negative"),
        ((index, 2), "Class values must be smaller than num_classes"),
        ((index, 0), "num_classes should be positive"),
        ((index[:0],), "Can not infer total number of classes from empty tensor"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            one_hot(*arguments)
    assert one_hot(index[:0], 3).shape == (0, 3) and one_hot(index).shape == (2, 3)
    assert torch.ops.aten.one_hot(index, 4).tolist() == [[1, 0, 0, 0], [0, 0, 1, 0]]


def test_random_slopes_in_place(torch):
    aten = torch.ops.aten
    x = torch.tensor([[-2.0, 3.0], [1.0, -4.0]])
    noise, other = torch.zeros(2, 2), torch.zeros(2, 2)
    torch.manual_seed(0)
    wanted = aten.rrelu_with_noise(x, other, 0.1, 0.3, True)
    torch.manual_seed(0)
    y = x.clone()
    assert aten.rrelu_with_noise_(y, noise, 0.1, 0.3, True) is y
    assert torch.equal(y, wanted) and torch.equal(noise, other)
    leaf = x.clone().requires_grad_()
    torch.manual_seed(0)
    aten.rrelu_with_noise_(leaf * 1, noise, 0.1, 0.3, True).sum().backward()
    assert torch.equal(leaf.grad, other)
    assert aten.rrelu_with_noise_(x.clone(), noise, 0.1, 0.3).tolist() == (
        torch.nn.functional.leaky_relu(x, 0.2).tolist()
    )
    with pytest.raises(RuntimeError, match="noise tensor shape must match"):
        aten.rrelu_with_noise_(x.clone(), noise[0], 0.1, 0.3)
