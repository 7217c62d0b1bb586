"""torch.vmap: arguments, nesting, randomness, what it refuses."""

import pytest


@pytest.fixture
def x(torch):
    return torch.arange(12.0).view(3, 4)


def test_dims_of_arguments_and_results(torch, x):
    y = torch.arange(12.0).view(4, 3)
    result = torch.vmap(lambda a, b: a - b, in_dims=(0, 1), out_dims=1)(x, y)
    assert torch.equal(result, (x - y.T).T)
    assert torch.equal(torch.vmap(torch.sum, in_dims=-1)(x), x.sum(0))
    assert torch.equal(torch.vmap(torch.add, in_dims=(0, None))(x, x[0]), x + x[0])
    assert torch.equal(torch.vmap(lambda a, n: a * n, in_dims=(0, None))(x, 3), x * 3)


def test_structures(torch, x):
    def f(pair, scale=1.0):
        return {"sum": pair["a"] + pair["b"][0], "same": (torch.ones(2), pair["b"][1])}

    result = torch.vmap(f, in_dims=({"a": 0, "b": (None, 0)},), out_dims={"sum": 1, "same": 0})(
        {"a": x, "b": (x[0], x)}, scale=2.0
    )
    assert torch.equal(result["sum"], (x + x[0]).T)
    assert torch.equal(result["same"][0], torch.ones(3, 2))


def test_structures_with_the_wrong_sizes_are_refused(torch, x):
    with pytest.raises(ValueError, match=r"got sizes \[3, 4\] for the mapped dimension"):
        torch.vmap(torch.add)(x, x.T)
    with pytest.raises(ValueError, match="in_dims is not compatible with the structure"):
        torch.vmap(torch.add, in_dims=(0, 0, 0))(x, x)
    with pytest.raises(ValueError, match="out_dims is not compatible with the structure"):
        torch.vmap(torch.sin, out_dims=(0, 0))(x)
    with pytest.raises(ValueError, match="Got in_dim=2 for some input"):
        torch.vmap(torch.sin, in_dims=2)(x)
    with pytest.raises(ValueError, match="Expected at least one Tensor to vmap over"):
        torch.vmap(torch.sin, in_dims=None)(x)
    with pytest.raises(ValueError, match="got no inputs"):
        torch.vmap(torch.sin)()
    with pytest.raises(ValueError, match="must only return Tensors"):
        torch.vmap(lambda a: 3)(x)
    with pytest.raises(ValueError, match="can not return a BatchedTensor when out_dim is None"):
        torch.vmap(torch.sin, out_dims=None)(x)
    with pytest.raises(ValueError, match="We cannot vmap over non-Tensor arguments"):
        torch.vmap(torch.mul)(x, 3)
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.vmap(torch.sin, out_dims=5)(x)


def test_nested(torch, x):
    y = torch.arange(8.0).view(2, 4)
    products = torch.vmap(torch.vmap(torch.dot, in_dims=(None, 0)), in_dims=(0, None))(x, y)
    assert torch.equal(products, x @ y.T)
    inner = torch.vmap(lambda a: torch.vmap(lambda b: (a * b).sum() + x.sum())(y))(x)
    assert torch.equal(inner, x @ y.T + x.sum())


def test_an_error_leaves_no_vmap_behind(torch, x):
    with pytest.raises(ZeroDivisionError):
        torch.vmap(lambda a: 1 / 0)(x)
    assert torch._C._vmap_level() == 0
    torch.rand(2)  # would be refused inside


def test_chunks(torch, x):
    sizes = []

    def f(a):
        sizes.append(torch.func.debug_unwrap(a).shape[0])
        return a * 2, a.sum()

    doubled, sums = torch.vmap(f, chunk_size=2, out_dims=(1, 0))(x)
    assert sizes == [2, 1]
    assert torch.equal(doubled, (x * 2).T)
    assert torch.equal(sums, x.sum(1))
    with pytest.raises(ValueError, match="chunk_size should be None or greater than 0"):
        torch.vmap(torch.sin, chunk_size=0)


def test_chunks_draw_the_same_numbers(torch, x):
    same = torch.vmap(lambda a: torch.randn(3), randomness="same", chunk_size=2)(x)
    assert torch.equal(same[0], same[1]) and torch.equal(same[0], same[2])
    different = torch.vmap(lambda a: torch.randn(3), randomness="different", chunk_size=2)(x)
    assert not torch.equal(different[0], different[2])


def test_a_sample_looks_like_one(torch, x):
    def f(a):
        assert a.shape == (4,) and a.dim() == 1 and a.numel() == 4 and len(a) == 4
        assert a.dtype == torch.float32 and a.device.type == x.device.type
        assert not a.requires_grad
        return a

    assert torch.equal(torch.vmap(f)(x), x)


