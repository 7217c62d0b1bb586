"""Sparse gradients of dense tensors: given to backward(), returned by functions, added up."""

import pytest


def uncoalesced(torch):
    return torch.sparse_coo_tensor([[1, 0, 1], [0, 1, 0]], [1.0, 2.0, 5.0], (2, 2))


def test_given_to_backward(torch):
    leaf = torch.ones(2, 2, requires_grad=True)
    leaf.backward(torch.eye(2).to_sparse())
    assert leaf.grad.is_sparse and leaf.grad.is_coalesced()
    assert leaf.grad.to_dense().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    leaf.grad = None
    leaf.backward(torch.eye(2, dtype=torch.float64).to_sparse())
    assert leaf.grad.dtype is torch.float32
    with pytest.raises(RuntimeError, match="expected layout Strided but got SparseCsr"):
        leaf.backward(torch.eye(2).to_sparse_csr())


FUNCTIONS = [
    lambda x: x * 3,
    lambda x: -x,
    lambda x: x.exp(),
    lambda x: x / 2,
    lambda x: x + x,
    lambda x: x * x.detach(),
    lambda x: x.t(),
]


@pytest.mark.parametrize("body", FUNCTIONS)
def test_through_functions(torch, body):
    sparse = torch.full((2, 2), 0.5, requires_grad=True)
    dense = torch.full((2, 2), 0.5, requires_grad=True)
    body(sparse).backward(uncoalesced(torch))
    body(dense).backward(uncoalesced(torch).to_dense())
    assert sparse.grad.is_sparse
    torch.testing.assert_close(sparse.grad.to_dense(), dense.grad)
    (found,) = torch.autograd.grad(body(sparse), sparse, uncoalesced(torch))
    assert found.is_sparse and torch.equal(found.to_dense(), sparse.grad.to_dense())


def test_of_a_product(torch):
    leaf = torch.ones(2, 2, requires_grad=True)
    (leaf @ torch.ones(2, 2)).backward(uncoalesced(torch))
    assert leaf.grad.layout is torch.strided
    assert leaf.grad.tolist() == [[2.0, 2.0], [6.0, 6.0]]


def test_added_up(torch):
    given = uncoalesced(torch)
    leaf = torch.ones(2, 2, requires_grad=True)
    leaf.backward(given)
    first = leaf.grad
    assert first is not given
    leaf.backward(given)
    assert leaf.grad is first and first._nnz() == 3 and first._values().tolist() == [2, 4, 10]
    assert given._values().tolist() == [1, 2, 5]
    leaf.backward(torch.ones(2, 2))
    assert leaf.grad.tolist() == [[1.0, 5.0], [13.0, 1.0]] and first.is_sparse
    dense = leaf.grad
    leaf.backward(given)
    assert leaf.grad is dense and dense.tolist() == [[1.0, 7.0], [19.0, 1.0]]


@pytest.mark.parametrize("sparse_first", [True, False])
def test_of_functions(torch, sparse_first):
    class Sparse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad.to_sparse()

    leaf = torch.ones(2, 2, requires_grad=True)
    (Sparse.apply(leaf).sum() + Sparse.apply(leaf * 2).sum()).backward()
    assert leaf.grad.is_sparse and leaf.grad.to_dense().tolist() == [[3.0, 3.0], [3.0, 3.0]]
    leaf.grad = None
    terms = [Sparse.apply(leaf).sum(), (leaf * 2).sum()]
    sum(terms if sparse_first else terms[::-1]).backward()
    assert leaf.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_hooks(torch):
    seen = []
    leaf = torch.ones(2, 2, requires_grad=True)
    leaf.register_hook(lambda grad: seen.append(grad) or grad * 2)
    leaf.backward(uncoalesced(torch))
    assert seen[0].is_sparse and leaf.grad._values().tolist() == [2, 4, 10]
    other = torch.ones(2, 2, requires_grad=True)
    other.register_hook(lambda grad: grad.to_dense())
    with pytest.raises(RuntimeError, match="has changed the type of value"):
        other.backward(uncoalesced(torch))


def test_assigned(torch):
    leaf, grad = torch.ones(2, 2, requires_grad=True), uncoalesced(torch)
    leaf.grad = grad
    assert leaf.grad is grad


def test_of_sparse_leaves(torch):
    leaf = torch.eye(2).to_sparse().requires_grad_()
    leaf.backward(uncoalesced(torch))
    assert leaf.grad._nnz() == 3 and leaf.grad is leaf.grad
    torch.sparse.mm(leaf, torch.ones(2, 1)).sum().backward()
    assert leaf.grad.to_dense().tolist() == [[1.0, 2.0], [6.0, 1.0]]


def test_embedding_called_directly(torch):
    weight = torch.ones(4, 2, requires_grad=True)
    torch.embedding(weight, torch.tensor([[1, 3], [1, 0]]), 3, sparse=True).sum().backward()
    assert weight.grad.is_sparse and weight.grad._indices().tolist() == [[1, 1, 0]]
    assert weight.grad.to_dense()[:, 0].tolist() == [1, 2, 0, 0]
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported"):
        torch.embedding(weight, torch.tensor([1]), -1, True, True).sum().backward()


def test_gather(torch):
    source = torch.ones(4, 2, requires_grad=True)
    index = torch.tensor([[1, 0], [3, 1]])
    source.gather(0, index, sparse_grad=True).sum().backward()
    assert source.grad.is_sparse
    assert source.grad._indices().tolist() == [[1, 0, 3, 1], [0, 1, 0, 1]]


def test_sums(torch):
    given = uncoalesced(torch)
    twice = given + given
    assert twice._nnz() == 3 and not twice.is_coalesced()
    both = torch.eye(2).to_sparse() + torch.ones(2, 2).to_sparse()
    assert both.is_coalesced() and both.values().tolist() == [2, 1, 1, 2]
    mixed = given + torch.eye(2).to_sparse()
    assert mixed._nnz() == 5 and mixed.to_dense().tolist() == [[1.0, 2.0], [6.0, 1.0]]


def test_sum_of_random_tensors(torch):
    torch.manual_seed(3)
    for count in (1, 7, 400):
        a, b = (
            torch.sparse_coo_tensor(
                torch.randint(20, (2, count)),
                torch.rand(count, 3, dtype=torch.float64),
                (20, 20, 3),
            )
            for _ in range(2)
        )
        for one, other in ((a, b), (a.coalesce(), b), (a.coalesce(), b.coalesce())):
            want = one.to_dense() + 2 * other.to_dense()
            torch.testing.assert_close(torch.add(one, other, alpha=2).to_dense(), want)


def test_product_under_vmap(torch):
    places = torch.tensor([[0, 1, 2], [2, 0, 2]])
    values, dense = torch.rand(4, 3), torch.rand(4, 3, 2)

    def product(values, dense):
        return torch.sparse.mm(torch.sparse_coo_tensor(places, values, (3, 3)), dense)

    def one_by_one(*batches):
        return torch.stack([product(*each) for each in zip(*batches, strict=True)])

    torch.testing.assert_close(torch.vmap(product)(values, dense), one_by_one(values, dense))
    found = torch.vmap(product, (None, 0))(values[0], dense)
    torch.testing.assert_close(found, one_by_one([values[0]] * 4, dense))
    wanted = torch.stack(
        [torch.func.grad(lambda v, d=d: product(v, d).sum())(values[0]) for d in dense]
    )
    grads = torch.vmap(torch.func.grad(lambda v, d: product(v, d).sum()), (None, 0))
    torch.testing.assert_close(grads(values[0], dense), wanted)
