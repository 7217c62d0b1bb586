"""Arguments that go together: shapes of products, indices that fit, sizes that divide.

A recipe takes a Writer and returns the text of some parameters by name; arguments.py makes up the
others from their types. Without a recipe, tensors broadcast and dims fit the first tensor.
"""

import math

RECIPES = {}


def recipe(*names):
    def add(function):
        for name in names:
            RECIPES[name] = function
        return function

    return add


def some(w, **texts):
    """Each text, or nothing: the parameter then keeps its default half of the time."""
    return {name: text for name, text in texts.items() if w.chance(0.5)}


def sized(w, *shapes, dtype=None, style=None):
    """Tensors of these shapes, each of which may be wrong by one size."""
    dtype = dtype or w.dtype
    names = []
    for shape in shapes:
        shape = list(shape)
        if shape and w.chance(0.03):
            shape[w.random.randrange(len(shape))] = w.size()
        if w.chance(0.02):
            shape = list(w.shape())
        names.append(w.tensor(shape, w.some_dtype() if w.chance(0.15) else dtype, style))
    return names


# --- products of matrices ---------------------------------------------------------------------


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
    return {"A": a, "n": w.integer(0, 4)}


@recipe("cosine_similarity")
def cosine_similarity(w):
    shape = w.shape()
    a, b = sized(w, shape, w.fitting(shape))
    return {"x1": a, "x2": b, **some(w, dim=w.dim(len(shape)))}


# --- indexing ----------------------------------------------------------------------------------


def target(w):
    """A tensor, a dim of it as text, and that dim's number."""
    shape = w.shape()
    name = w.tensor(shape)
    dim = w.dim(len(shape))
    at = int(dim) if dim.lstrip("-").isdigit() else 0
    return name, shape, dim, at % len(shape) if shape else 0


def source_dtype(w, name):
    return w.variables[name].dtype if w.chance(0.8) else None


@recipe("gather")
def gather(w, once=False):
    a, shape, dim, at = target(w)
    index = [n if i == at or w.chance(0.6) else max(0, n - 1) for i, n in enumerate(shape)]
    if shape and w.chance(0.5):
        index[at] = min(w.size(), shape[at]) if once else w.size()
    once = at if once else None
    return {"self": a, "dim": dim, "index": w.index(index, shape[at] if shape else 1, once=once)}


@recipe("take_along_dim")
def take_along_dim(w):
    texts = gather(w)
    if w.chance(0.5):
        size = w.variables[texts["self"]].shape
        at = int(texts["dim"]) if texts["dim"].lstrip("-").isdigit() else 0
        size = size[at] if -len(size) <= at < len(size) else 1
        shape = w.variables[texts["index"]].shape
        texts["index"] = w.index(w.fitting(shape), size, negative=True)
    texts["indices"] = texts.pop("index")
    if w.chance(0.3):
        del texts["dim"]
    return texts


@recipe("scatter", "scatter_add", "scatter_reduce")
def scatter(w):
    texts = gather(w, once=True)
    index = w.variables[texts["index"]].shape
    shape = [n + 1 if w.chance(0.1) else n for n in index]
    texts["src"] = w.tensor(shape, source_dtype(w, texts["self"]))
    texts["value"] = w.number()
    texts["reduce"] = repr(w.pick("sum", "prod", "mean", "amax", "amin", "add", "multiply", "max"))
    return texts


@recipe("index_select", "index_fill")
def index_select(w):
    a, shape, dim, at = target(w)
    index = w.index(w.shape(w.pick(0, 1, 1, 1, 2)), shape[at] if shape else 1)
    return {"self": a, "dim": dim, "index": index}


@recipe("index_add", "index_copy")
def index_add(w):
    a, shape, dim, at = target(w)
    size = shape[at] if shape else 1
    count = min(w.size(), size) if w.chance(0.95) else 1
    index = w.index((count,), size, once=0)
    source = list(shape)
    if source:
        source[at] = count
    (src,) = sized(w, source, dtype=source_dtype(w, a))
    return {"self": a, "dim": dim, "index": index, "source": src}


@recipe("take", "put")
def take(w):
    shape = w.shape()
    a = w.tensor(shape)
    index = w.shape(w.pick(0, 1, 1, 1))
    if index:
        index = (min(index[0], math.prod(shape)),)
    name = w.index(index, math.prod(shape), negative=True, once=0)
    if w.chance(0.8):
        source = w.tensor(index, source_dtype(w, a))
    else:
        source = w.tensor(w.shape(), source_dtype(w, a))
    return {"self": a, "index": name, "source": source}


