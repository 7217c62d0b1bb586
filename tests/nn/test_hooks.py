"""Hooks of modules: when they run, what they get, what they may change."""

import copy
import warnings

import pytest

from tests.nn.scenario import Scenarios, error

scenario = Scenarios()


class Log(list):
    def hook(self, name, result=None):
        def run(*args):
            self.append((name, len(args)))
            return result

        return run


def identity(torch):
    class Twice(torch.nn.Module):
        def forward(self, x, factor=2):
            return x * factor

    return Twice()


@scenario([
    [("global pre", 2), ("pre first", 2), ("pre", 2), ("pre kwargs", 3), ("global", 3),
     ("first", 3), ("post", 3), ("post kwargs", 4)],
    [],
])  # fmt: skip
def order(torch):
    log, m, module = Log(), identity(torch), torch.nn.modules.module
    handles = [
        module.register_module_forward_pre_hook(log.hook("global pre")),
        module.register_module_forward_hook(log.hook("global")),
        m.register_forward_pre_hook(log.hook("pre")),
        m.register_forward_pre_hook(log.hook("pre kwargs"), with_kwargs=True),
        m.register_forward_pre_hook(log.hook("pre first"), prepend=True),
        m.register_forward_hook(log.hook("post")),
        m.register_forward_hook(log.hook("post kwargs"), with_kwargs=True),
        m.register_forward_hook(log.hook("first"), prepend=True),
    ]
    m(torch.ones(1), factor=3)
    seen = list(log)
    log.clear()
    for handle in handles:
        handle.remove()
        handle.remove()
    m(torch.ones(1))
    return [seen, list(log)]


@scenario([6.0, 50.0, 7.0, 8.0, ("RuntimeError", "forward pre-hook must return None or a tuple of "
           "(new_args, new_kwargs), but got 3.")])  # fmt: skip
def changing(torch):
    m, result = identity(torch), []
    with m.register_forward_pre_hook(lambda module, args: torch.tensor(3.0)):
        result.append(m(torch.tensor(1.0)).item())
    change = m.register_forward_pre_hook(
        lambda module, args, kwargs: ((args[0] * 5,), {"factor": 10}), with_kwargs=True
    )
    result.append(m(torch.tensor(1.0)).item())
    change.remove()
    with m.register_forward_hook(lambda module, args, output: torch.tensor(7.0)):
        result.append(m(torch.tensor(1.0)).item())
    with m.register_forward_hook(
        lambda module, args, kwargs, output: output + kwargs["factor"], with_kwargs=True
    ):
        result.append(m(torch.tensor(1.0), factor=4).item())
    m.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
    result.append(error(m, torch.ones(1)))
    return result


@scenario([("ValueError", "no"), ["always", "global"], ["module forward hook with "
           "``always_call=True`` raised an exception that was silenced as another error was raised "
           "in forward: in hook"]])  # fmt: skip
def always_called(torch):
    class Fails(torch.nn.Module):
        def forward(self, x):
            raise ValueError("no")

    seen, m = [], Fails()

    def fail(*args):
        raise RuntimeError("in hook")

    m.register_forward_hook(lambda *args: seen.append("never"))
    first = m.register_forward_hook(lambda *args: seen.append("always"), always_call=True)
    every = torch.nn.modules.module.register_module_forward_hook(
        lambda *args: seen.append("global"), always_call=True
    )
    raised = error(m, 1)
    every.remove()
    first.remove()
    m.register_forward_hook(fail, always_call=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        error(m, 1)
    return [raised, sorted(seen), [str(w.message) for w in caught]]


@scenario(
    [
        ["pre ''", "pre 'a.'", "post 'a.'", "post ''"],
        ["made", "a.weight"],
        ("RuntimeError", "state_dict post-hook must return None"),
    ]
)
def state_dict_hooks(torch):
    m = torch.nn.Module()
    m.a = torch.nn.Linear(1, 1, bias=False)
    log = []

    def post(module, state, prefix, metadata):
        log.append(f"post {prefix!r}")

    for module in (m, m.a):
        module.register_state_dict_pre_hook(
            lambda module, prefix, keep: log.append(f"pre {prefix!r}")
        )
        module.register_state_dict_post_hook(post)
    m.state_dict()
    seen = list(log)
    m._register_state_dict_hook(lambda module, state, prefix, metadata: {"made": 1, **state})
    keys = list(m.state_dict())
    m.register_state_dict_post_hook(lambda *args: 3)
    return [seen, keys, error(m.state_dict)]


@scenario(
    [
        [("pre", ""), ("pre", "a."), ("post", ["b"]), ("post", ["b"])],
        "<All keys matched successfully>",
        [2.0],
        True,
    ]
)
def load_hooks(torch):
    m = torch.nn.Module()
    m.a = torch.nn.Linear(1, 1, bias=False)
    log = []

    def pre(module, state, prefix, metadata, strict, missing, unexpected, errors):
        log.append(("pre", prefix))
        if "old" in state:
            state["a.weight"] = state.pop("old")

    def post(module, keys):
        log.append(("post", list(keys.unexpected_keys)))
        if module is m:
            keys.unexpected_keys.clear()

    for module in (m, m.a):
        module.register_load_state_dict_pre_hook(pre)
        module.register_load_state_dict_post_hook(post)
    result = m.load_state_dict({"old": torch.tensor([[2.0]]), "b": torch.ones(1)})
    # A copy has hooks of its own, about itself.
    other = copy.deepcopy(m)
    hook = next(iter(other._load_state_dict_pre_hooks.values()))
    return [log, repr(result), m.a.weight.flatten().tolist(), hook.module() is other]


@scenario([["w", "b", "sub"], [True, True, True]])
def registration_hooks(torch):
    module, log, m = torch.nn.modules.module, [], torch.nn.Module()
    handles = [
        register(lambda owner, name, value: log.append(name))
        for register in (
            module.register_module_parameter_registration_hook,
            module.register_module_buffer_registration_hook,
            module.register_module_module_registration_hook,
        )
    ]
    m.w = torch.nn.Parameter(torch.ones(1))
    m.register_buffer("b", torch.ones(1))
    m.sub = torch.nn.ReLU()
    for handle in handles:
        handle.remove()
    m.other = torch.nn.ReLU()
    return [log, [hasattr(m, name) for name in ("w", "b", "sub")]]


@scenario([("RuntimeError", "Cannot use both regular backward hooks and full backward hooks on a "
           "single Module. Please use only one of them."), [1, 1], 4.0])  # fmt: skip
def backward_hooks(torch):
    m = identity(torch)
    m.register_full_backward_hook(lambda *args: None)
    m.register_full_backward_pre_hook(lambda *args: None)
    refused = error(m.register_backward_hook, lambda *args: None)
    counts = [len(m._backward_hooks), len(m._backward_pre_hooks)]
    # Without gradients they have nothing to see, and change nothing.
    return [refused, counts, m(torch.tensor(2.0)).item()]


@pytest.mark.parametrize(("function", "expected"), scenario.all)
def test_expected(torch, function, expected):
    assert function(torch) == expected


@pytest.mark.parametrize(("function", "expected"), scenario.all)
def test_in_torch(oracle, function, expected):
    assert function(oracle) == expected
