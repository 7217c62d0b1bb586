"""Sizes, dims and views."""

import math

from tests.differential.recipes.common import recipe, sized, some, source_dtype, target


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