@recipe("masked_fill", "masked_select")
def masked_fill(w):
    shape = w.shape()
    a = w.tensor(w.fitting(shape) if w.chance(0.3) else shape)
    return {"self": a, "mask": w.mask(w.fitting(shape))}


@recipe("masked_scatter")
def masked_scatter(w):
    texts = masked_fill(w)
    texts["source"] = w.tensor(w.shape(), source_dtype(w, texts["self"]))
    return texts


@recipe("where")
def where(w):
    shape = w.shape()
    texts = {"condition": w.mask(w.fitting(shape))}
    for name in ("self", "other"):
        texts[name] = w.number() if w.chance(0.3) else w.tensor(w.fitting(shape))
    return texts


@recipe("index_put")
def index_put(w):
    shape = w.shape()
    a = w.tensor(shape)
    count = w.random.randint(0, len(shape))
    index_shape = w.shape(w.pick(0, 1, 1))
    if index_shape and count:
        index_shape = (min(index_shape[0], shape[0]),)
    names = [w.index(index_shape, n, negative=True, once=0) for n in shape[:count]]
    values = w.tensor(w.fitting((*index_shape, *shape[count:])), source_dtype(w, a))
    return {"self": a, "indices": "(" + "".join(f"{n}, " for n in names) + ")", "values": values}


@recipe("embedding")
def embedding(w):
    rows, columns = max(1, w.size()), w.size()
    (weight,) = sized(w, (rows, columns))
    texts = {"weight": weight, "input": w.index(w.shape(), rows)}
    texts["indices"] = texts["input"]
    return texts


@recipe("embedding_renorm_")
def embedding_renorm(w):
    rows, columns = max(1, w.size()), w.size()
    (weight,) = sized(w, (rows, columns))
    return {
        "self": weight,
        "indices": w.index(w.shape(), rows),
        "max_norm": "1.0",
        "norm_type": "2.0",
    }


@recipe("one_hot")
def one_hot(w):
    return {"tensor": w.index(w.shape(), 4), **some(w, num_classes=w.pick("4", "6", "-1", "2"))}


# --- shapes ------------------------------------------------------------------------------------


def factors(w, count):
    """A shape of `count` elements, as a rule, where one size may be -1."""
    if w.chance(0.05):
        return list(w.shape())
    shape = []
    for divisor in (2, 3, 2, 5):
        if count and count % divisor == 0 and w.chance(0.6):
            shape.append(divisor)
            count //= divisor
    shape.insert(w.random.randint(0, len(shape)), count)
    if w.chance(0.2):
        shape.insert(w.random.randint(0, len(shape)), 1)
    if w.chance(0.3):
        shape[w.random.randrange(len(shape))] = -1
    return shape


@recipe("reshape", "view")
def reshape(w):
    shape = w.shape()
    a = w.tensor(shape)
    text = str(factors(w, math.prod(shape)))
    return {"self": a, "shape": text, "size": text, "dtype": w.dtype_text()}


@recipe("reshape_as", "view_as")
def reshape_as(w):
    shape = w.shape()
    other = [max(0, n) for n in factors(w, math.prod(shape))]
    return {"self": w.tensor(shape), "other": w.tensor(other)}


@recipe("unflatten")
def unflatten(w):
    a, shape, dim, at = target(w)
    return {"self": a, "dim": dim, "sizes": str(factors(w, shape[at] if shape else 1))}


@recipe("expand", "broadcast_to", "expand_as", "sum_to_size")
def expand(w):
    shape = w.shape()
    a = w.tensor(w.fitting(shape))
    size = [-1 if w.chance(0.15) else n for n in shape]
    return {"self": a, "size": str(size), "other": w.tensor(shape)}


@recipe("permute")
def permute(w):
    shape = w.shape()
    dims = list(range(len(shape)))
    w.random.shuffle(dims)
    dims = [at - len(shape) if w.chance(0.2) else at for at in dims]
    if dims and w.chance(0.1):
        dims[0] = w.pick(0, 1, 7, -9)
    return {"self": w.tensor(shape), "dims": str(dims)}


@recipe("as_strided", "as_strided_", "as_strided_scatter")
def as_strided(w):
    a = w.tensor(w.shape(w.pick(1, 2)))
    size = w.shape(w.pick(0, 1, 2))
    stride = [w.pick(0, 1, 1, 2, 3) for _ in size]
    if w.strange and w.chance(0.3):
        stride = [w.pick(-1, 2**40, 1) for _ in range(w.random.randint(0, 3))]
    texts = {"self": a, "size": str(size), "stride": str(stride), "src": w.tensor(size)}
    return {**texts, **some(w, storage_offset=w.pick("0", "1", "-1", "None", "100"))}


