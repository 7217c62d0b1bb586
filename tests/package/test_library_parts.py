"""Parts of torch that libraries build on, beside tensors and layers."""

import sys
import threading

import mindtorch_v2 as torch
import numpy as np
import pytest


def test_futures():
    future = torch.futures.Future()
    texts = []
    after = future.then(lambda done: done.value() + 1)
    future.add_done_callback(lambda done: texts.append(done.done()))
    with pytest.raises(RuntimeError, match="not done"):
        future.value()
    threading.Timer(0.01, future.set_result, [1]).start()
    assert torch.futures.wait_all([future, after]) == [1, 2] and texts == [True]
    with pytest.raises(RuntimeError, match="once"):
        future.set_result(2)
    failed = torch.futures.Future()
    failed.set_exception(ValueError("no"))
    with pytest.raises(RuntimeError, match="running the callback: ValueError: no"):
        failed.then(lambda done: done.value()).wait()


def test_errors_among_several_futures():
    futures = [torch.futures.Future() for _ in range(3)]
    collected = torch.futures.collect_all(futures)
    futures[2].set_exception(ValueError("last"))
    assert not collected.done()
    futures[1].set_exception(KeyError("second"))
    futures[0].set_result(1)
    for wait in (collected.wait, collected.value, lambda: torch.futures.wait_all(futures)):
        with pytest.raises(KeyError, match="second"):
            wait()


def test_an_error_of_a_callback_of_a_future(caplog):
    future = torch.futures.Future()
    called = []
    future.add_done_callback(lambda done: 1 / 0)
    future.add_done_callback(lambda done: called.append(done.value()))
    future.set_result(3)
    assert future.wait() == 3 and called == [3]
    assert "running the callback" in caplog.text


def test_decorators_of_context_managers():
    from mindtorch_v2.utils._contextlib import _DecoratorContextManager

    depth = []

    class Inside(_DecoratorContextManager):
        def __enter__(self):
            depth.append(1)

        def __exit__(self, *error):
            depth.pop()

    @Inside()
    def count():
        return len(depth)

    @Inside()
    def steps():
        received = yield len(depth)
        yield received
        return "end"

    assert count() == 1 and not depth
    generator = steps()
    assert next(generator) == 1 and not depth  # between steps the block is left
    assert generator.send("sent") == "sent"
    with pytest.raises(StopIteration, match="end"):
        next(generator)
    with pytest.raises(RuntimeError, match="Cannot decorate classes"):
        Inside()(int)


def test_sobol_points():
    pytest.importorskip("scipy")
    engine = torch.quasirandom.SobolEngine(3)
    points = engine.draw(4)
    # The first numbers of the three dimensions, which every table of directions begins with.
    assert points.tolist() == [[0, 0, 0], [0.5, 0.5, 0.5], [0.75, 0.25, 0.25], [0.25, 0.75, 0.75]]
    rest = engine.draw(2)
    assert engine.reset().draw(6)[4:].tolist() == rest.tolist()
    for bits in (1, 4, 8):  # each of 2**bits intervals has one point of each dimension
        scrambled = torch.quasirandom.SobolEngine(5, scramble=True, seed=3).draw(2**bits)
        places = (scrambled * 2**bits).long().sort(0)[0]
        assert (places == torch.arange(2**bits)[:, None]).all()
    with pytest.raises(ValueError, match="power of 2"):
        torch.quasirandom.SobolEngine(1).fast_forward(3).draw_base2(2)
    with pytest.raises(ValueError, match="dimensionality"):
        torch.quasirandom.SobolEngine(0)


def test_flops_of_modules():
    from mindtorch_v2.utils.flop_counter import FlopCounterMode

    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Conv1d(1, 2, 3, bias=False))
    with FlopCounterMode(display=False) as counter:
        model[1](model[0](torch.ones(5, 4))[:, None]).sum().backward()
    aten = torch.ops.aten
    linear, conv = 2 * 5 * 4 * 8, 2 * 5 * 6 * 2 * 3
    total = counter.get_flop_counts()["Global"]
    assert total[aten.addmm] == linear and total[aten.convolution] == conv
    assert total[aten.mm] == linear  # of the weight: the input has no gradient
    assert total[aten.convolution_backward] == 2 * conv
    assert counter.get_total_flops() == 2 * linear + 3 * conv
    assert counter.get_flop_counts()["Linear"] == {aten.addmm: linear, aten.mm: linear}
    assert "Conv1d" in counter.get_table() and "100.00%" in counter.get_table()


def test_modules_that_run():
    from mindtorch_v2.utils.module_tracker import ModuleTracker

    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    seen = []
    with ModuleTracker() as tracker:
        model[0].register_forward_pre_hook(lambda *args: seen.append(sorted(tracker.parents)))
        x = torch.ones(1, 2, requires_grad=True)
        model[0].weight.register_hook(lambda grad: seen.append(tracker.is_bw))
        model(x).sum().backward()
    assert seen == [["Global", "Sequential", "Sequential.0"], True]
    assert tracker.parents == {"Global"} and not tracker.is_bw


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 16])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(size, reverse):
    from mindtorch_v2._higher_order_ops.associative_scan import associative_scan

    rng = np.random.default_rng(size)
    a, b = (torch.tensor(rng.random((3, size, 2)), requires_grad=True) for _ in range(2))

    def combine(left, right):
        return {"a": left["a"] * right["a"], "b": right["a"] * left["b"] + right["b"]}

    found = associative_scan(combine, {"a": a, "b": b}, 1, reverse=reverse)
    state, states = torch.zeros(3, 2, dtype=torch.float64), []
    for place in reversed(range(size)) if reverse else range(size):
        state = a[:, place] * state + b[:, place]
        states.append(state)
    expected = torch.stack(states[::-1] if reverse else states, 1)
    torch.testing.assert_close(found["b"], expected)
    (grad,) = torch.autograd.grad(found["b"].sum(), b, retain_graph=True)
    torch.testing.assert_close(grad, torch.autograd.grad(expected.sum(), b)[0])


