"""Optimizers and schedules against torch's: numbers, states, state dicts, reprs."""

import copy
import warnings

import mindtorch_v2
import numpy
import pytest

from tests.nn.compare import assert_same
from tests.optim import cases


def make(torch, text):
    """(module, optimizer) with the same numbers in either library."""
    torch.manual_seed(0)
    with torch.device("cpu"):
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.PReLU(), torch.nn.Linear(4, 2))
    model.to(torch.get_default_device())
    p = list(model.parameters())
    names = {"p": p, "model": model, "torch": torch}
    optimizer = eval(f"torch.optim.{text}", names)
    return model, optimizer


def give_grads(torch, model, step, skip=None):
    rng = numpy.random.default_rng(step)
    for i, p in enumerate(model.parameters()):
        values = rng.standard_normal(tuple(p.shape)).astype("float32").tolist()
        p.grad = None if i == skip else torch.tensor(values)


def states(optimizer):
    packed = optimizer.state_dict()
    return {key: list(value) for key, value in packed["state"].items()}, packed["state"]


def run(torch, text):
    model, optimizer = make(torch, text)
    result = {"repr": repr(optimizer), "parameters": []}
    for step in range(6):
        give_grads(torch, model, step, skip=3 if step == 0 else None)
        optimizer.step()
        result["parameters"].append([p.detach().clone() for p in model.parameters()])
    result["keys"], result["state"] = states(optimizer)
    groups = copy.deepcopy(optimizer.state_dict()["param_groups"])
    on = f", device='{next(model.parameters()).device}'"  # of a rate, on another than the CPU
    result["groups"] = [{k: str(v).replace(on, "") for k, v in group.items()} for group in groups]
    # What a state dict takes over goes on as the original does.
    fresh_model, fresh = make(torch, text)
    fresh_model.load_state_dict(model.state_dict())
    fresh.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    give_grads(torch, fresh_model, 7)
    fresh.step()
    result["resumed"] = [p.detach() for p in fresh_model.parameters()]
    return result


@pytest.mark.parametrize("text", cases.OPTIMIZERS)
def test_optimizer(torch_gives, text):
    ours, theirs = run(mindtorch_v2, text), torch_gives(run, text)
    assert ours["repr"] == theirs["repr"]
    assert ours["groups"] == theirs["groups"]
    assert ours["keys"] == theirs["keys"]
    rtol, atol = (2e-2, 2e-3) if "Muon" in text else (2e-5, 1e-6)
    assert_same(ours["parameters"], theirs["parameters"], rtol, atol)
    assert_same(ours["state"], theirs["state"], rtol, atol)
    assert_same(ours["resumed"], theirs["resumed"], rtol, atol)


def rates(torch, text):
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 2)
    p = list(model.parameters())
    o = torch.optim.SGD([{"params": [p[0]], "lr": 0.4}, {"params": [p[1]]}], lr=0.2, momentum=0.9)
    schedule = eval(text, {"S": torch.optim.lr_scheduler, "o": o, "torch": torch})
    seen = []
    for step in range(12):
        seen.append((list(schedule.get_last_lr()), [g["lr"] for g in o.param_groups]))
        seen.append([g["momentum"] for g in o.param_groups])
        o.step()
        if step == 6:  # a state dict goes on as the original does
            state = copy.deepcopy(schedule.state_dict())
            schedule.load_state_dict(state)
        schedule.step()
    return seen, sorted(schedule.state_dict())


@pytest.mark.parametrize("text", cases.SCHEDULES)
def test_schedule(torch_gives, text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = rates(mindtorch_v2, text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = torch_gives(rates, text)
    for mine, other in zip(ours[0], theirs[0], strict=True):
        numpy.testing.assert_allclose(
            numpy.asarray(mine, dtype=float), numpy.asarray(other, dtype=float), rtol=1e-12
        )
    assert ours[1] == theirs[1]


@pytest.mark.parametrize("options", ["", ", mode='max'", ", threshold_mode='abs', cooldown=2"])
def test_plateau(torch_gives, options):
    def follow(torch):
        o = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau
        schedule = eval(f"f(o, patience=1{options}, min_lr=0.001)", {"f": schedule, "o": o})
        seen = []
        for value in (5.0, 4.0, 4.0, 4.1, 4.2, 3.0, 3.0, 3.5, 3.4, 3.3, 3.2, 3.1, 3.0, 2.0):
            schedule.step(value)
            seen.append((schedule.get_last_lr()[0], schedule.num_bad_epochs))
        return seen, schedule.state_dict()

    ours, theirs = follow(mindtorch_v2), torch_gives(follow)
    assert ours == theirs


@pytest.mark.parametrize("options", ["", ", line_search_fn='strong_wolfe'", ", history_size=2"])
def test_lbfgs(torch_gives, options):
    def minimize(torch):
        x = torch.nn.Parameter(torch.tensor([-1.2, 1.0, 0.5], dtype=torch.float64))
        o = eval(f"LBFGS([x], lr=0.05{options})", {"LBFGS": torch.optim.LBFGS, "x": x})
        if "wolfe" in options:
            o.param_groups[0]["lr"] = 1
        calls = []

        def closure():  # Rosenbrock's function and its gradient, by hand
            a, b, c = x.detach().tolist()
            calls.append(None)
            grad = [
                -400 * a * (b - a * a) - 2 * (1 - a),
                200 * (b - a * a) - 400 * b * (c - b * b) - 2 * (1 - b),
                200 * (c - b * b),
            ]
            x.grad = torch.tensor(grad, dtype=torch.float64)
            value = 100 * (b - a * a) ** 2 + (1 - a) ** 2
            value += 100 * (c - b * b) ** 2 + (1 - b) ** 2
            return torch.tensor(value, dtype=torch.float64)

        path = []
        for _ in range(3):
            loss = o.step(closure)
            path.append([float(loss), *x.detach().tolist(), len(calls)])
        return path, sorted(o.state_dict()["state"][0])

    ours, theirs = minimize(mindtorch_v2), torch_gives(minimize)
    # Rounding grows along the valley.
    numpy.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5)
    assert ours[1] == theirs[1]


def test_averaged_model(torch_gives):
    kinds = ["", ", multi_avg_fn=u.get_ema_multi_avg_fn(0.9)", ", avg_fn=u.get_ema_avg_fn(0.9)",
             ", avg_fn=u.get_swa_avg_fn()", ", use_buffers=True"]  # fmt: skip

    def follow(torch):
        u = torch.optim.swa_utils
        result = []
        for kind in kinds:
            torch.manual_seed(0)
            with torch.device("cpu"):
                model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
            model.to(torch.get_default_device())
            average = eval(f"u.AveragedModel(model{kind})", {"u": u, "model": model})
            for step in range(3):
                give_grads(torch, model, step)
                with torch.no_grad():
                    for p in model.parameters():
                        p.add_(p.grad)
                    model(torch.tensor([[1.0, step], [2.0, 3.0]]))
                average.update_parameters(model)
            u.update_bn([torch.tensor([[1.0, 2.0], [0.0, 4.0]])], average)
            result.append(dict(average.state_dict()))
        return result

    ours, theirs = follow(mindtorch_v2), torch_gives(follow)
    for mine, other in zip(ours, theirs, strict=True):
        assert list(mine) == list(other)
        assert_same(mine, other)
