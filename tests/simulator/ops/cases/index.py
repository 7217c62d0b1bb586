"""Elements chosen by index tensors or masks."""

import numpy as np

from ..case import Case, In, Ints, List, Out, Ref, Scalar
from ..values import COMPLEX, REAL, random

EVERY = (*REAL, *COMPLEX, "u16", "u32", "u64")
NUMBERS = REAL
DENSE = ("contiguous", "offset")


def cases_of(op, build, dtypes=EVERY, layouts=None):
    def cases():
        made = []
        for dtype in dtypes:
            for index in ("i32", "i64"):
                arguments = build(dtype, index)
                case = Case(op, arguments, f"{dtype} {index}")
                if layouts:
                    case.layouts = layouts
                made.append(case)
        return made

    return cases


def select(dtype, index):
    x, where = random((4, 5), dtype, 1), np.array([3, 0, 3])
    return [In(x, dtype), 1, In(where, index), Out(x[:, where], dtype)]


def gather_axis(dtype, index):
    x, where = random((4, 5), dtype, 1), np.array([[3, 0], [1, 2]])
    return [In(x, dtype), 1, In(where, index), Out(x[:, where], dtype)]


def embedding(dtype, index):
    x, where = random((6, 3), dtype, 1), np.array([[3, 0], [1, 5]])
    return [In(x, dtype), In(where, index), Out(x[where], dtype)]


def along(dtype, index):
    x = random((4, 5), dtype, 1)
    where = np.random.default_rng(1).integers(-4, 4, (2, 5))
    return [In(x, dtype), 0, In(where, index), Out(np.take_along_axis(x, where, 0), dtype)]


def take(dtype, index):
    x, where = random((4, 5), dtype, 1), np.array([[3, -1], [19, 7]])
    return [In(x, dtype), In(where, index), Out(np.take(x, where), dtype)]


def gather_nd(dtype, index):
    x, where = random((4, 5, 2), dtype, 1), np.array([[3, 1], [0, 4], [2, 2]])
    return [In(x, dtype), In(where, index), False, Out(x[where[:, 0], where[:, 1]], dtype)]


def index_pair(dtype, index):
    x = random((4, 5, 3), dtype, 1)
    rows, columns = np.array([[0, 3], [1, -1]]), np.array([2, 4])
    indices = List([In(rows, index), In(columns, index)])
    return [In(x, dtype), indices, Out(x[rows, columns], dtype)]


def index_apart(dtype, index):
    x = random((4, 5, 3), dtype, 1)
    rows, last = np.array([0, 3]), np.array([2, 1])
    indices = List([In(rows, index), In(np.zeros(0), index), In(last, index)])
    return [In(x, dtype), indices, Out(x[rows, :, last], dtype)]


def index_mask(dtype, index):
    x, mask = random((4, 5, 3), dtype, 1), random((4, 5), "bool", 2)
    return [In(x, dtype), List([In(mask, "bool")]), Out(x[mask], dtype)]


def index_second(dtype, index):
    x, where = random((4, 5, 3), dtype, 1), np.array([[2, 1]])
    indices = List([In(np.zeros(0), index), In(where, index)])
    return [In(x, dtype), indices, Out(x[:, where], dtype)]


def put(accumulate):
    def build(dtype, index):
        x, where = random((4, 5), dtype, 1), np.array([2, 0, 3] + [2] * accumulate)
        values = random((len(where), 5), dtype, 2)
        expected = x.copy()
        if accumulate:
            np.add.at(expected, where, values)
        else:
            expected[where] = values
        indices = List([In(where, index)])
        return [Ref(x, dtype, expected), indices, In(values, dtype), bool(accumulate), False]

    return build


