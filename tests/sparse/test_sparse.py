"""What sparse tensors do, with the answers written down or computed from dense ones."""

import io
import pickle

import pytest

PLACES = [[0, 1, 1, 2], [2, 0, 2, 1]]
VALUES = [3.0, -4.0, 0.5, 2.0]
DENSE = [[0.0, 0.0, 3.0], [-4.0, 0.0, 0.5], [0.0, 2.0, 0.0]]


@pytest.fixture
def matrix(torch):
    return torch.sparse_coo_tensor(PLACES, VALUES, (3, 3)).coalesce()


def test_components(torch, matrix):
    assert matrix.layout is torch.sparse_coo and matrix.is_sparse and not matrix.is_sparse_csr
    assert matrix.indices().tolist() == PLACES and matrix.values().tolist() == VALUES
    assert matrix.to_dense().tolist() == DENSE
    csr = matrix.to_sparse_csr()
    assert csr.layout is torch.sparse_csr and csr.is_sparse_csr and not csr.is_sparse
    assert csr.crow_indices().tolist() == [0, 1, 3, 4]
    assert csr.col_indices().tolist() == [2, 0, 2, 1]
    assert csr.to_dense().tolist() == matrix.to_sparse_csc().to_dense().tolist() == DENSE
    assert isinstance(matrix, torch.Tensor) and torch.is_tensor(matrix)


def test_entries_at_one_place_add_up(torch):
    doubled = torch.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 4.0], (3,))
    assert not doubled.is_coalesced()
    assert doubled.to_dense().tolist() == [2.0, 5.0, 0.0]
    once = doubled.coalesce()
    assert once.is_coalesced() and once.indices().tolist() == [[0, 1]]
    assert once.values().tolist() == [2.0, 5.0]


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "int32",
                                   "complex64"])  # fmt: skip
@pytest.mark.parametrize("columns", [1, 3, 8, 37, 100])
def test_products(torch, layout, dtype, columns):
    dtype = getattr(torch, dtype)
    torch.manual_seed(columns)
    dense = torch.randint(-3, 4, (19, 23)).to(dtype)
    dense[torch.rand(19, 23) < 0.7] = 0
    other = torch.randint(-3, 4, (23, columns)).to(dtype)
    found = dense.to_sparse(layout=getattr(torch, layout)) @ other
    assert found.dtype is dtype and torch.equal(found.cpu(), dense.cpu() @ other.cpu())
    turned = other.t().contiguous() @ dense.t().to_sparse(layout=getattr(torch, layout))
    assert torch.equal(turned.cpu(), other.cpu().t() @ dense.cpu().t())


