"""Joining, sorting, counting."""

import math

from tests.differential.recipes.common import recipe, sized, some, source_dtype, target


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
