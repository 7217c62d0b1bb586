"""Tensors with gradients: hooks, copies, pickles, printing, and the modes."""

import copy
import pickle
import threading
import warnings

import pytest

from tests.autograd.run import make_tests
from tests.nn.scenario import Scenarios, error

scenario = Scenarios()

NO_GRADIENT = ("RuntimeError", "cannot register a hook on a tensor that doesn't require gradient")


@scenario([[10.0], [100.0], [1.0], NO_GRADIENT])
def hooks(torch):
    result = []
    x = torch.ones(1, requires_grad=True)
    handle = x.register_hook(lambda grad: grad * 10)
    x.sum().backward()
    result.append(x.grad.tolist())
    x.grad = None
    y = x * 1
    y.register_hook(lambda grad: grad * 10)
    y.sum().backward()
    result.append(x.grad.tolist())
    x.grad = None
    handle.remove()
    x.sum().backward()
    return [*result, x.grad.tolist(), error(torch.ones(1).register_hook, print)]


@scenario(
    [
        [[2.0], [4.0]],
        NO_GRADIENT,
        ("RuntimeError", "post accumulate grad hooks cannot be registered on non-leaf tensors"),
    ]
)
def post_accumulate_hooks(torch):  # fmt: skip
    seen, x = [], torch.ones(1, requires_grad=True)
    handle = x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.tolist()))
    (x * 2).backward()
    (x * 2).backward()
    handle.remove()
    (x * 2).backward()
    return [
        seen,
        error(torch.ones(1).register_post_accumulate_grad_hook, print),
        error((x * 2).register_post_accumulate_grad_hook, print),
    ]


@scenario([True, [2.0, 2.0], [5.0, 2.0], [1.0, 1.0], "Only Tensors created explicitly by the user "
           "(graph leaves) support the deepcopy protocol at the moment."])  # fmt: skip
def deepcopy(torch):
    x = torch.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    other = copy.deepcopy(x)
    other.grad[0] = 5
    with torch.no_grad():
        other += 1
    text = error(copy.deepcopy, x * 2)[1]
    return [other.requires_grad, x.grad.tolist(), other.grad.tolist(), x.tolist(),
            text.partition("  If")[0]]  # fmt: skip


@scenario([[True, False, True], True, None])
def pickles(torch):
    x = torch.ones(2, requires_grad=True)
    loaded = pickle.loads(pickle.dumps([x, x.detach(), x * 2]))
    return [[t.requires_grad for t in loaded], loaded[2].is_leaf, loaded[0].grad]


@scenario([
    "tensor([1., 2.], requires_grad=True)",
    "tensor([2., 4.], grad_fn=<MulBackward0>)",
    "tensor(3., dtype=torch.float64, grad_fn=<SumBackward0>)",
    "tensor([1., 2.])",
    "Parameter containing:\ntensor([1., 2.], requires_grad=True)",
])  # fmt: skip
def printing(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    shown = [x, x * 2, x.double().sum(), x.detach(), torch.nn.Parameter(x.detach())]
    return [repr(t) for t in shown]


@scenario([[True, False, True, False, True], [False, True, True, False]])
def modes(torch):
    on = torch.is_grad_enabled
    seen = [on()]
    with torch.no_grad():
        seen.append(on())
        with torch.inference_mode(False):
            seen.append(on())
        seen.append(on())
    seen.append(on())
    x = torch.ones(1, requires_grad=True)
    with torch.inference_mode():
        made = x * 2
        inside = [made.requires_grad, made.is_inference(), torch.is_inference(made)]
    return [seen, [*inside, (x * 2).is_inference()]]


@scenario([True, [1.0, 2.0], False, "Tensor", True, [], ("TypeError",
           "Variable data has to be a tensor, but got int")])  # fmt: skip
def variables(torch):
    Variable = torch.autograd.Variable
    x = torch.tensor([1.0, 2.0])
    made = Variable(x, requires_grad=True)
    return [made.requires_grad, made.tolist(), x.requires_grad, type(made).__name__,
            isinstance(x, Variable), Variable().tolist(), error(Variable, 3)]  # fmt: skip


@scenario([[False, False], [True, True], [False, False], [True, False], [False, False]])
def anomaly_mode(torch):
    def state():
        return [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]

    autograd, seen = torch.autograd, []
    autograd.set_detect_anomaly(False, False)
    seen.append(state())
    with autograd.detect_anomaly():
        seen.append(state())
    seen.append(state())
    with autograd.set_detect_anomaly(True, check_nan=False):
        seen.append(state())
    return [*seen, state()]


test_gives, test_torch_agrees = make_tests(scenario)


def test_hooks_are_missing_from_pickles(torch):
    x = torch.ones(1, requires_grad=True)
    x.register_hook(torch.utils.hooks.unserializable_hook(lambda grad: grad))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickle.dumps(x)
    x.register_hook(lambda grad: grad)
    with pytest.warns(UserWarning, match="will not be serialized"):
        assert pickle.loads(pickle.dumps(x))._backward_hooks is None


def test_anomaly_mode_is_warned_about(torch):
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        torch.autograd.detect_anomaly()


def test_a_decorated_function_runs_in_many_threads(torch):
    """The modes of threads that run it at the same time do not mix."""
    both_inside = threading.Barrier(2)

    @torch.no_grad()
    def work():
        both_inside.wait(10)
        return torch.is_grad_enabled()

    def run(enabled, seen):
        with torch.set_grad_enabled(enabled):
            seen += [work(), torch.is_grad_enabled()]

    results = [[], []]
    threads = [threading.Thread(target=run, args=(flag, results[flag])) for flag in (False, True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[False, False], [False, True]]


def test_queued_callbacks_run_at_the_end(torch):
    seen, x = [], torch.ones(1, requires_grad=True)

    def hook(grad):
        engine = torch.autograd.Variable._execution_engine
        engine.queue_callback(lambda: seen.append(x.grad.tolist()))
        seen.append("hook")

    x.register_hook(hook)
    (x * 3).backward()
    assert seen == ["hook", [3.0]]
