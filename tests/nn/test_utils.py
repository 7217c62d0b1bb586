"""torch.nn.utils: clipping, vectors, norms of weights, parametrizations, pruning, fusion."""

import copy
import importlib
import pickle
import warnings

import mindtorch_v2
import pytest

from tests.nn.compare import assert_same
from tests.nn.scenario import error


def both(program):
    """A test that the program returns what it returns in torch."""

    def test(torch_gives):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            texts, values = program(mindtorch_v2)
            their_texts, their_values = torch_gives(program)
        assert texts == their_texts
        assert_same(values, their_values)

    return test


def seeded(torch, make):
    """With the random numbers of the CPU, on the default device."""
    torch.manual_seed(0)
    with torch.device("cpu"):
        made = make()
    return made.to(torch.get_default_device())


def with_grads(torch):
    ps = [torch.nn.Parameter(torch.ones(n)) for n in (1, 3, 2)]
    ps[0].grad = torch.tensor([3.0])
    ps[1].grad = torch.tensor([1.0, -2.0, 4.0])
    return ps


@both
def test_clipping(torch):
    utils, values = torch.nn.utils, []
    for norm in (1.0, 2.0, 3.5, float("inf")):
        ps = with_grads(torch)
        values.append(utils.clip_grad_norm_(ps, 2.0, norm))
        values += [p.grad for p in ps[:2]]
    ps = with_grads(torch)
    utils.clip_grad_norm_(iter(ps), 100.0)
    values += [p.grad for p in ps[:2]]
    utils.clip_grad_value_(ps, 1.5)
    values += [p.grad for p in ps[:2]]
    values.append(utils.get_total_norm([p.grad for p in ps[:2]]))
    ps[0].grad = torch.tensor([float("inf")])
    return [error(utils.clip_grad_norm_, ps, 1.0, error_if_nonfinite=True)], values


def test_clipping_to_a_norm(torch):
    ps = with_grads(torch)
    assert torch.nn.utils.clip_grad_norm_(ps, 1.0).item() == pytest.approx(30**0.5)
    assert torch.nn.utils.get_total_norm([ps[0].grad, ps[1].grad]).item() == pytest.approx(1.0)
    assert ps[2].grad is None
    torch.nn.utils.clip_grad_value_(ps[1], 0.1)
    assert ps[1].grad.abs().max().item() == pytest.approx(0.1)


@both
def test_vectors(torch):
    layer = seeded(torch, lambda: torch.nn.Linear(2, 3))
    vector = torch.nn.utils.parameters_to_vector(layer.parameters())
    torch.nn.utils.vector_to_parameters(vector.detach() * 2, layer.parameters())
    return [error(torch.nn.utils.vector_to_parameters, 3, [])], [vector, layer.weight]


@both
def test_weight_norm_by_hook(torch):
    utils = torch.nn.utils
    layer = seeded(torch, lambda: utils.weight_norm(torch.nn.Linear(3, 2)))
    x = torch.ones(1, 3)
    with torch.no_grad():
        layer.weight_g.mul_(2)
    outputs = [layer(x), layer.weight_g]
    texts = [list(layer.state_dict()), error(utils.weight_norm, layer)]
    utils.remove_weight_norm(layer)
    texts += [list(layer.state_dict()), error(utils.remove_weight_norm, layer)]
    every = seeded(torch, lambda: utils.weight_norm(torch.nn.Linear(3, 2), dim=None))
    return texts, [*outputs, layer(x), every.weight_g, every(x)]


@both
def test_spectral_norm_by_hook(torch):
    utils = torch.nn.utils
    layer = seeded(torch, lambda: utils.spectral_norm(torch.nn.Linear(3, 2)))
    x = torch.ones(1, 3)
    outputs = [layer(x), layer(x), layer.weight_u, layer.eval()(x)]
    texts = [list(layer.state_dict())]
    utils.remove_spectral_norm(layer)
    texts += [list(layer.state_dict()), error(utils.remove_spectral_norm, layer)]
    return texts, [*outputs, layer(x)]


@both
def test_parametrizations(torch):
    p = torch.nn.utils.parametrizations
    x = torch.ones(1, 3)
    weight = seeded(torch, lambda: p.weight_norm(torch.nn.Linear(3, 2)))
    spectral = seeded(torch, lambda: p.spectral_norm(torch.nn.Linear(3, 2)))
    texts = [repr(weight), repr(spectral), list(weight.state_dict()), list(spectral.state_dict())]
    values = [weight(x), spectral(x), spectral.eval()(x)]
    # Files of the old weight_norm
    old = torch.nn.utils.weight_norm(torch.nn.Linear(3, 2))
    texts.append(repr(weight.load_state_dict(old.state_dict())))
    values.append(weight.weight - old.weight)
    torch.nn.utils.parametrize.remove_parametrizations(weight, "weight")
    texts += [repr(weight), list(weight.state_dict())]
    return texts, [*values, weight(x)]


