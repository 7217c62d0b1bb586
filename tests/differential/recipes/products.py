"""Products of matrices."""

from tests.differential.recipes.common import recipe, sized, some


@recipe("mm")
def mm(w):
    n, k, m = w.shape(3)
    a, b = sized(w, (n, k), (k, m))
    return {"self": a, "mat2": b}


@recipe("bmm")
def bmm(w):
    batch, n, k, m = w.shape(4)
    a, b = sized(w, (batch, n, k), (batch, k, m))
    return {"self": a, "mat2": b}


@recipe("mv")
def mv(w):
    n, k = w.shape(2)
    a, b = sized(w, (n, k), (k,))
    return {"self": a, "vec": b}


@recipe("dot", "vdot")
def dot(w):
    (n,) = w.shape(1)
    a, b = sized(w, (n,), (n,))
    return {"self": a, "tensor": b, "other": b}


@recipe("outer", "ger")
def outer(w):
    n, m = w.shape(2)
    a, b = sized(w, (n,), (m,))
    return {"self": a, "vec2": b}


@recipe("inner")
def inner(w):
    (k,) = w.shape(1)
    a, b = sized(w, (*w.shape(w.pick(0, 1, 2)), k), (*w.shape(w.pick(0, 1, 2)), k))
    return {"self": a, "other": b}


@recipe("matmul", "linalg.matmul", "linalg_matmul")
def matmul(w):
    n, k, m = w.shape(3)
    batch = w.shape(w.pick(0, 0, 1, 2))
    left = (k,) if w.chance(0.2) else (*w.fitting(batch), n, k)
    right = (k,) if w.chance(0.2) else (*w.fitting(batch), k, m)
    a, b = sized(w, left, right)
    return {"self": a, "input": a, "other": b}


@recipe("linear")
def linear(w):
    n, k, m = w.shape(3)
    a, b, c = sized(w, (*w.shape(w.pick(0, 1, 2)), n, k), (m, k), (m,))
    return {"input": a, "weight": b, **some(w, bias=c)}


@recipe("addmm")
def addmm(w):
    n, k, m = w.shape(3)
    c, a, b = sized(w, w.fitting((n, m)), (n, k), (k, m))
    return {"self": c, "mat1": a, "mat2": b, **some(w, beta=w.number(), alpha=w.number())}


@recipe("addmv")
def addmv(w):
    n, k = w.shape(2)
    c, a, b = sized(w, w.fitting((n,)), (n, k), (k,))
    return {"self": c, "mat": a, "vec": b, **some(w, beta=w.number(), alpha=w.number())}


@recipe("addr")
def addr(w):
    n, m = w.shape(2)
    c, a, b = sized(w, w.fitting((n, m)), (n,), (m,))
    return {"self": c, "vec1": a, "vec2": b, **some(w, beta=w.number(), alpha=w.number())}


@recipe("addbmm", "baddbmm")
def addbmm(w):
    batch, n, k, m = w.shape(4)
    out = (batch, n, m) if w.chance(0.5) else (n, m)
    c, a, b = sized(w, w.fitting(out), (batch, n, k), (batch, k, m))
    return {"self": c, "batch1": a, "batch2": b, **some(w, beta=w.number(), alpha=w.number())}


@recipe("chain_matmul", "linalg.multi_dot")
def chain_matmul(w):
    sizes = w.shape(w.pick(2, 3, 4, 5))
    names = sized(w, *zip(sizes, sizes[1:], strict=False))
    return {"matrices": "*(" + ", ".join(names) + ",)", "tensors": "[" + ", ".join(names) + "]"}


@recipe("einsum")
def einsum(w):
    sizes = {letter: w.size() for letter in "bijk"}
    parts = w.pick(
        "ij->", "ij->i", "ij->ji", "ii->i", "ii->", "i->", "ij->j", "ij", "bij->b", "...i->...",
        "ij,jk->ik", "i,i->", "i,j->ij", "ij,ij->ij", "bij,bjk->bik", "ij,j", "ij,kj->ik",
        "ij,jk,k->i", "bij->", "ij, jk -> ki", "ji", "...ij,...jk->...ik", "ij->k", "ij,", "I,j",
    )  # fmt: skip
    names = []
    for part in parts.split("->")[0].replace(" ", "").split(","):
        shape = [sizes.get(letter, 2) for letter in part.replace("...", "")]
        names += sized(w, shape)
    return {"equation": repr(parts), "operands": "*(" + ", ".join(names) + ",)"}


@recipe("tensordot")
def tensordot(w):
    shared, left, right = w.shape(w.pick(0, 1, 2)), w.shape(1), w.shape(1)
    a, b = sized(w, (*left, *shared), (*shared, *right))
    n = len(shared)
    dims = str(n)
    if w.chance(0.4):
        dims = f"({list(range(1, n + 1))}, {list(range(n))})"
    return {"a": a, "b": b, "dims": dims}


@recipe("kron")
def kron(w):
    a, b = sized(w, w.shape(w.pick(0, 1, 2)), w.shape(w.pick(0, 1, 2)))
    return {"self": a, "other": b}


@recipe("cross")
def cross(w):
    shape = list(w.shape(w.pick(1, 2, 3)))
    at = w.random.randrange(len(shape))
    shape[at] = 3
    a, b = sized(w, shape, w.fitting(shape) if w.chance(0.2) else shape)
    return {"self": a, "other": b, **some(w, dim=w.dim(len(shape)) if w.strange else str(at))}


@recipe("scaled_dot_product_attention")
def attention(w):
    batch = w.shape(w.pick(0, 1, 2))
    n, m, k, v = (max(1, size) if w.chance(0.9) else size for size in w.shape(4))
    w.mixed = w.mixed and w.chance(0.2)
    q, key, value = sized(w, (*batch, n, k), (*batch, m, k), (*batch, m, v))
    texts = {"query": q, "key": key, "value": value, "dropout_p": "0.0"}
    if w.chance(0.3):
        shape = w.fitting((*batch, n, m))
        texts["attn_mask"] = w.mask(shape) if w.chance(0.5) else w.tensor(shape, w.dtype)
    return {**texts, **some(w, is_causal=w.pick("True", "False"), scale=w.pick("0.5", "None"))}


@recipe("linalg.vecdot")
def vecdot(w):
    shape = w.shape()
    a, b = sized(w, shape, w.fitting(shape))
    return {"x": a, "y": b, **some(w, dim=w.dim(len(shape)))}


@recipe("linalg.matrix_power")
def matrix_power(w):
    n = w.size()
    (a,) = sized(w, (*w.shape(w.pick(0, 1)), n, n))
    return {"input": a, "n": w.integer(0, 4)}


@recipe("cosine_similarity")
def cosine_similarity(w):
    shape = w.shape()
    a, b = sized(w, shape, w.fitting(shape))
    return {"x1": a, "x2": b, **some(w, dim=w.dim(len(shape)))}
