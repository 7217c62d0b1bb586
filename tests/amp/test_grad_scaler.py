"""torch.amp.GradScaler against torch's: forged infinities, growth, mistakes, saving."""

import math
import pickle

import mindtorch_v2
import pytest


def run(torch, forged, **options):
    """Scales and weights after each step; `forged` are the gradients' own values."""
    torch.manual_seed(0)
    weight = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.5, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, **options)
    found = []
    for value in forged:
        optimizer.zero_grad()
        scaler.scale((weight * torch.tensor([1.0, value, 2.0])).sum()).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_([weight], 1.5)
        scaler.step(optimizer)
        scaler.update()
        found.append((scaler.get_scale(), scaler._get_growth_tracker(), weight.tolist()))
    return found


FORGED = [
    [1.0, math.inf, 1.0, 1.0, 1.0, math.nan, -math.inf, 2.0],
    [1.0] * 7,
    [math.inf] * 5,
]


@pytest.mark.parametrize("forged", FORGED, ids=["mixed", "finite", "infinite"])
@pytest.mark.parametrize("options", [{}, {"growth_interval": 2, "growth_factor": 4.0}])
def test_like_torch(torch_gives, forged, options):
    expected = torch_gives(run, forged, **options)
    for got, want in zip(run(mindtorch_v2, forged, **options), expected, strict=True):
        assert got[:2] == want[:2]
        assert got[2] == pytest.approx(want[2])


def test_skips_and_grows(torch):
    found = run(torch, FORGED[0], growth_interval=2)
    assert [scale for scale, *_ in found] == [8, 4, 4, 8, 8, 4, 2, 2]
    weights = [weight for *_, weight in found]
    assert weights[1] == weights[0] and weights[5] == weights[4]


def test_a_scale_never_becomes_infinite(torch):
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, growth_interval=1)
    weight = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler.scale(weight * 0).sum().backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 2.0**127


def test_several_optimizers_and_outputs(torch):
    a, b = (torch.ones(1, requires_grad=True) for _ in range(2))
    first, second = (torch.optim.SGD([p], lr=1.0) for p in (a, b))
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    scaled = scaler.scale([a.sum(), (b * math.inf).sum()])
    assert isinstance(scaled, list) and scaled[0].item() == 4.0
    for each in scaled:
        each.backward()
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    assert (a.item(), b.item(), scaler.get_scale()) == (0.0, 1.0, 2.0)


def test_disabled(torch):
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    weight = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    loss = weight.sum()
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert (weight.item(), scaler.get_scale(), scaler.state_dict()) == (0.0, 1.0, {})


def test_saving(torch):
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=5)
    weight = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled"):
        pickle.dumps(scaler)
    scaler.step(optimizer)
    scaler.update()
    state = scaler.state_dict()
    assert state == {
        "scale": 4.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 5,
        "_growth_tracker": 1,
    }
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(state)
    assert other.state_dict() == state
    assert pickle.loads(pickle.dumps(scaler)).state_dict() == state


MISTAKES = [
    "s.update()",
    "s.step(o)",
    "s.unscale_(o)",
    "s.scale(w.sum()); s.unscale_(o); s.unscale_(o)",
    "s.scale(w.sum()); s.step(o); s.step(o)",
    "s.scale(w.sum()); s.step(o); s.unscale_(o)",
    "s.scale(w.sum()); s.step(o, closure=lambda: 1)",
    "s.scale(w.sum()); s.update(torch.ones(2))",
    "s.scale(w.sum()); s.update()",
    "s.load_state_dict({})",
    "s.scale(w.sum()); w.grad = None; s.step(o)",
    "torch.amp.GradScaler('cpu', growth_factor=1.0)",
    "torch.amp.GradScaler('cpu', backoff_factor=1.0)",
]


def mistake_of(torch, text):
    weight = torch.ones(2, requires_grad=True)
    weight.grad = torch.ones(2)
    names = {"torch": torch, "w": weight, "o": torch.optim.SGD([weight], lr=1.0)}
    with pytest.raises(Exception) as raised:
        exec(text, {**names, "s": torch.amp.GradScaler("cpu")})
    return raised.type, str(raised.value)


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_like_torch(torch_gives, text):
    assert mistake_of(mindtorch_v2, text) == torch_gives(mistake_of, text)


# --- the ops it is made of ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("place", [None, (0, 0), (1, 40_000), (2, 69)])
@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_check_and_unscale(dtype, place, value):
    dtype = getattr(mindtorch_v2, dtype)
    grads = [mindtorch_v2.full((n,), 4.0, dtype=dtype) for n in (5, 70_000, 70, 0)]
    grads.append(mindtorch_v2.full((3, 4), 4.0, dtype=dtype).t())
    if place is not None:
        grads[place[0]][place[1]] = value
    found = mindtorch_v2.zeros(())
    mindtorch_v2._amp_foreach_non_finite_check_and_unscale_(
        grads, found, mindtorch_v2.tensor([0.25])
    )
    assert found.item() == (place is not None)
    for number, grad in enumerate(grads):
        wrong = (grad != 1).sum().item()
        assert wrong == (place is not None and place[0] == number)


def test_check_and_unscale_keeps_what_was_found():
    found = mindtorch_v2.ones(1)
    mindtorch_v2._amp_foreach_non_finite_check_and_unscale_(
        [mindtorch_v2.ones(2)], found, mindtorch_v2.tensor(2.0)
    )
    assert found.tolist() == [1]
    # What becomes infinite by the factor was finite.
    grads, found = (
        [mindtorch_v2.tensor([3e38]), mindtorch_v2.ones(2, dtype=mindtorch_v2.float64)],
        mindtorch_v2.zeros(1),
    )
    mindtorch_v2._amp_foreach_non_finite_check_and_unscale_(grads, found, mindtorch_v2.tensor(10.0))
    assert grads[0].tolist() == [float("inf")]
    assert grads[1].tolist() == [10, 10]
    assert found.tolist() == [0]


def test_mistakes_of_check_and_unscale():
    check = mindtorch_v2._amp_foreach_non_finite_check_and_unscale_
    one = mindtorch_v2.ones(1)
    with pytest.raises(RuntimeError, match="found_inf must be a 1-element tensor."):
        check([one], mindtorch_v2.ones(2), one)
    with pytest.raises(RuntimeError, match="inv_scale must be a float tensor."):
        check([one], one, one.double())
    with pytest.raises(NotImplementedError, match="not implemented for"):
        check([one.int()], one, one)


def test_update_scale():
    scale, tracker = mindtorch_v2.tensor(8.0), mindtorch_v2.tensor(0, dtype=mindtorch_v2.int32)
    seen = []
    for found in (0.0, 0.0, 0.0, 1.0, 0.0):
        result = mindtorch_v2._amp_update_scale_(
            scale, tracker, mindtorch_v2.tensor(found), 2.0, 0.5, 2
        )
        assert result is scale
        seen.append((scale.item(), tracker.item()))
    assert seen == [(8, 1), (16, 0), (16, 1), (8, 0), (8, 1)]
    scale = mindtorch_v2.tensor([3e38])
    mindtorch_v2._amp_update_scale_(scale, tracker, mindtorch_v2.tensor(0.0), 2.0, 0.5, 2)
    assert (scale.item() > 2e38, tracker.item()) == (True, 0)
    with pytest.raises(RuntimeError, match="growth_tracker must be an int tensor."):
        mindtorch_v2._amp_update_scale_(
            scale, tracker.long(), mindtorch_v2.tensor(0.0), 2.0, 0.5, 2
        )
