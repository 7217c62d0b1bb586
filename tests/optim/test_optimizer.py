"""torch.optim: groups, hooks, state dicts, mistakes, and steps by hand."""

import copy
import importlib
import pickle
import warnings

import mindtorch_v2
import pytest

from tests.nn.scenario import Scenarios, error

scenario = Scenarios()


def parameter(torch, *values, grad=None):
    p = torch.nn.Parameter(torch.tensor(list(values)))
    p.grad = None if grad is None else torch.tensor(grad)
    return p


@scenario([
    ("TypeError", "params argument given to the optimizer should be an iterable of Tensors or "
     "dicts, but got torch.FloatTensor"),
    ("ValueError", "optimizer got an empty parameter list"),
    ("TypeError", "optimizer can only optimize Tensors, but one of the params is int"),
    ("ValueError", "Invalid learning rate: -1"),
    ("ValueError", "Invalid momentum value: -1"),
    ("ValueError", "Nesterov momentum requires a momentum and zero dampening"),
    ("ValueError", "Invalid beta parameter at index 1: 1.0"),
    ("ValueError", "Invalid epsilon value: -1"),
    ("ValueError", "Invalid weight_decay value: -1"),
    ("ValueError", "Invalid rho value: 2"),
    ("ValueError", "some parameters appear in more than one parameter group"),
    ("TypeError", "param_group must be a dict, but got <class 'list'>"),
    ("TypeError", "optimizer parameters need to be organized in ordered collections, but the "
     "ordering of tensors in sets will change between runs. Please use a list instead."),
    ("ValueError", "loaded state dict has a different number of parameter groups"),
    ("ValueError", "loaded state dict contains a parameter group that doesn't match the size of "
     "optimizer's group"),
    ("ValueError", "LBFGS doesn't support per-parameter options (parameter groups)"),
    ("RuntimeError", "`fused` and `foreach` cannot be `True` together."),
    ("RuntimeError", "`fused` does not support `differentiable`"),
])  # fmt: skip
def mistakes(torch):
    optim, p, q = torch.optim, parameter(torch, 1.0), parameter(torch, 1.0)
    sgd = optim.SGD([p], lr=0.1)
    two = optim.SGD([{"params": [p]}, {"params": [q]}], lr=0.1)
    both = optim.SGD([p, q], lr=0.1)
    return [
        error(optim.SGD, torch.ones(1), lr=0.1),
        error(optim.SGD, [], lr=0.1),
        error(optim.SGD, [3], lr=0.1),
        error(optim.SGD, [p], lr=-1),
        error(optim.SGD, [p], lr=1, momentum=-1),
        error(optim.SGD, [p], lr=1, nesterov=True),
        error(optim.Adam, [p], betas=(0.9, 1.0)),
        error(optim.Adam, [p], eps=-1),
        error(optim.RMSprop, [p], weight_decay=-1),
        error(optim.Adadelta, [p], rho=2),
        error(sgd.add_param_group, {"params": [p]}),
        error(sgd.add_param_group, [p]),
        error(sgd.add_param_group, {"params": {q}}),
        error(sgd.load_state_dict, two.state_dict()),
        error(sgd.load_state_dict, both.state_dict()),
        error(optim.LBFGS, [{"params": [p]}, {"params": [q]}]),
        error(optim.Adam, [p], foreach=True, fused=True),
        error(optim.SGD, [p], differentiable=True, fused=True),
    ]


@scenario([
    "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: None\n"
    "    fused: None\n    lr: 0.1\n    maximize: False\n    momentum: 0\n    nesterov: False\n"
    "    weight_decay: 0\n)",
    [0.1, 0.5], [[0], [1, 2]], [["a"], ["b", "c"]],
    {"momentum_buffer"},
])  # fmt: skip
def groups(torch):
    a, b, c = (parameter(torch, 1.0, grad=[1.0]) for _ in range(3))
    sgd = torch.optim.SGD([a], lr=0.1)
    named = torch.optim.SGD([("a", a)], lr=0.1, momentum=0.9)
    named.add_param_group({"params": [("b", b), ("c", c)], "lr": 0.5})
    named.step()
    state = named.state_dict()
    return [
        repr(sgd),
        [g["lr"] for g in state["param_groups"]],
        [g["params"] for g in state["param_groups"]],
        [g["param_names"] for g in state["param_groups"]],
        set(state["state"][0]),
    ]