def scatter(reduce, in_place, value=False):
    def build(dtype, index):
        x, source = random((4, 5), dtype, 1), random((2, 5), dtype, 2)
        if value:
            source = np.full((2, 5), 2).astype(x.dtype)
        where = np.stack([np.arange(5) % 4, (np.arange(5) + 2) % 4])
        expected = x.copy()
        for i in range(2):
            for j in range(5):
                at = (where[i, j], j)
                old, new = expected[at], source[i, j]
                expected[at] = {0: new, 1: old + new, 2: old * new}[reduce]
        how = Scalar(2, "f32") if value else In(source, dtype)
        head = Ref(x, dtype, expected) if in_place else In(x, dtype)
        tail = [] if in_place else [Out(expected, dtype)]
        return [head, 0, In(where, index), how, reduce, *tail]

    return build


def scatter_add(dtype, index):
    x, source = random((4, 5), dtype, 1), random((3, 5), dtype, 2)
    where = np.random.default_rng(0).integers(0, 4, (3, 5))
    expected = x.astype(np.float64) if dtype in ("f16", "bf16") else x.copy()
    for i in range(3):
        for j in range(5):
            expected[where[i, j], j] += source[i, j]
    return [In(x, dtype), 0, In(where, index), In(source, dtype), Out(expected, dtype)]


def index_add(dtype, index):
    x, source = random((4, 5), dtype, 1), random((4, 3), dtype, 2)
    where = np.array([4, 0, 2])
    expected = x.copy()
    expected[:, where] += np.asarray(2).astype(x.dtype) * source
    arguments = [In(x, dtype), 1, In(where, index), In(source, dtype), Scalar(2, "f32")]
    return [*arguments, Out(expected, dtype)]


def index_copy(dtype, index):
    x, source = random((4, 5), dtype, 1), random((4, 3), dtype, 2)
    where = np.array([4, 0, 2])
    expected = x.copy()
    expected[:, where] = source
    return [Ref(x, dtype, expected), 1, In(where, index), In(source, dtype)]


def index_fill(in_place):
    def build(dtype, index):
        x = random((4, 5), dtype, 1)
        expected = x.copy()
        expected[:, [1, -1]] = 1
        head = Ref(x, dtype, expected) if in_place else In(x, dtype)
        tail = [] if in_place else [Out(expected, dtype)]
        return [head, 1, Ints([1, -1]), Scalar(1, "f32"), *tail]

    return build


def update(dtype, index):
    x, source = random((3, 8, 2), dtype, 1), random((3, 1, 2), dtype, 2)
    where = np.array([5, 0, 7])
    expected = x.copy()
    expected[np.arange(3), where] = source[:, 0]
    return [Ref(x, dtype, expected), In(where, index), In(source, dtype), -2]


def update_nd(dtype, index):
    x, source = random((4, 5), dtype, 1), random((3,), dtype, 2)
    where = np.array([[3, 1], [0, 4], [2, 2]])
    expected = x.copy()
    expected[where[:, 0], where[:, 1]] = source
    return [Ref(x, dtype, expected), In(where, index), In(source, dtype)]


def scatter_nd(dtype, index):
    x, source = random((4, 5, 2), dtype, 1), random((3, 2), dtype, 2)
    where = np.array([[3, 1], [0, 4], [2, 2]])
    expected = x.copy()
    expected[where[:, 0], where[:, 1]] = source
    return [In(x, dtype), In(where, index), In(source, dtype), Out(expected, dtype)]


def put_flat(dtype, index):
    x, source = random((3, 4), dtype, 1), random((3,), dtype, 2)
    expected = x.copy()
    np.put(expected, [5, 0, 11], source)
    return [Ref(x, dtype, expected), In(np.array([5, 0, -1]), index), In(source, dtype), False]


def put_flat_add(dtype, index):
    x, source = random((3, 4), dtype, 1), random((3,), dtype, 2)
    expected = x.copy()
    np.add.at(expected.reshape(-1), [5, 0, 5], source)
    return [Ref(x, dtype, expected), In(np.array([5, 0, 5]), index), In(source, dtype), True]


