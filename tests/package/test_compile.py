"""torch.compile, torch.compiler, torch._dynamo and torch.jit: programs that use them run."""

import copy
import pickle
import typing

import mindtorch_v2 as torch
import pytest


def scaled(x, factor=2.0):
    if x.sum() > 0:  # needs a value: a compiler would have to break its graph here
        return (x * factor + 1).relu()
    return x - factor


@pytest.mark.parametrize("backend", [None, "inductor", "eager"])
@pytest.mark.parametrize("tuning", [None, "default", "reduce-overhead", "max-autotune"])
def test_compiled_functions_give_the_same(backend, tuning):
    compiled = torch.compile(scaled, backend=backend, mode=tuning, fullgraph=True, dynamic=True)
    for x in (torch.arange(4.0), -torch.ones(2, 3), torch.ones(0)):
        assert torch.equal(compiled(x, factor=3.0), scaled(x, factor=3.0))
    assert compiled.__name__ == "scaled" and compiled.__doc__ == scaled.__doc__


def test_a_compiled_function_runs_in_a_pipeline():
    seen = []

    @torch.compile
    def function(x):
        seen.append(torch.current_pipeline() is not None)
        return x + 1

    function(torch.ones(1))
    with torch.compiler.set_stance("force_eager"):
        function(torch.ones(1))
    torch.compile(lambda x: seen.append(torch.current_pipeline() is not None), backend="eager")(1)
    assert seen == [True, False, False] and torch.current_pipeline() is None


def test_gradients_of_compiled_modules():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.Linear(4, 1))
    x = torch.randn(5, 3)
    model(x).square().sum().backward()
    wanted = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    compiled = torch.compile(model)
    compiled(x).square().sum().backward()
    for parameter, grad in zip(model.parameters(), wanted, strict=True):
        assert torch.allclose(parameter.grad, grad)