def test_printing(torch):
    shown = []
    value = torch.tensor([1.0, 2.0])
    torch.vmap(lambda a: shown.append(repr(a)) or a)(value)
    assert shown == [f"BatchedTensor(lvl=1, bdim=0, value=\n    {value!r}\n)"]


def test_writes(torch, x):
    def f(a):
        b = a.clone()
        b.add_(1)
        b[0] = a[3]
        b[1:3] *= 2
        b[torch.tensor([3])] = -1.0
        b[a > 9] = 0.0
        view = b.view(2, 2)
        view.unsqueeze_(0).transpose_(1, 2)
        return b, view

    got, view = torch.vmap(f)(x)
    want = x + 1
    want[:, 0] = x[:, 3]
    want[:, 1:3] *= 2
    want[:, 3] = -1
    want[x > 9] = 0
    assert torch.equal(got, want)
    assert torch.equal(view, want.view(3, 1, 2, 2).transpose(2, 3))


def test_writes_reach_the_argument(torch):
    x = torch.zeros(3, 2)
    torch.vmap(lambda a: a[0].fill_(5.0))(x)
    assert torch.equal(x, torch.tensor([[5.0, 0.0]] * 3))


def test_writing_samples_to_a_common_tensor_is_refused(torch, x):
    common = torch.zeros(4)
    for write in (common.copy_, common.add_, common[0:4].mul_):
        with pytest.raises(RuntimeError, match="`self` not being vmapped over"):
            torch.vmap(write)(x)
    assert torch.equal(common, torch.zeros(4))


def test_numbers_promote_as_samples_do(torch):
    x = torch.ones(3, 2)
    scale = torch.arange(3, dtype=torch.float64)
    assert torch.vmap(torch.mul)(x, scale).dtype == torch.float32
    assert torch.vmap(torch.mul)(x[:, 0], scale).dtype == torch.float64
    result = torch.vmap(torch.mul, in_dims=(0, None))(
        x[:, 0], torch.tensor(2.0, dtype=torch.float64)
    )
    assert result.dtype == torch.float64
    assert torch.vmap(torch.add)(torch.ones(3, 2, dtype=torch.int64), scale).dtype == torch.float64


def test_values_cannot_be_read(torch, x):
    for read, text in (
        (lambda a: a.sum().item(), "calling .item"),
        (lambda a: float(a.sum()), "calling .item"),
        (lambda a: a if a.sum() > 0 else -a, "data-dependent control flow"),
        (lambda a: a.tolist(), "doesn't have storage"),
        (lambda a: a.cpu().numpy(), "doesn't have storage"),
        (lambda a: a.data_ptr(), "doesn't have storage"),
        (lambda a: a.nonzero(), "output dynamic shape. Attempted to vmap over aten::nonzero"),
        (lambda a: a[a > 0], "dynamic shape"),
        (lambda a: a.requires_grad_(), "attempting to call Tensor.requires_grad_"),
        (lambda a: torch.add(a, a, out=torch.empty(4)), "Batching rule not implemented"),
    ):
        with pytest.raises(RuntimeError, match=text):
            torch.vmap(read)(x)


def test_samples_belong_to_their_vmap(torch, x):
    kept = []
    torch.vmap(lambda a: kept.append(a) or a)(x)
    with pytest.raises(RuntimeError, match="outside of the vmap that it belongs to"):
        kept[0] + 1


def test_indices_that_are_numbers(torch, x):
    places = torch.tensor([2, 0, 3])
    assert torch.equal(torch.vmap(lambda a, i: a[i])(x, places), x[torch.arange(3), places])
    table = torch.arange(24).view(4, 2, 3)
    got = torch.vmap(lambda i: table[i, 1])(places)
    assert torch.equal(got, table[places, 1])
    # A mask for all pairs of positions, as libraries make it.
    mask = torch.tensor([[True, False], [True, True]])

    def visible(batch, query, key):
        return mask[batch, key] & (query >= key)

    function = torch.vmap(visible, in_dims=(None, None, 0))
    function = torch.vmap(function, in_dims=(None, 0, None))
    function = torch.vmap(function, in_dims=(0, None, None))
    got = function(torch.arange(2), torch.arange(2), torch.arange(2))
    want = mask[:, None, :] & torch.ones(2, 2, dtype=torch.bool).tril()
    assert torch.equal(got, want)