@scenario([
    ["global pre", "pre", "step", "post", "global post"],
    ["state pre", "state post", "load pre", "load post"], 7,
    ["step"],
])  # fmt: skip
def hooks(torch):
    log = []

    class Own(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 1.0})

        def step(self, closure=None):
            log.append("step")
            return 7

    def note(name):
        return lambda *args: log.append(name)

    module = importlib.import_module(f"{torch.__name__}.optim.optimizer")
    optimizer = Own([parameter(torch, 1.0)])
    handles = [
        module.register_optimizer_step_pre_hook(note("global pre")),
        module.register_optimizer_step_post_hook(note("global post")),
        optimizer.register_step_pre_hook(note("pre")),
        optimizer.register_step_post_hook(note("post")),
    ]
    result = optimizer.step()
    steps = list(log)
    for handle in handles:
        handle.remove()
    log.clear()
    optimizer.register_state_dict_pre_hook(note("state pre"))
    optimizer.register_state_dict_post_hook(note("state post"))
    optimizer.register_load_state_dict_pre_hook(note("load pre"))
    optimizer.register_load_state_dict_post_hook(note("load post"))
    optimizer.load_state_dict(optimizer.state_dict())
    states = list(log)
    log.clear()
    optimizer.step()
    return [steps, states, result, log]


@scenario([
    [[0.9, 1.8], [0.71, 1.42]],
    [[0.9, 1.9], [0.8, 1.8]],
    [[1.1, 2.2]],
    [5.0, 4.0],
    [None, [0.0, 0.0]],
    "torch.float32",
])  # fmt: skip
def steps_by_hand(torch):
    def run(make, count):
        p = parameter(torch, 1.0, 2.0)
        optimizer, seen = make([p]), []
        for _ in range(count):
            p.grad = torch.tensor([1.0, 2.0])
            optimizer.step()
            seen.append([round(v, 4) for v in p.tolist()])
        return seen

    optim = torch.optim
    p = parameter(torch, 5.0, grad=[1.0])
    optimizer, losses = optim.SGD([p], lr=1.0), []

    def closure():
        losses.append(p.detach().clone())
        return losses[-1]

    returned = optimizer.step(closure)
    q = parameter(torch, 1.0, 2.0, grad=[1.0, 1.0])
    dropping = optim.SGD([q], lr=1.0)
    dropping.zero_grad()
    dropped = q.grad
    q.grad = torch.ones(2)
    dropping.zero_grad(set_to_none=False)
    half = parameter(torch, 1.0, grad=[1.0])
    adam = optim.Adam([half])
    adam.step()
    return [
        run(lambda p: optim.SGD(p, lr=0.1, momentum=0.9), 2),
        run(lambda p: optim.Adam(p, lr=0.1), 2),
        run(lambda p: optim.SGD(p, lr=0.1, maximize=True), 1),
        [returned.item(), p.item()],
        [dropped, q.grad.tolist()],
        str(adam.state[half]["step"].dtype),
    ]


@scenario([True, [True, 2.0], [0.05, 1], True])
def copies(torch):
    p = parameter(torch, 1.0, grad=[1.0])
    adam = torch.optim.Adam([p], lr=0.1)
    adam.step()
    adam.step()
    other = copy.deepcopy(adam)
    again = pickle.loads(pickle.dumps(adam))
    schedule = torch.optim.lr_scheduler.StepLR(adam, 1, 0.5)
    adam.step()
    schedule.step()
    return [
        other.param_groups[0]["params"][0] is not p,
        [repr(again) != "", next(iter(again.state.values()))["step"].item()],
        [adam.param_groups[0]["lr"], schedule.last_epoch],
        "initial_lr" in adam.state_dict()["param_groups"][0],
    ]


