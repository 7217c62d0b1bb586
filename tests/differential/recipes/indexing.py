"""Indices, masks, and what they select."""

import math

from tests.differential.recipes.common import recipe, sized, some, source_dtype, target


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