@recipe("empty_strided", "new_empty_strided")
def empty_strided(w):
    size = w.shape()
    stride = [w.pick(0, 1, 1, 2, 3) for _ in size]
    if w.strange and w.chance(0.3):
        stride = [w.pick(-1, 2**62, 1) for _ in range(w.random.randint(0, 3))]
    return {"size": str(size), "stride": str(tuple(stride))}


@recipe("empty_permuted")
def empty_permuted(w):
    size = w.shape()
    layout = w.random.sample(range(len(size)), len(size))
    if w.strange and w.chance(0.3):
        layout = [w.pick(-1, 0, 1, 5) for _ in range(w.random.randint(0, 3))]
    return {"size": str(size), "physical_layout": str(tuple(layout))}


@recipe("narrow", "narrow_copy")
def narrow(w):
    a, shape, dim, at = target(w)
    n = shape[at] if shape else 1
    start = w.random.randint(0, n)
    length = w.random.randint(0, n - start)
    start = start - n if w.chance(0.2) else start
    if w.chance(0.08):
        length += w.pick(1, -1, 100)
    if w.chance(0.1):
        return {"self": a, "dim": dim, "start": f"torch.tensor({start})", "length": str(length)}
    return {"self": a, "dim": dim, "start": w.integer(start, start), "length": str(length)}


@recipe("select", "select_scatter")
def select(w):
    a, shape, dim, at = target(w)
    n = shape[at] if shape else 1
    src = w.tensor([m for i, m in enumerate(shape) if i != at], source_dtype(w, a))
    return {"self": a, "dim": dim, "index": w.integer(-n, n - 1), "src": src}


@recipe("slice_scatter")
def slice_scatter(w):
    a, shape, dim, at = target(w)
    n = shape[at] if shape else 1
    low, high = w.random.randint(-n - 1, n + 1), w.random.randint(-n - 1, n + 1)
    step = w.pick(1, 1, 1, 2, 3) if w.chance(0.9) else w.pick(0, -1)
    src = list(shape)
    if src:
        src[at] = len(range(n)[low:high:step]) if step > 0 else 1
    src = w.tensor(src, source_dtype(w, a))
    texts = {"self": a, "src": src, "dim": dim, "start": str(low), "end": str(high)}
    return {**texts, "step": str(step)}


@recipe("diagonal_scatter")
def diagonal_scatter(w):
    shape = w.shape(w.pick(2, 2, 3))
    offset = w.pick(0, 0, 1, -1)
    rows, columns = shape[:2]
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    return {
        "self": w.tensor(shape),
        "src": w.tensor((*shape[2:], count)),
        "offset": str(offset),
        "dim1": "0",
        "dim2": "1",
    }


@recipe("unfold")
def unfold(w):
    a, shape, dim, at = target(w)
    size = w.integer(0, shape[at] if shape else 1)
    return {"self": a, "dimension": dim, "size": size, "step": w.integer(1, 3)}


@recipe("split", "split_with_sizes", "tensor_split", "hsplit", "vsplit", "dsplit", "chunk")
def split(w):
    a, shape, dim, at = target(w)
    n = shape[at] if shape else 1
    if w.chance(0.5):
        parts = w.integer(1, n + 1)
    else:
        left, sizes = n, []
        while left > 0 and len(sizes) < 4:
            sizes.append(w.random.randint(0, left))
            left -= sizes[-1]
        if w.chance(0.85):
            sizes.append(max(0, left))
        parts = str(sizes)
    name_tensor = f"torch.tensor({parts})"
    return {
        "self": a, "split_size": parts, "split_size_or_sections": parts, "split_sizes": parts,
        "indices": parts if parts.startswith("[") else "[1, 2]", "sections": w.integer(1, 3),
        "chunks": w.integer(1, n + 1), "tensor_indices_or_sections": name_tensor,
        **some(w, dim=dim),
    }  # fmt: skip


@recipe("movedim", "moveaxis")
def movedim(w):
    shape = w.shape()
    count = w.random.randint(0, len(shape))
    pair = [w.random.sample(range(len(shape)), count) for _ in "ab"]
    texts = [str(dims[0]) if len(dims) == 1 and w.chance(0.5) else str(dims) for dims in pair]
    return {"self": w.tensor(shape), "source": texts[0], "destination": texts[1]}