def test_associative_scan_refuses():
    from mindtorch_v2._higher_order_ops.associative_scan import associative_scan

    x = torch.ones(3)
    for args in ((1, x, 0), (torch.add, x, "0"), (torch.add, [], 0), (torch.add, [x, x[1:]], 0)):
        with pytest.raises(ValueError):
            associative_scan(*args)


def test_records_of_a_file(tmp_path):
    torch.save({"w": torch.arange(4, dtype=torch.int16)}, tmp_path / "w.pt")
    reader = torch.PyTorchFileReader(str(tmp_path / "w.pt"))
    assert reader.has_record("data.pkl") and not reader.has_record("no")
    values = reader.get_storage_from_record("data/0", 4, torch.int16)
    assert values.tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="file not found"):
        reader.get_record("no")
    (tmp_path / "text").write_text("text")
    with pytest.raises(RuntimeError, match="zip archive"):
        torch.PyTorchFileReader(str(tmp_path / "text"))


def test_scatter_and_gather():
    from mindtorch_v2.nn.parallel.scatter_gather import gather, scatter, scatter_kwargs

    given = {"x": torch.arange(4), "pair": (torch.ones(4, 1), "text")}
    first, second = scatter(given, ["cpu", "cpu"])
    assert second["x"].tolist() == [2, 3] and first["pair"][1] == "text"
    assert gather([torch.ones(2), torch.zeros(1)], "cpu").tolist() == [1, 1, 0]
    assert gather([{"a": torch.tensor(1.0)}, {"a": torch.tensor(2.0)}], "cpu")["a"].shape == (2,)
    args, kwargs = scatter_kwargs((torch.ones(2),), None, ["cpu", "cpu"])
    assert len(args) == len(kwargs) == 2 and kwargs[1] == {}


def test_helpers_of_optimizers():
    from mindtorch_v2.optim import optimizer as helpers

    class Descent(torch.optim.Optimizer):
        def __init__(self, params, differentiable=False):
            super().__init__(params, {"lr": 0.5, "differentiable": differentiable})

        @helpers._use_grad_for_differentiable
        def step(self):
            assert torch.is_grad_enabled() == self.defaults["differentiable"]
            for group in self.param_groups:
                for p in group["params"]:
                    p.sub_(p.grad, alpha=group["lr"])

    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2)
    Descent([parameter]).step()
    assert parameter.tolist() == [0.5, 0.5]
    assert helpers._default_to_fused_or_foreach([parameter], False, use_fused=True) == (True, False)
    assert helpers._default_to_fused_or_foreach([parameter], False) == (False, False)
    assert helpers._default_to_fused_or_foreach([parameter], True, use_fused=True) == (False, False)
    lists = [[torch.ones(1), torch.ones(1).double(), torch.zeros(1)], [1, 2, 3], []]
    groups = torch.optim.Optimizer._group_tensors_by_device_and_dtype(lists, with_indices=True)
    kept, places = groups[torch.device("cpu"), torch.float32]
    assert kept[1] == [1, 3] and kept[2] == [] and places == [0, 2]


def test_size_of_storages():
    storage = torch.zeros(1000).untyped_storage()
    assert 4000 <= sys.getsizeof(storage) < 4200


def test_handlers_of_einsum_see_each_operand():
    calls = []

    class Log(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            calls.append((func, len(args)))
            return func(*args, **(kwargs or {}))

    x = torch.ones(2)
    with Log():
        torch.einsum("i,i->", [x, x])
    assert calls[0] == (torch.einsum, 3)


def test_other_names_of_functions():
    x = torch.arange(6.0).view(1, 2, 3)
    padded = torch.nn.functional.pad(x, (1, 1), "reflect")
    nn = torch._C._nn
    assert torch.equal(nn.reflection_pad1d(x, [1, 1]), padded)
    out = torch.empty(0)
    assert nn.reflection_pad1d(x, [1, 1], out=out) is out and torch.equal(out, padded)
    with pytest.raises(AttributeError, match="has no attribute 'add'"):
        nn.add  # noqa: B018
    assert torch._VF.lstm is torch.lstm
    norm, mean, scale = torch.native_layer_norm(x, (3,), None, None, 1e-5)
    assert torch.equal(norm, torch.nn.functional.layer_norm(x, (3,)))
    product = torch.addmm(x[0, :, :2], x[0], x[0].T)
    assert torch.equal(torch._addmm_activation(x[0, :, :2], x[0], x[0].T), product.relu())
    found = torch._addmm_activation(x[0, :, :2], x[0], x[0].T, use_gelu=True)
    assert torch.equal(found, torch.nn.functional.gelu(product, approximate="tanh"))


def test_modes_make_others_like_themselves():
    with torch.set_grad_enabled(False).clone():
        assert not torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    with torch.no_grad().clone(), torch.enable_grad().clone():
        assert torch.is_grad_enabled()
    with torch.inference_mode(False).clone():
        assert not torch.is_inference_mode_enabled()


def test_the_old_name_of_a_loss():
    with pytest.warns(FutureWarning, match="NLLLoss2d"):
        loss = torch.nn.NLLLoss2d()
    assert loss(torch.tensor([[-0.5, -1.0]]), torch.tensor([1])).item() == 1
