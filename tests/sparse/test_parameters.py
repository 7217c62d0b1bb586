"""Sparse tensors as parameters and from torch.zeros(layout=...)."""

import copy
import io
import pickle

import pytest


def adjacency(torch):
    return torch.sparse_coo_tensor([[0, 1], [1, 0]], [3.0, 4.0], (2, 2)).coalesce()


class Product:
    """A module whose only parameter is sparse."""

    def __new__(cls, torch, weight):
        class Module(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(weight)

            def forward(self, x):
                return torch.sparse.mm(self.weight, x)

        return Module()


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr"])
def test_parameter(torch, layout):
    blocks = {"blocksize": (1, 1)} if layout == "sparse_bsr" else {}
    given = adjacency(torch).to_dense().to_sparse(layout=getattr(torch, layout), **blocks)
    made = torch.nn.Parameter(given)
    assert isinstance(made, torch.nn.Parameter) and type(made).__name__ == "Parameter"
    assert made.requires_grad and made.is_leaf and made.layout is given.layout
    assert repr(made).startswith("Parameter containing:\ntensor(")
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert isinstance(other, torch.nn.Parameter) and other.requires_grad
        assert torch.equal(other.to_dense(), given.to_dense())
    with pytest.raises(RuntimeError, match="floating point and complex dtype"):
        torch.nn.Parameter(given.int())


def test_in_a_module(torch):
    module = Product(torch, adjacency(torch))
    assert [name for name, _ in module.named_parameters()] == ["weight"]
    module(torch.ones(2, 2)).sum().backward()
    module.double()
    assert module.weight.dtype is module.weight.grad.dtype is torch.float64
    assert module.weight.grad.to_dense().tolist() == [[0.0, 2.0], [2.0, 0.0]]
    module.zero_grad()
    assert module.weight.grad is None
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    other = Product(torch, adjacency(torch) * 5)
    other.load_state_dict(torch.load(file))
    assert other.weight.to_dense().tolist() == [[0.0, 3.0], [4.0, 0.0]]
    assert other.weight.requires_grad and isinstance(other.weight, torch.nn.Parameter)


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_steps(torch, layout):
    module = Product(torch, adjacency(torch).to_sparse(layout=getattr(torch, layout)))
    dense = torch.nn.Parameter(adjacency(torch).to_dense())
    places = dense.detach() != 0
    optimizer = torch.optim.SGD([*module.parameters(), dense], lr=0.01)
    x = torch.arange(4.0).reshape(2, 2)
    for _ in range(3):
        optimizer.zero_grad()
        (module(x) ** 2).sum().backward()
        ((dense * places @ x) ** 2).sum().backward()
        optimizer.step()
    assert module.weight.layout is getattr(torch, layout) and module.weight.requires_grad
    torch.testing.assert_close(module.weight.detach().to_dense(), dense.detach())


def test_writing_to_leaves(torch):
    leaf = torch.nn.Parameter(adjacency(torch))
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf.mul_(2)
    with torch.no_grad():
        leaf.mul_(2)
    assert leaf.requires_grad and leaf.to_dense().tolist() == [[0.0, 6.0], [8.0, 0.0]]
    leaf.grad = adjacency(torch)
    leaf.grad.mul_(2)
    assert leaf.grad._values().tolist() == [6.0, 8.0]
    with pytest.raises(RuntimeError, match="data of a different type"):
        leaf.grad = torch.eye(2)


@pytest.mark.parametrize("name", ["zeros", "empty"])
def test_layouts_of_factories(torch, name):
    coo = getattr(torch, name)(2, 3, layout=torch.sparse_coo, dtype=torch.float64)
    assert coo.layout is torch.sparse_coo and coo.dtype is torch.float64 and coo._nnz() == 0
    assert coo.to_dense().tolist() == [[0.0] * 3] * 2 and coo.is_coalesced()
    csr = getattr(torch, name)((2, 3), layout=torch.sparse_csr)
    assert csr.layout is torch.sparse_csr and csr.crow_indices().tolist() == [0, 0, 0]
    assert (csr @ torch.ones(3, 1)).tolist() == [[0.0], [0.0]]
    csc = getattr(torch, name)(2, 3, layout=torch.sparse_csc)
    assert csc.ccol_indices().tolist() == [0] * 4
    leaf = getattr(torch, name)(2, 3, layout=torch.sparse_coo, requires_grad=True)
    assert leaf.requires_grad
    with pytest.raises(RuntimeError, match="Only batched sparse compressed"):
        getattr(torch, name)(3, layout=torch.sparse_csr)
    with pytest.raises(RuntimeError, match="non-block"):
        getattr(torch, name)(2, 3, layout=torch.sparse_bsr)


def test_layouts_of_other_factories(torch):
    assert torch.zeros_like(torch.ones(2, 3), layout=torch.sparse_csr).layout is torch.sparse_csr
    assert torch.ones(2).new_zeros((2, 3), layout=torch.sparse_coo).shape == (2, 3)
    assert torch.eye(2).to_sparse_csr().new_zeros((2, 3)).layout is torch.sparse_csr
    assert torch.zeros_like(torch.eye(2).to_sparse(), layout=torch.strided).tolist() == [[0, 0]] * 2
    with pytest.raises(RuntimeError, match="is not implemented for sparse layout"):
        torch.ones(2, layout=torch.sparse_coo)
    with pytest.raises(NotImplementedError, match="aten::rand' .*SparseCPU"):
        torch.rand(2, layout=torch.sparse_coo)
    with pytest.raises(TypeError, match="layout"):
        torch.zeros(2, layout="sparse")