@recipe("repeat", "tile")
def repeat(w):
    shape = w.shape(w.pick(0, 1, 2, 3))
    count = max(0, len(shape) + w.pick(-1, 0, 0, 0, 1))
    times = [w.pick(0, 1, 2, 2, 3) for _ in range(count)]
    if times and w.chance(0.05):
        times[0] = -1
    return {"self": w.tensor(shape), "repeats": str(times), "dims": str(times)}


@recipe("repeat_interleave")
def repeat_interleave(w):
    a, shape, dim, at = target(w)
    n = shape[at] if shape else 1
    if w.chance(0.5):
        repeats = w.integer(0, 3)
    else:
        repeats = w.index((n,) if w.chance(0.8) else w.shape(w.pick(0, 1)), 3, "int64")
    return {"self": a, "repeats": repeats, "dim": dim}


@recipe("roll")
def roll(w):
    shape = w.shape()
    dims = w.random.sample(range(len(shape)), w.random.randint(0, len(shape)))
    shifts = [w.pick(-3, -1, 0, 1, 2, 7) for _ in dims] or w.pick(0, 1, -2)
    if w.chance(0.05):
        shifts = [1, 2]
    texts = {"self": w.tensor(shape), "shifts": str(shifts)}
    return {**texts, "dims": str(dims)} if dims or w.chance(0.1) else texts


@recipe("rot90")
def rot90(w):
    shape = w.shape(w.pick(2, 2, 3, 1))
    dims = w.random.sample(range(len(shape)), 2) if len(shape) > 1 else [0, 1]
    return {"self": w.tensor(shape), **some(w, k=w.integer(-5, 5), dims=str(dims))}


@recipe("flip")
def flip(w):
    shape = w.shape()
    return {"self": w.tensor(shape), "dims": w.dims(len(shape))}


@recipe("constant_pad_nd", "pad")
def constant_pad(w):
    shape = w.shape(w.pick(1, 2, 3, 4))
    count = w.random.randint(0, len(shape))
    pads = [w.pick(0, 1, 1, 2, -1) for _ in range(2 * count)]
    if w.chance(0.05):
        pads.append(1)
    texts = {"self": w.tensor(shape), "pad": str(pads), **some(w, value=w.number())}
    texts["input"] = texts["self"]
    mode = repr(w.pick("constant", "constant", "reflect", "replicate", "circular", "x"))
    return {**texts, **some(w, mode=mode)}


@recipe("layer_norm", "rms_norm")
def layer_norm(w):
    shape = w.shape(w.pick(1, 2, 3))
    count = w.random.randint(1, len(shape))
    normalized = shape[len(shape) - count :]
    w.mixed = w.mixed and w.chance(0.2)
    a, weight, bias = sized(w, shape, normalized, normalized)
    texts = {"input": a, "normalized_shape": str(list(normalized))}
    return {**texts, **some(w, weight=weight, bias=bias, eps=w.pick("1e-5", "0.1", "None", "0.0"))}


@recipe("prelu", "_prelu_kernel")
def prelu(w):
    shape = w.shape()
    count = shape[1] if len(shape) > 1 and w.chance(0.6) else 1
    w.mixed = w.mixed and w.chance(0.2)
    a, weight = sized(w, shape, w.pick((count,), (count,), ()))
    return {"self": a, "input": a, "weight": weight}


# --- joining, sorting and numbers --------------------------------------------------------------


@recipe(
    "cat",
    "concat",
    "concatenate",
    "stack",
    "hstack",
    "vstack",
    "dstack",
    "column_stack",
    "row_stack",
)
def joined(w):
    shape = w.shape()
    dim = w.dim(len(shape))
    at = int(dim) if dim.lstrip("-").isdigit() else 0
    shapes = []
    for _ in range(w.pick(1, 2, 2, 3)):
        each = list(shape)
        if shape and w.chance(0.3):
            each[at % len(shape)] = w.size()
        shapes.append(each if w.chance(0.95) else [0])
    names = sized(w, *shapes)
    return {"tensors": w.pick("[{}]", "({},)").format(", ".join(names)), **some(w, dim=dim)}


