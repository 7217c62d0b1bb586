"""Programs whose gradients must be torch's: of values, of sparse leaves, of dense factors, of
embeddings with sparse gradients; and optimizers that step by those."""

from tests.sparse.expressions import sparse, tall

# name: a number of a library and a sparse matrix.
SCALARS = {
    "mm": lambda t, a: (t.sparse.mm(a, tall(t)) ** 2).sum(),
    "to_dense": lambda t, a: (a.to_dense() * weights(t)).sum(),
    "coalesce": lambda t, a: (a.coalesce().values() ** 2).sum(),
    "sum": lambda t, a: t.sparse.sum(a) * 3,
    "sum of rows": lambda t, a: (t.sparse.sum(a, 0).to_dense() * t.arange(3.0)).sum(),
    "times dense": lambda t, a: ((a * weights(t)).to_dense() ** 2).sum(),
    "times number": lambda t, a: ((a * 2).to_dense() ** 2).sum(),
    "add": lambda t, a: ((a + a).to_dense() ** 2).sum(),
    "softmax": lambda t, a: (t.sparse.softmax(a, 1).to_dense() * weights(t)).sum(),
    "log_softmax": lambda t, a: (t.sparse.log_softmax(a, 1).to_dense() * weights(t)).sum(),
    "sparse product": lambda t, a: (t.sparse.mm(a, sparse(t)).to_dense() * weights(t)).sum(),
    "right factor": lambda t, a: (t.sparse.mm(sparse(t), a).to_dense() * weights(t)).sum(),
    "both factors": lambda t, a: (t.sparse.mm(a, a).to_dense() * weights(t)).sum(),
    "addmm": lambda t, a: (t.sparse.addmm(t.ones(3, 2), a, tall(t), alpha=2) ** 2).sum(),
    "neg": lambda t, a: ((-a).to_dense() * weights(t)).sum(),
    "div": lambda t, a: ((a / 2).to_dense() * weights(t)).sum(),
}


def weights(torch):
    return torch.arange(9.0).reshape(3, 3)


def of_values(scalar):
    def run(torch):
        values = torch.tensor([3.0, -4.0, 0.5, 2.0], requires_grad=True)
        places = torch.tensor([[0, 1, 1, 2], [2, 0, 2, 1]])
        scalar(torch, torch.sparse_coo_tensor(places, values, (3, 3))).backward()
        return values.grad

    return run


def of_leaf(scalar, **options):
    def run(torch):
        leaf = sparse(torch, **options).requires_grad_()
        scalar(torch, leaf).backward()
        return [str(leaf.grad.layout), leaf.grad.to_dense()]

    return run


def of_dense(scalar, **options):
    def run(torch):
        dense = tall(torch).requires_grad_()
        scalar(torch, sparse(torch, **options), dense).backward()
        return dense.grad

    return run


def table(torch):
    return torch.arange(10.0).reshape(5, 2).requires_grad_()


def looked_up(torch, weight, places=((1, 3), (1, 0)), **options):
    rows = torch.nn.functional.embedding(torch.tensor(places), weight, sparse=True, **options)
    return (rows**2).sum()


def of_embedding(*losses):
    def run(torch):
        weight = table(torch)
        for loss in losses:
            loss(torch, weight).backward()
        return weight.grad.coalesce() if weight.grad.is_sparse else weight.grad

    return run


def dense_loss(torch, weight):
    return (weight * weight).sum()


def of_custom_function(torch):
    """As programs wrote it before torch.sparse.mm had a derivative for values."""

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, places, values, size, dense):
            matrix = torch.sparse_coo_tensor(places, values, size)
            ctx.save_for_backward(matrix, dense)
            return torch.matmul(matrix, dense)

        @staticmethod
        def backward(ctx, grad):
            matrix, dense = ctx.saved_tensors
            flat = matrix._indices()[0] * matrix.shape[1] + matrix._indices()[1]
            values = grad.matmul(dense.t()).view(-1)[flat]
            return None, values, None, matrix.t().matmul(grad)

    values = torch.tensor([3.0, -4.0, 0.5, 2.0], requires_grad=True)
    dense = tall(torch).requires_grad_()
    places = torch.tensor([[0, 1, 1, 2], [2, 0, 2, 1]])
    Product.apply(places, values, torch.Size([3, 3]), dense).pow(2).sum().backward()
    return values.grad, dense.grad


PROGRAMS = {
    **{f"{name}, of values": of_values(scalar) for name, scalar in SCALARS.items()},
    **{f"{name}, of leaf": of_leaf(scalar) for name, scalar in SCALARS.items()},
    "mm, of uncoalesced leaf": of_leaf(SCALARS["mm"], is_coalesced=False),
    "mm, of CSR leaf": of_leaf(SCALARS["mm"], csr=True),
    "to_dense, of CSR leaf": of_leaf(SCALARS["to_dense"], csr=True),
    "mm, of dense": of_dense(lambda t, a, x: (t.sparse.mm(a, x) ** 2).sum()),
    "mm uncoalesced, of dense": of_dense(
        lambda t, a, x: (t.sparse.mm(a, x) ** 2).sum(), is_coalesced=False
    ),
    "CSR @, of dense": of_dense(lambda t, a, x: ((a @ x) ** 2).sum(), csr=True),
    "sampled_addmm, of dense": of_dense(
        lambda t, a, x: (t.sparse.sampled_addmm(a, x, tall(t).t()).values() ** 2).sum(), csr=True
    ),
    "sparse_mask, of dense": of_dense(
        lambda t, a, x: ((x @ tall(t).t()).sparse_mask(a).values() ** 2).sum()
    ),
    "to_sparse, of dense": of_dense(lambda t, a, x: (x.to_sparse().values() ** 2).sum()),
    "sparse times dense, of dense": of_dense(
        lambda t, a, x: ((a * (x @ tall(t).t())).to_dense() ** 2).sum()
    ),
    "dense plus sparse, of dense": of_dense(lambda t, a, x: (((x @ tall(t).t()) + a) ** 2).sum()),
    "embedding": of_embedding(looked_up),
    "embedding twice": of_embedding(looked_up, looked_up),
    "embedding, then dense": of_embedding(looked_up, dense_loss),
    "embedding and dense": of_embedding(lambda t, w: looked_up(t, w) + dense_loss(t, w)),
    "embedding with padding": of_embedding(lambda t, w: looked_up(t, w, padding_idx=1)),
    "custom Function": of_custom_function,
}

OPTIMIZERS = [
    "SGD([w], lr=0.1)",
    "SGD([w], lr=0.1, momentum=0.9)",
    "SGD([w], lr=0.1, maximize=True)",
    "SGD([w], lr=0.1, weight_decay=0.1)",
    "Adagrad([w], lr=0.1, lr_decay=0.1)",
    "Adagrad([w], lr=0.1, weight_decay=0.1)",
    "SparseAdam([w], lr=0.1)",
    "SparseAdam([w], lr=0.1, maximize=True)",
    "Adam([w])",
    "AdamW([w])",
    "RMSprop([w])",
    "Adadelta([w])",
    "RAdam([w])",
    "NAdam([w])",
]


def steps(torch, text):
    """The table after four steps, each of which looks up other rows."""
    weight = torch.nn.Parameter(torch.arange(10.0).reshape(5, 2))
    optimizer = eval(f"torch.optim.{text}", {"torch": torch, "w": weight})
    for places in ([1, 3, 1], [0, 2, 2], [4, 4, 1], [1, 0, 3]):
        optimizer.zero_grad()
        looked_up(torch, weight, places).backward()
        optimizer.step()
    return weight.detach()