def test_large_product_on_threads(torch):
    generator = torch.Generator().manual_seed(0)
    places = torch.randint(2000, (2, 50_000), generator=generator)
    values = torch.rand(50_000, generator=generator, dtype=torch.float64)
    sparse = torch.sparse_coo_tensor(places, values, (2000, 2000))
    other = torch.rand(2000, 40, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(sparse @ other, sparse.to_dense() @ other)


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_sparse_times_sparse(torch, matrix, layout):
    other = torch.tensor(DENSE).t().to_sparse(layout=getattr(torch, layout))
    product = torch.sparse.mm(matrix.to_sparse(layout=getattr(torch, layout)), other)
    assert product.layout is getattr(torch, layout)
    expected = torch.tensor(DENSE) @ torch.tensor(DENSE).t()
    assert torch.equal(product.to_dense(), expected)


def test_gradients(torch):
    values = torch.tensor(VALUES, dtype=torch.float64, requires_grad=True)
    dense = torch.arange(6.0, dtype=torch.float64).reshape(3, 2).requires_grad_()
    places = torch.tensor(PLACES)

    def product(values, dense):
        return torch.sparse.mm(torch.sparse_coo_tensor(places, values, (3, 3)), dense)

    assert torch.autograd.gradcheck(product, (values, dense))
    assert torch.autograd.gradgradcheck(product, (values, dense))


def test_sparse_leaf(torch, matrix):
    matrix.requires_grad_()
    assert matrix.is_leaf and matrix.requires_grad and matrix.grad is None
    (matrix @ torch.ones(3, 2)).sum().backward()
    assert matrix.grad.indices().tolist() == PLACES
    assert matrix.grad.values().tolist() == [2.0] * 4
    (found,) = torch.autograd.grad((matrix * matrix).sum(), matrix)
    assert found.values().tolist() == [2 * value for value in VALUES]
    matrix.grad = None
    assert matrix.grad is None


def test_embedding(torch):
    table = torch.nn.Embedding(1000, 4, sparse=True)
    for _ in range(2):
        table(torch.tensor([[7, 9], [7, 3]])).sum().backward()
    grad = table.weight.grad
    assert grad.is_sparse and grad.sparse_dim() == 1 and grad.dense_dim() == 1
    assert grad.coalesce().indices().tolist() == [[3, 7, 9]]
    assert grad.coalesce().values()[:, 0].tolist() == [2.0, 4.0, 2.0]
    before = table.weight.detach().clone()
    torch.optim.SGD(table.parameters(), lr=1.0).step()
    changed = (before - table.weight.detach())[[3, 7, 9, 10], 0]
    torch.testing.assert_close(changed, torch.tensor([2.0, 4.0, 2.0, 0.0]))


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
def test_saved_and_pickled(torch, matrix, layout):
    given = matrix.to_sparse(layout=getattr(torch, layout))
    file = io.BytesIO()
    torch.save({"matrix": given}, file)
    file.seek(0)
    copies = torch.load(file)["matrix"], pickle.loads(pickle.dumps(given))
    for copy in copies:
        torch.testing.assert_close(copy, given)


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_files_of_torch(torch, torch_gives, layout):
    def saved(torch):
        matrix = torch.sparse_coo_tensor(PLACES, VALUES, (3, 3)).coalesce()
        file = io.BytesIO()
        torch.save(matrix.to_sparse(layout=getattr(torch, layout)), file)
        return file.getvalue()

    assert torch.load(io.BytesIO(torch_gives(saved))).to_dense().tolist() == DENSE


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_torch_reads_our_files(oracle, torch, matrix, layout):
    file = io.BytesIO()
    torch.save(matrix.to_sparse(layout=getattr(torch, layout)), file)
    file.seek(0)
    assert oracle.load(file).to_dense().tolist() == DENSE


def test_buffers(torch, matrix):
    module = torch.nn.Module()
    module.register_buffer("adjacency", matrix)
    module.double()
    assert module.adjacency.dtype is torch.float64
    assert module.state_dict()["adjacency"].to_dense().tolist() == DENSE


def test_no_silent_conversion(torch, matrix):
    for name in ("cos", "exp", "cumsum", "argmax", "flip"):
        with pytest.raises(NotImplementedError, match=f"aten::{name}.*Sparse[CN]PU"):
            getattr(matrix, name)(*[0] * (name in ("cumsum", "flip")))
    with pytest.raises(RuntimeError, match="doesn't have storage"):
        matrix.data_ptr()


def test_indices_out_of_range(torch):
    wrong = torch.sparse_coo_tensor([[0, 9], [0, 0]], [1.0, 1.0], (2, 2))
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        torch.sparse.mm(wrong, torch.ones(2, 2))
    with torch.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError, match="dim 0"):
        torch.sparse_coo_tensor([[0, 9], [0, 0]], [1.0, 1.0], (2, 2))


def test_in_a_pipeline(torch, matrix):
    other = torch.arange(6.0).reshape(3, 2)
    with torch.pipeline():
        found = matrix @ (other + 1)
    assert torch.equal(found, torch.tensor(DENSE) @ (other + 1))


def test_vmap(torch, matrix):
    batch = torch.arange(12.0).reshape(2, 3, 2)
    found = torch.vmap(lambda x: torch.sparse.mm(matrix, x))(batch)
    assert torch.equal(found, torch.tensor(DENSE) @ batch)


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_low_rank_decompositions(torch, matrix, layout):
    given = matrix.to_sparse(layout=getattr(torch, layout))
    dense = torch.tensor(DENSE)
    torch.testing.assert_close(torch.svd_lowrank(given, 3)[1], torch.linalg.svdvals(dense))
    centred = torch.linalg.svdvals(dense - dense.mean(0))[:2]
    torch.testing.assert_close(torch.pca_lowrank(given, 3)[1][:2], centred)