@scenario([
    ["Detected call of `lr_scheduler.step()` before `optimizer.step()`."],
    ("TypeError", "int is not an Optimizer"),
    ("KeyError", "param 'initial_lr' is not specified in param_groups[0] when resuming scheduler "
     "with last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training "
     "from a checkpoint but haven't properly loaded the optimizer state\n2. You're using "
     "last_epoch >= 0 for a fresh training run (not recommended)"),
    ("ValueError", "Expected positive integer T_0, but got 0"),
    ("ValueError", "You must define either total_steps OR (epochs AND steps_per_epoch)"),
    ("ValueError", "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"),
    ("ValueError", "Tried to step 3 times. The specified number of total steps is 2"),
    ("ValueError", "Factor should be < 1.0."),
    ("ValueError", "Expected 1 lr_lambdas, but got 2"),
    [0.025],
])  # fmt: skip
def schedules(torch):
    S = torch.optim.lr_scheduler
    sgd = torch.optim.SGD([parameter(torch, 1.0)], lr=0.1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        S.StepLR(sgd, 1).step()
    texts = [str(w.message).split(". ")[0] + "." for w in caught]
    fresh = torch.optim.SGD([parameter(torch, 1.0)], lr=0.1)
    plain = torch.optim.Adagrad([parameter(torch, 1.0)], lr=0.1)
    one = S.OneCycleLR(torch.optim.SGD([parameter(torch, 1.0)], lr=0.1), 1.0, total_steps=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one.step()
        one.step()
        ended = error(one.step)
        jump = S.StepLR(torch.optim.SGD([parameter(torch, 1.0)], lr=0.1), 1, 0.5)
        jump.step(2)
    return [
        texts,
        error(S.StepLR, 3, 1),
        error(S.StepLR, fresh, 1, last_epoch=5),
        error(S.CosineAnnealingWarmRestarts, fresh, 0),
        error(S.OneCycleLR, fresh, 1.0),
        error(S.CyclicLR, plain, 0.1, 1.0),
        ended,
        error(S.ReduceLROnPlateau, fresh, factor=2.0),
        error(S.LambdaLR, fresh, [abs, abs]),
        jump.get_last_lr(),
    ]


@pytest.mark.parametrize(("function", "expected"), scenario.all)
def test_expected(torch, function, expected):
    assert function(torch) == expected


@pytest.mark.parametrize(("function", "expected"), scenario.all)
def test_in_torch(oracle, function, expected):
    assert function(oracle) == expected


def test_sparse_adam_says_what_it_lacks(torch):
    p = parameter(torch, 1.0, grad=[1.0])
    with pytest.raises(RuntimeError, match="does not support dense gradients"):
        torch.optim.SparseAdam([p]).step()


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adamax", "RMSprop", "Adadelta"])
def test_a_step_does_not_end_a_window(torch, name):
    results = []
    for mode in ("eager", "pipeline"):
        p = parameter(torch, 1.0, 2.0, grad=[0.5, -1.0])
        optimizer = getattr(torch.optim, name)([p], lr=0.1)
        if mode == "eager":
            for _ in range(3):
                optimizer.step()
        else:
            with torch.pipeline() as pipe:
                optimizer.step()
                flushes = pipe.flush_id
                optimizer.step()
                optimizer.step()
                assert pipe.flush_id == flushes and pipe.pending_count() > 0
        results.append(p.tolist())
    assert results[0] == pytest.approx(results[1], rel=1e-6)


def test_a_count_of_steps_may_be_written(torch):
    p = parameter(torch, 1.0, grad=[1.0])
    adam = torch.optim.Adam([p], lr=0.1)
    adam.step()
    adam.state[p]["step"].fill_(9)
    adam.step()
    assert adam.state[p]["step"].item() == 10


@pytest.mark.parametrize("name", ["SGD", "AdamW", "Adagrad", "Adamax", "NAdam", "RMSprop"])
def test_changing_rates_share_a_plan(torch, name):
    """Numbers that change from step to step, by a schedule or a count, are no part of a plan."""
    p = [parameter(torch, 1.0, 2.0), parameter(torch, 3.0)]
    optimizer = getattr(torch.optim, name)(p, lr=0.1)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    made = []
    for _ in range(8):
        with torch.pipeline() as pipe:
            optimizer.zero_grad()
            (p[0] * p[0]).sum().add(p[1].sum()).backward()
            optimizer.step()
        made.append(pipe._plans_made())
        schedule.step()
    assert made[3:] == [made[3]] * 5


def test_a_step_is_one_pass(torch):
    """Whatever the number of parameters, a step of Adam in a pipeline is two ops."""
    p = [parameter(torch, 1.0, grad=[1.0]) for _ in range(20)]
    optimizer = torch.optim.Adam(p)
    optimizer.step()
    with torch.pipeline() as pipe:
        optimizer.step()
        assert pipe.pending_count() == 2


def test_parameters_of_several_dtypes(torch):
    p = [
        torch.nn.Parameter(torch.ones(2, dtype=dtype))
        for dtype in (torch.float32, torch.float64, torch.float32, torch.bfloat16)
    ]
    for each in p:
        each.grad = torch.ones_like(each)
    for optimizer in (torch.optim.SGD(p, lr=0.5), torch.optim.Adam(p, lr=0.5)):
        optimizer.step()
    assert [each.tolist() for each in p] == [pytest.approx([0.0, 0.0], abs=1e-2)] * 4


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop"])
def test_differentiable(torch_gives, name):
    """Gradients of a loss after two steps, by the rate of a parameter's gradient."""

    def gradients(library):
        scale = library.tensor(1.5, requires_grad=True)
        p = library.tensor([1.0, -2.0], requires_grad=True)
        moved = p.clone()
        moved.retain_grad()
        optimizer = getattr(library.optim, name)([moved], lr=0.1, differentiable=True)
        for factor in (1.0, 0.5):
            moved.grad = scale * library.tensor([0.3, 0.7]) * factor
            optimizer.step()
        (moved * moved).sum().backward()
        return [p.grad.tolist(), scale.grad.item()]

    ours, theirs = gradients(mindtorch_v2), torch_gives(gradients)
    assert ours[0] == pytest.approx(theirs[0], rel=1e-4)
    assert ours[1] == pytest.approx(theirs[1], rel=1e-3, abs=1e-6)
