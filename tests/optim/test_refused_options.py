"""Options of optimizers that torch refuses."""

import mindtorch_v2 as torch
import pytest

NAMES = (
    *("Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax"),
    *("NAdam", "RAdam", "ASGD", "Rprop"),
)


def step(name, **options):
    parameter = torch.ones(2, requires_grad=True)
    optimizer = getattr(torch.optim, name)([parameter], **{"lr": 0.1, **options})
    parameter.grad = torch.ones(2)
    optimizer.step()
    return parameter


@pytest.mark.parametrize("name", sorted({*NAMES} - {"Adagrad"}))
@pytest.mark.parametrize("foreach", [None, False, True])
def test_capturable_needs_an_accelerator(name, foreach):
    with pytest.raises(AssertionError, match="If capturable=True, params and state_steps must be"):
        step(name, capturable=True, foreach=foreach)


@pytest.mark.parametrize("name", NAMES)
def test_foreach_makes_no_graph(name):
    with pytest.raises(AssertionError, match="_foreach ops don't support autograd"):
        step(name, foreach=True, differentiable=True)


@pytest.mark.parametrize("name", [*NAMES, "SGD"])
def test_a_rate_is_one_number(name):
    with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
        step(name, lr=torch.tensor([0.1, 0.2]))
    step(name, lr=torch.tensor(0.1))


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_a_rate_that_is_a_tensor_is_not_for_lists(name):
    with pytest.raises(ValueError, match="not supported for capturable=False and foreach=True"):
        step(name, lr=torch.tensor(0.1), foreach=True)
