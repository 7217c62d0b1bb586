"""Layouts of blocks: BSR and BSC."""

import io

import pytest

DENSE = [
    [1.0, 2, 0, 0, 5, 0],
    [0, 3, 0, 0, 0, 6],
    [0, 0, 0, 0, 7, 0],
    [0, 0, 0, 0, 0, 0],
]


@pytest.fixture(params=["bsr", "bsc"])
def matrix(torch, request):
    return getattr(torch.tensor(DENSE), f"to_sparse_{request.param}")((2, 2))


def test_components(torch, matrix):
    assert matrix._nnz() == 3 and matrix.values().shape == (3, 2, 2)
    assert (matrix.sparse_dim(), matrix.dense_dim()) == (2, 0)
    assert not matrix.is_sparse and not matrix.is_sparse_csr
    if matrix.layout is torch.sparse_bsr:
        assert matrix.crow_indices().tolist() == [0, 2, 3]
        assert matrix.col_indices().tolist() == [0, 2, 2]
        with pytest.raises(RuntimeError, match="column compressed tensor layout but got SparseBsr"):
            matrix.ccol_indices()
    else:
        assert matrix.ccol_indices().tolist() == [0, 1, 1, 3]
        assert matrix.row_indices().tolist() == [0, 0, 1]
    assert f"layout={matrix.layout}" in repr(matrix)


def test_back_and_forth(torch, matrix):
    dense = torch.tensor(DENSE)
    kind = str(matrix.layout)[-3:]
    assert torch.equal(matrix.to_dense(), dense)
    assert torch.equal(matrix.to_sparse().to_dense(), dense)
    for source in (dense.to_sparse(), dense.to_sparse_csr(), dense.to_sparse_csc(), matrix):
        torch.testing.assert_close(getattr(source, f"to_sparse_{kind}")((2, 2)), matrix)
    for block in ((1, 3), (4, 2), (2, 6), (1, 1)):
        assert torch.equal(getattr(dense, f"to_sparse_{kind}")(block).to_dense(), dense)
    assert torch.equal(matrix.t().to_dense(), dense.t())
    batch = torch.stack([dense, dense * 2])
    assert torch.equal(getattr(batch, f"to_sparse_{kind}")(2).to_dense(), batch)
    hybrid = torch.stack([dense, dense * 2], -1)
    made = getattr(hybrid, f"to_sparse_{kind}")((2, 3), dense_dim=1)
    assert made.dense_dim() == 1 and torch.equal(made.to_dense(), hybrid)


def test_functions(torch, matrix):
    dense, x = torch.tensor(DENSE), torch.rand(6, 3)
    torch.testing.assert_close(matrix @ x, dense @ x)
    torch.testing.assert_close(matrix @ x[:, 0], dense @ x[:, 0])
    torch.testing.assert_close(x.t()[:, :4] @ matrix, x.t()[:, :4] @ dense)
    for function in (torch.sin, torch.neg, torch.abs, lambda a: a * 2, torch.clone):
        found = function(matrix)
        assert found.layout is matrix.layout and torch.equal(found.to_dense(), function(dense))
    assert torch.equal((matrix + matrix).to_dense(), dense * 2)
    assert torch.equal((matrix * dense).to_dense(), dense * dense)
    assert matrix.sum().item() == dense.sum().item()
    assert matrix.double().dtype is torch.float64


def test_saved(torch, matrix):
    file = io.BytesIO()
    torch.save(matrix, file)
    file.seek(0)
    torch.testing.assert_close(torch.load(file), matrix)


def test_created(torch):
    blocks = [[[1.0, 2.0, 3.0]], [[5.0, 6.0, 7.0]]]
    rows = torch.sparse_bsr_tensor([0, 1, 2], [1, 0], blocks)
    assert rows.to_dense().tolist() == [[0, 0, 0, 1, 2, 3], [5, 6, 7, 0, 0, 0]]
    columns = torch.sparse_bsc_tensor([0, 1, 2], [1, 0], blocks)
    assert columns.to_dense().tolist() == [[0, 0, 0, 5, 6, 7], [1, 2, 3, 0, 0, 0]]
    same = torch.sparse_compressed_tensor([0, 1, 2], [1, 0], blocks, layout=torch.sparse_bsr)
    torch.testing.assert_close(same, rows)


def test_mistakes(torch, matrix):
    dense = torch.tensor(DENSE)
    with pytest.raises(RuntimeError, match=r"size \(4,6\) must be divisible by given blocksize"):
        dense.to_sparse_bsr((3, 2))
    with pytest.raises(RuntimeError, match="blocksize needs to be a tuple of size 2, but got 1"):
        dense.to_sparse_bsc((2,))
    with pytest.raises(RuntimeError, match="without blocksize argument given"):
        dense.to_sparse(layout=torch.sparse_bsr)
    with pytest.raises(RuntimeError, match="with blocksize argument given"):
        dense.to_sparse(layout=torch.sparse_csr, blocksize=(2, 2))
    with pytest.raises(RuntimeError, match="expected SparseCsr or SparseCsc layout"):
        matrix.to_sparse_csr()
    with pytest.raises(RuntimeError, match="values must have dimensionality"):
        torch.sparse_bsr_tensor([0, 1, 2], [0, 1], [1.0, 2.0])
    with pytest.raises(RuntimeError, match="must be divisible with blocksize"):
        torch.sparse_bsr_tensor(
            [0, 1, 2], [0, 1], torch.ones(2, 2, 2), (5, 4), check_invariants=True
        )