@recipe("searchsorted", "bucketize")
def searchsorted(w):
    rows = w.shape(w.pick(0, 0, 1))
    count = w.size()
    dtype = w.pick("float32", "float32", "int64", "float64", "float16", "int8", "bfloat16")
    values = []
    for _ in range(math.prod(rows)):
        values += sorted(w.random.randint(0, 12) for _ in range(count))
    shape = (*rows, count)
    boundaries = w.tensor(shape, dtype, values=[str(v) for v in values] if values else None)
    inputs = (
        w.number()
        if w.chance(0.2)
        else w.tensor((*rows, w.size()), dtype if w.chance(0.9) else None)
    )
    texts = {"sorted_sequence": boundaries, "boundaries": boundaries, "self": inputs}
    return {**texts, **some(w, side=w.pick("'left'", "'right'", "'x'"))}


@recipe("bincount")
def bincount(w):
    shape = w.shape(1)
    a = w.index(shape, 5, w.pick("int64", "int64", "int32", "uint8", "int8"))
    return {"self": a, **some(w, weights=w.tensor(shape), minlength=w.integer(0, 7))}


@recipe("histc")
def histc(w):
    low, high = w.pick(("0", "0"), ("-1", "2"), ("0", "1.5"), ("2", "1"), ("nan", "1"))
    bins = w.integer(1, 6)
    bins = "5" if "2**" in bins and "-" not in bins else bins
    return {"self": w.tensor(w.shape()), "bins": bins, "min": low, "max": high}


@recipe("kthvalue", "topk")
def kthvalue(w):
    a, shape, dim, at = target(w)
    n = shape[at] if shape else 1
    return {"self": a, "k": w.integer(1 if w.chance(0.9) else 0, n), **some(w, dim=dim)}


@recipe("diff")
def diff(w):
    a, shape, dim, at = target(w)
    ends = [list(shape), list(shape)]
    for end in ends:
        if end:
            end[at] = w.pick(0, 1, 2)
    before, after = sized(w, *ends, dtype=source_dtype(w, a))
    texts = {"self": a, **some(w, n=w.integer(0, 3), dim=dim if shape else w.dim(1))}
    return {**texts, **some(w, prepend=before, append=after)}


@recipe("combinations", "cartesian_prod")
def combinations(w):
    names = sized(w, w.shape(1), w.shape(1))
    return {"self": names[0], "tensors": f"*({', '.join(names)},)", **some(w, r=w.integer(0, 3))}


@recipe("vander")
def vander(w):
    return {"x": w.tensor(w.shape(1)), **some(w, N=w.pick("0", "1", "3", "-1", "None"))}


@recipe("block_diag", "broadcast_tensors", "meshgrid", "atleast_1d", "atleast_2d", "atleast_3d")
def several(w):
    shape = w.shape()
    names = [w.tensor(w.fitting(shape)) for _ in range(w.pick(1, 2, 2, 3))]
    texts = {"self": names[0], "tensors": f"*({', '.join(names)},)"}
    return {**texts, "indexing": w.pick("'ij'", "'xy'", "None", "'x'")}


@recipe("isin")
def isin(w):
    return {
        "elements": w.number() if w.chance(0.15) else w.tensor(w.shape()),
        "test_elements": w.number() if w.chance(0.15) else w.tensor(w.shape()),
        "assume_unique": "False",  # elsewhere the elements would have to be
    }


@recipe("broadcast_shapes")
def broadcast_shapes(w):
    shape = w.shape()
    shapes = [str(w.fitting(shape)) for _ in range(w.pick(0, 1, 2, 2, 3))]
    return {"shapes": "*[" + ", ".join(shapes) + "]"}


@recipe("glu")
def glu(w):
    shape = [2 * n for n in w.shape(w.pick(0, 1, 2))]
    return {"input": w.tensor(shape), **some(w, dim=w.dim(len(shape)))}


# --- random numbers ----------------------------------------------------------------------------


@recipe("bernoulli")
def bernoulli(w):
    style = "unit" if w.chance(0.9) else None
    return {"self": w.tensor(w.shape(), style=style), "p": w.pick("0.5", "0.0", "1.0", "1.5", "-1")}


@recipe("multinomial")
def multinomial(w):
    shape = w.shape(w.pick(1, 1, 2))
    a = w.tensor(
        shape, w.pick("float32", "float64", w.dtype), "positive" if w.chance(0.9) else None
    )
    return {"self": a, "num_samples": w.integer(0 if w.chance(0.1) else 1, max(1, shape[-1]))}


@recipe("randint", "randint_like", "random_")
def randint(w):
    low = w.random.randint(-3, 3)
    texts = {"low": str(low), "from": str(low), "high": w.integer(low + 1, low + 5)}
    return {**texts, "to": w.integer(low + 1, low + 5)}


@recipe("randperm")
def randperm(w):
    return {"n": w.pick("0", "1", "3", "10", "-1", "300", "2**40")}