def test_compiled_modules_are_the_module():
    model = torch.nn.Linear(2, 1)
    compiled = torch.compile(model)
    assert isinstance(compiled, torch._dynamo.OptimizedModule) and compiled._orig_mod is model
    assert list(compiled.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    assert compiled.weight is model.weight and compiled.in_features == 2
    compiled.tag = "x"
    assert model.tag == "x"
    assert not compiled.eval().training and not model.training
    calls = []
    compiled.register_forward_hook(lambda module, args, output: calls.append(output.shape))
    compiled(torch.ones(3, 2))
    assert calls == [(3, 1)]
    with pytest.raises(AttributeError, match="no_such"):
        compiled.no_such  # noqa: B018


def test_modules_compiled_in_place():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def forward(self, x):
            self.in_pipeline = torch.current_pipeline() is not None
            return self.layer(x)

    model = Model()
    model.compile(mode="reduce-overhead")
    x = torch.ones(1, 2)
    model(x)
    assert model.in_pipeline and "forward" not in model.state_dict()
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.layer.weight.zero_(), other.layer.bias.zero_()
    assert other(x).item() == 0 and model(x).item() != 0 and other.in_pipeline


def test_compiled_layers_are_pickled():
    layer = torch.nn.Linear(2, 1)
    layer.compile()
    again = pickle.loads(pickle.dumps(layer))
    assert torch.equal(again(torch.ones(1, 2)), layer(torch.ones(1, 2)))


def test_wrong_settings():
    with pytest.raises(RuntimeError, match="Either mode or options"):
        torch.compile(scaled, mode="default", options={"trace.enabled": True})
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast"):
        torch.compile(scaled, mode="fast")
    with pytest.raises(torch._dynamo.exc.InvalidBackend, match="no_such"):
        torch.compile(scaled, backend="no_such")
    with pytest.raises(NotImplementedError, match="torch.fx graph"):
        torch.compile(scaled, backend=lambda graph, inputs: graph)
    with pytest.raises(RuntimeError, match="stance"):
        torch.compiler.set_stance("sideways")
    assert torch.compile(scaled, disable=True) is scaled
    assert torch.compile(mode="default")(scaled)(torch.ones(1)).item() == 3


def test_default_backend_and_stances():
    assert torch.compiler.get_default_backend() == "inductor"
    torch.compiler.set_default_backend("eager")
    try:
        found = []
        torch.compile(lambda: found.append(torch.current_pipeline()))()
        assert found == [None]
    finally:
        torch.compiler.set_default_backend("inductor")

    @torch.compiler.set_stance("force_eager")
    def eager():
        return torch.compile(lambda: torch.current_pipeline())()

    assert eager() is None and torch.compile(lambda: torch.current_pipeline())() is not None


def test_decorators_change_nothing():
    for decorate in (
        torch.compiler.disable,
        torch.compiler.allow_in_graph,
        torch.compiler.assume_constant_result,
        torch.compiler.nested_compile_region,
        torch._dynamo.disallow_in_graph,
        torch.jit.ignore,
        torch.jit.unused,
        torch.jit.export,
        torch.jit.script_if_tracing,
        torch.compiler.disable(recursive=False),
        torch.jit.ignore(drop=True),
        torch.compiler.substitute_in_graph(len),
    ):
        assert decorate(scaled) is scaled
    torch._dynamo.reset()
    torch._dynamo.graph_break()
    torch._dynamo.mark_static_address(torch.ones(1))
    torch._dynamo.mark_dynamic(torch.ones(2, 3), [0, 1])
    with pytest.raises(IndexError):
        torch._dynamo.mark_dynamic(torch.ones(2), 2)
    with pytest.raises(TypeError):
        torch._dynamo.mark_static_address(3)


def test_dynamo_settings():
    config = torch._dynamo.config
    with config.patch(suppress_errors=True), config.patch({"cache_size_limit": 64}):
        assert config.suppress_errors and config.cache_size_limit == 64
    assert not config.suppress_errors and config.cache_size_limit == 8
    with pytest.raises(AttributeError), config.patch(no_such_setting=1):
        pass


def test_script_and_trace_run_python():
    with pytest.warns(UserWarning, match="there is no TorchScript; script"):
        assert torch.jit.script(scaled) is scaled
    model = torch.nn.Linear(2, 1).eval()
    with pytest.warns(UserWarning, match="trace"):
        assert torch.jit.trace(model, torch.ones(1, 2)) is model
    with pytest.warns(UserWarning, match="freeze"):
        assert torch.jit.freeze(model) is model
    with pytest.raises(RuntimeError, match="eval mode"):
        torch.jit.freeze(torch.nn.Linear(2, 1))
    assert not isinstance(model, torch.jit.ScriptModule)
    assert not torch.jit.is_scripting() and not torch.jit.is_tracing()


def test_compiled_files_are_refused(tmp_path):
    with pytest.raises(NotImplementedError, match="state_dict"):
        torch.jit.load(tmp_path / "model.pt")
    with pytest.raises(NotImplementedError, match="state_dict"):
        torch.jit.save(torch.nn.Linear(1, 1), tmp_path / "model.pt")


@pytest.mark.parametrize(
    "value, kind, fits",
    [
        ([1, 2], list[int], True),
        ([1, "a"], typing.List[int], False),  # noqa: UP006 - the old spelling is torch's
        ({"a": 1.0}, dict[str, float], True),
        ({"a": 1}, dict[str, float], False),
        ((1, "a"), tuple[int, str], True),
        ((1,), tuple[int, str], False),
        (None, typing.Optional[int], True),  # noqa: UP045
        (3, int | None, True),
        ("a", (int, float), False),
    ],
)
def test_isinstance_of_jit(value, kind, fits):
    assert torch.jit.isinstance(value, kind) is fits


def test_symbols_are_numbers():
    assert torch.sym_max(1, 2.0) == 2.0 and isinstance(torch.sym_max(3, 2.0), float)
    assert torch.sym_min(1, 2) == 1 and torch.sym_sum([1, 2, 3]) == 6 and torch.sym_int(2.5) == 2
    assert torch.sym_ite(False, 1, 2) == 2 and torch.sym_not(False) and torch.sym_sqrt(9) == 3
    assert not isinstance(torch.ones(2).shape[0], torch.SymInt)
    with pytest.raises(TypeError, match="SymInt"):
        torch.SymInt(3)


def test_checks():
    torch._check(True, lambda: 1 / 0)
    for check, error in (
        (torch._check, RuntimeError),
        (torch._check_value, ValueError),
        (torch._check_type, TypeError),
        (torch._check_index, IndexError),
        (torch._check_not_implemented, NotImplementedError),
    ):
        with pytest.raises(error, match="because"):
            check(False, lambda: "because")
    with pytest.raises(TypeError, match="cond must be a bool"):
        torch._check(torch.tensor(True))
    with pytest.raises(AssertionError, match="because"):
        torch._assert(False, "because")
    torch._check_is_size(3, max=3)
    with pytest.raises(RuntimeError):
        torch._check_is_size(-1)