def test_checked_gradients(torch, matrix):
    check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    for given in (matrix.double(), matrix.double().to_sparse_csr()):
        leaf = given.requires_grad_()
        assert check(lambda a: torch.sparse.mm(a, torch.eye(3, dtype=a.dtype)), leaf, masked=True)


def test_written_rows_are_read_again(torch):
    csr = torch.sparse_csr_tensor([0, 1, 1], [0], [5.0], (2, 2))
    assert (csr @ torch.eye(2)).tolist() == [[5.0, 0.0], [0.0, 0.0]]
    csr.crow_indices().copy_(torch.tensor([0, 0, 1]))
    assert (csr @ torch.eye(2)).tolist() == [[0.0, 0.0], [5.0, 0.0]]


def test_dense_tensors_do_not_become_sparse_in_place(torch):
    dense, sparse = torch.eye(2), torch.ones(2, 2).to_sparse()
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        dense.data = sparse
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        sparse.data = dense
    assert dense.sum().item() == 2 and sparse.to_dense().sum().item() == 4


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool"])
@pytest.mark.parametrize("order", ["of rows", "any"])
def test_large_dense_tensor_on_threads(torch, dtype, order):
    generator = torch.Generator().manual_seed(0)
    rows, cols = 700, 900
    row = torch.randint(rows, (3000,), generator=generator)
    col = torch.randint(cols, (3000,), generator=generator)
    if order == "of rows":
        row = row.sort()[0]
    values = torch.randint(-4, 5, (3000,), generator=generator).to(getattr(torch, dtype))
    expected = [0] * (rows * cols)
    for place, value in zip((row * cols + col).tolist(), values.tolist(), strict=True):
        expected[place] = expected[place] + value if dtype != "bool" else expected[place] or value
    matrix = torch.sparse_coo_tensor(torch.stack([row, col]), values, (rows, cols))
    threads = torch.get_num_threads()
    try:
        for count in (1, 2, 5):
            torch.set_num_threads(count)
            dense = matrix.to_dense()
            assert dense.dtype is values.dtype and dense.shape == (rows, cols)
            assert dense.flatten().tolist() == expected
    finally:
        torch.set_num_threads(threads)


def test_dense_tensors_check_coordinates(torch):
    matrix = torch.sparse_coo_tensor([[0, 1], [0, 1]], [1.0, 2.0], (2, 3))
    matrix._indices()[1, 1] = 3
    with pytest.raises(IndexError):
        matrix.to_dense()


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
@pytest.mark.parametrize("name", ["abs", "sin", "neg", "signbit", "add", "mul", "floor_divide"])
def test_results_are_written_to_out(torch, name, layout):
    x = torch.tensor([[0.0, -2.0], [3.0, 0.0]]).to_sparse(layout=getattr(torch, layout))
    others = {"add": (x,), "mul": (x,), "floor_divide": (2,)}.get(name, ())
    function = getattr(torch, name)
    wanted = function(x, *others)
    out = torch.zeros(2, 2, dtype=wanted.dtype).to_sparse(layout=getattr(torch, layout))
    assert function(x, *others, out=out) is out and out.dtype == wanted.dtype
    assert out.to_dense().tolist() == wanted.to_dense().tolist()


def test_out_of_another_layout_or_dtype(torch):
    x = torch.eye(2).to_sparse()
    with pytest.raises(RuntimeError, match="sparse_coo cannot be written to out= of layout"):
        torch.sin(x, out=torch.zeros(2, 2))
    with pytest.raises(RuntimeError, match="Float can't be cast to the desired output type Long"):
        torch.sin(x, out=torch.zeros(2, 2, dtype=torch.int64).to_sparse())
    wide = torch.zeros(2, 2, dtype=torch.float64).to_sparse()
    assert torch.sin(x, out=wide).dtype == torch.float64
    zeros = torch.eye(2).to_sparse()
    assert torch.zeros(3, 3, out=zeros) is zeros and zeros._nnz() == 0 and zeros.shape == (3, 3)
