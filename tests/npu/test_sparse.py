"""Sparse tensors on an NPU: the components are there, and products and their gradients are made of
CANN's ops."""

import pytest


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_products_and_gradients(torch, layout):
    places = torch.tensor([[0, 1, 1, 2, 1], [2, 0, 2, 1, 2]])
    values = torch.tensor([3.0, -4.0, 0.5, 2.0, 1.0])
    dense = torch.arange(6.0).reshape(3, 2)
    found = {}
    for device in ("cpu", "npu"):
        own = values.detach().to(device).requires_grad_()
        other = dense.detach().to(device).requires_grad_()
        matrix = torch.sparse_coo_tensor(places.to(device), own, (3, 3)).coalesce()
        matrix = matrix.to_sparse(layout=getattr(torch, layout))
        assert matrix.device.type == device
        product = torch.sparse.mm(matrix, other)
        (product**2).sum().backward()
        found[device] = [product.detach(), own.grad, other.grad, matrix.detach().to_dense()]
    for one, other in zip(found["cpu"], found["npu"], strict=True):
        torch.testing.assert_close(one, other.cpu())


def test_moved_and_back(torch):
    matrix = torch.eye(3).to_sparse()
    there = matrix.to("npu")
    assert there.is_npu and there.indices().is_npu and there.values().is_npu
    torch.testing.assert_close(there.cpu(), matrix)
    assert (there * 2).to_dense().cpu().tolist() == (torch.eye(3) * 2).tolist()


def test_sparse_gradient(torch):
    table = torch.nn.Embedding(10, 2, sparse=True).to("npu")
    table(torch.tensor([1, 1, 4], device="npu")).sum().backward()
    assert table.weight.grad.coalesce().indices().tolist() == [[1, 4]]
    before = table.weight.detach().clone()
    torch.optim.SGD(table.parameters(), lr=0.5).step()
    assert (before - table.weight.detach()).cpu()[[1, 4, 5], 0].tolist() == pytest.approx(
        [1, 0.5, 0]
    )