def test_ops_without_a_rule_say_so(torch, x):
    with pytest.warns(UserWarning, match="not yet implemented the batching rule for aten::histc"):
        got = torch.vmap(lambda a: torch.histc(a, 3, 0, 12))(x)
    assert torch.equal(got, torch.stack([torch.histc(row, 3, 0, 12) for row in x]))
    with pytest.raises(RuntimeError, match="does not support vmap over dims of size 0"):
        torch.vmap(lambda a: torch.histc(a, 3, 0, 12))(torch.ones(0, 4))


def test_empty_batches(torch):
    assert torch.vmap(lambda a: a.sin().sum())(torch.ones(0, 4)).shape == (0,)
    assert torch.vmap(lambda a: a @ a)(torch.ones(0, 2, 2)).shape == (0, 2, 2)


# --- randomness ---


@pytest.mark.parametrize(
    "draw",
    [
        lambda torch, a: torch.randn(5),
        lambda torch, a: torch.randint(0, 1000, (5,)),
        lambda torch, a: torch.rand_like(a),
        lambda torch, a: torch.nn.functional.dropout(torch.ones(50)),
        lambda torch, a: torch.randperm(50),
        lambda torch, a: a.clone().normal_(),
    ],
)
def test_randomness(torch, x, draw):
    with pytest.raises(RuntimeError, match="called random operation while in randomness error"):
        torch.vmap(lambda a: draw(torch, a))(x)
    same = torch.vmap(lambda a: draw(torch, a), randomness="same")(x)
    assert torch.equal(same[0], same[1]) and torch.equal(same[0], same[2])
    different = torch.vmap(lambda a: draw(torch, a), randomness="different")(x)
    assert not torch.equal(different[0], different[1])


def test_randomness_of_nested_vmaps(torch):
    def draws(inner, outer):
        f = torch.vmap(lambda a: a + torch.randn(2), randomness=inner)
        return torch.vmap(f, randomness=outer)(torch.zeros(3, 4, 2))

    by_outer = draws("same", "different")
    assert torch.equal(by_outer[:, 0], by_outer[:, 1])
    assert not torch.equal(by_outer[0], by_outer[1])
    by_inner = draws("different", "same")
    assert torch.equal(by_inner[0], by_inner[1])
    assert not torch.equal(by_inner[:, 0], by_inner[:, 1])


def test_randomness_that_is_refused(torch, x):
    with pytest.raises(RuntimeError, match="Only allowed values for randomness"):
        torch.vmap(torch.sin, randomness="none")
    with pytest.raises(RuntimeError, match="different inplace randomness on an unbatched tensor"):
        torch.vmap(lambda a: torch.zeros(4).uniform_(), randomness="different")(x)
    with pytest.raises(RuntimeError, match="same randomness with a batched tensor input"):
        torch.vmap(lambda a: torch.bernoulli(a.sigmoid()), randomness="same")(x)
    # A dropout that draws nothing.
    assert torch.equal(torch.vmap(lambda a: torch.dropout(a, 0.5, False))(x), x)


# --- other layers ---


def test_autocast(torch, default_device):
    a, b = torch.randn(3, 4, 5), torch.randn(3, 5, 2)
    with torch.autocast(default_device, dtype=torch.bfloat16):
        got = torch.vmap(torch.mm)(a, b)
        want = torch.bmm(a, b)
    assert got.dtype == torch.bfloat16
    assert torch.equal(got, want)


def test_pipeline(torch, x):
    with torch.pipeline():
        got = torch.vmap(lambda a: (a.sin() * a).sum())(x)
    assert torch.equal(got, (x.sin() * x).sum(1))


def test_backward_through_vmap(torch, x):
    x.requires_grad_()
    torch.vmap(lambda a: (a * a).sum())(x).sum().backward()
    assert torch.equal(x.grad, 2 * x.detach())


def test_batch_norm_cannot_move_common_statistics(torch):
    norm = torch.nn.BatchNorm1d(2)
    with pytest.raises(RuntimeError, match="Batch norm got a batched tensor as input"):
        torch.vmap(norm)(torch.randn(3, 4, 2))
    torch.func.replace_all_batch_norm_modules_(norm)
    x = torch.randn(3, 4, 2)
    got = torch.vmap(norm)(x)
    torch.testing.assert_close(got, torch.stack([norm(a) for a in x]))


def test_losses_of_many_targets(torch):
    """The arguments alone say whether a step may reuse memory."""
    loss = torch.nn.functional.binary_cross_entropy_with_logits
    x, targets = torch.randn(5), torch.rand(3, 5)
    weights = torch.rand(5)
    for options in ({}, {"weight": weights}, {"pos_weight": weights}):
        found = torch.func.vmap(lambda target, kw=options: loss(x, target, **kw))(targets)
        expected = torch.stack([loss(x, target, **options) for target in targets])
        torch.testing.assert_close(found, expected)