def index_copy_out(dtype, index):
    x, _, where, source = index_copy(dtype, index)
    return [In(x.values, dtype), 1, where, source, Out(x.expected, dtype)]


def embedding_grad(padding):
    def build(dtype, index):
        grad, where = random((2, 3, 4), dtype, 1), np.array([[0, 5, 0], [2, 2, 2]])
        expected = np.zeros((6, 4))
        np.add.at(expected, where, grad)
        if padding is not None:
            expected[padding] = 0
        number = 2**64 - 1 if padding is None else padding
        return [In(grad, dtype), In(where, index), 6, number, False, Out(expected, dtype)]

    return build


def masked_select(dtype, _):
    x, mask = random((3, 4), dtype, 1), random((4,), "bool", 2)
    expected = x[np.broadcast_to(mask, x.shape)]
    return [In(x, dtype), In(mask, "bool"), Out(expected, dtype, shape=(12,))]


def masked_scatter(dtype, _):
    x, mask, source = random((3, 4), dtype, 1), random((3, 4), "bool", 2), random((12,), dtype, 3)
    expected = x.copy()
    expected[mask] = source[: mask.sum()]
    return [Ref(x, dtype, expected), In(mask, "bool"), In(source, dtype)]


def nothing(dtype="f32", shape=(0,)):
    return In(np.zeros(shape), dtype)


def index_free():
    """An index without elements, of any dtype, leaves its dim whole."""
    made = []
    x, where = random((2, 3, 4), "f32", 1), np.array([2, 0])
    chosen = x[:, where]
    for dtype in ("f32", "bf16", "bool", "i64", "c64"):
        arguments = [In(x, "f32"), List([nothing(dtype), In(where, "i64")]), Out(chosen, "f32")]
        made.append(Case("aclnnIndex", arguments, dtype))
        expected, values = x.copy(), random((2, 2, 4), "f32", 2)
        expected[:, where] = values
        indices = List([nothing(dtype), In(where, "i64")])
        arguments = [Ref(x, "f32", expected), indices, In(values, "f32"), False, False]
        made.append(Case("aclnnIndexPutImpl", arguments, dtype))
    return made


def put_nowhere():
    """Without any index that has elements, or without values, nothing is put."""
    x = random((2, 3), "f32", 1)
    made = []
    for index, values in [
        (nothing("i64"), np.ones(3)), (nothing(), np.ones(3)),
        (In(np.array([0]), "i64"), np.zeros((0, 3))),
    ]:  # fmt: skip
        for add in (False, True):
            arguments = [Ref(x, "f32", x), List([index]), In(values, "f32"), add, False]
            made.append(Case("aclnnIndexPutImpl", arguments))
    return made


def nonzero_of_one():
    """Of a tensor without dims there are no places, only their number."""
    made = []
    for op, shapes in [
        ("aclnnNonzero", [(0, 0), (1, 0)]), ("aclnnNonzeroV2", [(0, 0), (0, 1)]),
    ]:  # fmt: skip
        for shape in shapes:
            arguments = [In(np.array(3.0), "f32"), Out(np.zeros(shape), "i64")]
            made.append(Case(op, arguments, f"{shape}"))
    return made


def nonzero(transposed):
    def build(dtype, _):
        x = random((3, 4), dtype, 1)
        x[1] = 0
        hits = np.stack(np.nonzero(x), 1)
        if transposed:
            return [In(x, dtype), Out(hits.T, "i64", shape=(2, 12))]
        return [In(x, dtype), Out(hits, "i64", shape=(12, 2))]

    return build