def make_symmetric(torch):
    class Symmetric(torch.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

        def right_inverse(self, x):
            return x.triu()

    return Symmetric()


@both
def test_own_parametrization(torch):
    parametrize = torch.nn.utils.parametrize
    layer = seeded(torch, lambda: torch.nn.Linear(3, 3))
    parametrize.register_parametrization(layer, "weight", make_symmetric(torch))
    texts = [
        repr(layer),
        type(layer).__name__,
        [n for n, _ in layer.named_parameters()],
        parametrize.is_parametrized(layer),
        parametrize.is_parametrized(layer, "bias"),
        parametrize.type_before_parametrizations(layer) is torch.nn.Linear,
        error(parametrize.register_parametrization, layer, "x", make_symmetric(torch))[0],
        error(pickle.dumps, layer)[0],
    ]
    values = [layer.weight]
    other = copy.deepcopy(layer)
    with torch.no_grad():
        layer.weight = torch.ones(3, 3)
    values += [layer.weight, layer.parametrizations.weight.original, other.weight]
    parametrize.register_parametrization(layer, "weight", torch.nn.ReLU())
    with parametrize.cached():
        texts.append(layer.weight is layer.weight)
    texts.append(len(layer.parametrizations.weight))
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=True)
    texts += [repr(layer), type(layer) is torch.nn.Linear, repr(other)]
    return texts, [*values, layer.weight]


@both
def test_pruning(torch):
    prune = importlib.import_module(f"{torch.__name__}.nn.utils.prune")
    make = lambda: seeded(torch, lambda: torch.nn.Linear(4, 3))  # noqa: E731
    texts, values = [], []
    one = prune.l1_unstructured(make(), "weight", amount=0.5)
    texts += [list(one.state_dict()), prune.is_pruned(one)]
    values += [one.weight, one.weight_mask, one(torch.ones(1, 4))]
    prune.ln_structured(one, "weight", amount=1, n=2, dim=0)
    values += [one.weight_mask, one(torch.ones(1, 4))]
    prune.remove(one, "weight")
    texts += [list(one.state_dict()), prune.is_pruned(one)]
    values.append(one.weight)
    for call in (
        lambda m: prune.random_unstructured(m, "weight", amount=3),
        lambda m: prune.random_structured(m, "weight", amount=1, dim=1),
        lambda m: prune.identity(m, "bias"),
        lambda m: prune.custom_from_mask(m, "bias", torch.tensor([0.0, 1.0, 0.0])),
    ):
        pruned = call(make())
        values += [b for n, b in pruned.named_buffers()] + [pruned(torch.ones(1, 4))]
    pair = [make(), make()]
    prune.global_unstructured([(m, "weight") for m in pair], prune.L1Unstructured, amount=0.3)
    values += [m.weight_mask for m in pair]
    texts += [
        error(prune.remove, make(), "weight")[0],
        error(prune.l1_unstructured, make(), "weight", 1.5),
        error(prune.l1_unstructured, make(), "weight", 99),
    ]
    return texts, values


@both
def test_fusion_and_stateless(torch):
    utils = torch.nn.utils
    linear = seeded(torch, lambda: torch.nn.Linear(3, 2)).eval()
    norm = torch.nn.BatchNorm1d(2)
    norm(torch.tensor([[1.0, 2.0], [3.0, 7.0]]))
    norm.eval()
    x = torch.tensor([[1.0, 2.0, 3.0]])
    fused = utils.fuse_linear_bn_eval(linear, norm)
    values = [norm(linear(x)), fused(x)]
    replaced = {"weight": torch.ones(2, 3), "bias": torch.zeros(2)}
    values.append(utils.stateless.functional_call(linear, dict(replaced), x))
    values.append(linear(x))
    empty = utils.skip_init(torch.nn.Linear, 3, 2)
    return [repr(empty), error(utils.skip_init, torch.nn.ReLU)], values


def test_packed_sequences(torch):
    rnn = torch.nn.utils.rnn
    parts = [torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0]), torch.tensor([5.0, 6.0])]
    packed = rnn.pack_sequence(parts, enforce_sorted=False)
    assert packed.data.tolist() == [1, 5, 4, 2, 6, 3]
    assert packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.sorted_indices.tolist() == [0, 2, 1]
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1)
    assert padded.tolist() == [[1, 2, 3], [4, -1, -1], [5, 6, -1]]
    assert lengths.tolist() == [3, 1, 2]
    assert [p.tolist() for p in rnn.unpack_sequence(packed)] == [p.tolist() for p in parts]
    assert rnn.pad_sequence(parts, True, padding_side="left").tolist()[1] == [0, 0, 4]
    again = pickle.loads(pickle.dumps(packed))
    assert isinstance(again, rnn.PackedSequence) and again.data.tolist() == packed.data.tolist()
    assert packed.to(torch.float64).data.dtype == torch.float64
    with pytest.raises(RuntimeError, match="sorted in decreasing order"):
        rnn.pack_sequence(parts)
    with pytest.raises(RuntimeError, match="greater than 0"):
        rnn.pack_padded_sequence(torch.ones(2, 1), [0])