REALS = (*REAL, "u16", "u32", "u64")
OPS = {
    "aclnnIndexSelect": cases_of("aclnnIndexSelect", select),
    "aclnnGatherV2": cases_of("aclnnGatherV2", gather_axis),
    "aclnnEmbedding": cases_of("aclnnEmbedding", embedding),
    "aclnnGather": cases_of("aclnnGather", along),
    "aclnnTake": cases_of("aclnnTake", take),
    "aclnnGatherNd": cases_of("aclnnGatherNd", gather_nd),
    "aclnnIndex": cases_of("aclnnIndex", index_pair),
    "aclnnIndex apart": cases_of("aclnnIndex", index_apart),
    "aclnnIndex mask": cases_of("aclnnIndex", index_mask),
    "aclnnIndex second": cases_of("aclnnIndex", index_second),
    "aclnnIndex free": index_free,
    "aclnnIndexPutImpl nowhere": put_nowhere,
    "aclnnNonzero of one": nonzero_of_one,
    "aclnnIndexPutImpl": cases_of("aclnnIndexPutImpl", put(0), NUMBERS),
    "aclnnIndexPutImpl add": cases_of("aclnnIndexPutImpl", put(1), ("f32", "f64", "i32", "i64")),
    "aclnnScatter": cases_of("aclnnScatter", scatter(0, False), (*REAL, *COMPLEX)),
    "aclnnScatter add": cases_of("aclnnScatter", scatter(1, False), ("f32", "i32", "c64")),
    "aclnnScatter mul": cases_of("aclnnScatter", scatter(2, False), ("f32", "i32", "f64")),
    "aclnnInplaceScatter": cases_of("aclnnInplaceScatter", scatter(0, True), (*REAL, *COMPLEX)),
    "aclnnScatterValue": cases_of("aclnnScatterValue", scatter(0, False, True), (*REAL, *COMPLEX)),
    "aclnnInplaceScatterValue": cases_of(
        "aclnnInplaceScatterValue", scatter(1, True, True), (*REAL, *COMPLEX)
    ),
    "aclnnScatterAdd": cases_of("aclnnScatterAdd", scatter_add, (*REAL, *COMPLEX)),
    "aclnnIndexAdd": cases_of("aclnnIndexAdd", index_add, REAL),
    "aclnnInplaceIndexCopy": cases_of("aclnnInplaceIndexCopy", index_copy),
    "aclnnIndexFillTensor": cases_of("aclnnIndexFillTensor", index_fill(False), NUMBERS),
    "aclnnInplaceIndexFillTensor": cases_of(
        "aclnnInplaceIndexFillTensor", index_fill(True), NUMBERS
    ),
    "aclnnInplaceScatterUpdate": cases_of("aclnnInplaceScatterUpdate", update, NUMBERS),
    "aclnnScatterNdUpdate": cases_of("aclnnScatterNdUpdate", update_nd, NUMBERS),
    "aclnnScatterNd": cases_of("aclnnScatterNd", scatter_nd, NUMBERS),
    "aclnnInplacePut": cases_of("aclnnInplacePut", put_flat, NUMBERS),
    "aclnnInplacePut add": cases_of("aclnnInplacePut", put_flat_add, ("f32", "f64", "i32")),
    "aclnnIndexCopy": cases_of("aclnnIndexCopy", index_copy_out),
    "aclnnEmbeddingDenseBackward": cases_of(
        "aclnnEmbeddingDenseBackward", embedding_grad(None), ("f32", "f16", "bf16")
    ),
    "aclnnEmbeddingDenseBackward padding": cases_of(
        "aclnnEmbeddingDenseBackward", embedding_grad(2), ("f32",)
    ),
    "aclnnMaskedSelect": cases_of("aclnnMaskedSelect", masked_select, REALS, DENSE),
    "aclnnInplaceMaskedScatter": cases_of("aclnnInplaceMaskedScatter", masked_scatter, NUMBERS),
    "aclnnNonzero": cases_of("aclnnNonzero", nonzero(False), REALS, DENSE),
    "aclnnNonzeroV2": cases_of("aclnnNonzeroV2", nonzero(True), REALS, DENSE),
}
