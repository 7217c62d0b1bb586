"""Pooling: the largest elements and the means of windows."""

import itertools
import math

import numpy as np

from tests.ops.case import CLOSE, EXACT, FLOATS, OpCase, S, T, V, bad, once

OTHERS = ("uint8", "int8", "int16", "int32", "int64", "bool")


def per_dimension(value, n):
    value = list(value) if isinstance(value, (list, tuple)) else [value]
    return value * n if len(value) == 1 else value


def starts(size, kernel, stride, padding, dilation, ceil_mode):
    """Where the windows along a dimension begin."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return [i * stride - padding for i in range(count)]


def pool(n, input, windows, value):
    """value(elements, their places) of every window, a list of places for each dimension."""
    counts = [len(each) for each in windows]
    sizes = input.shape[-n:]
    flat = input.reshape(-1, *sizes)
    found = [np.zeros((len(flat), *counts), kind) for kind in (input.dtype, np.int64)]
    for out in itertools.product(*(range(count) for count in counts)):
        places = list(itertools.product(*(windows[d][out[d]] for d in range(n))))
        index = [int(np.ravel_multi_index(place, sizes)) for place in places]
        for image in range(len(flat)):
            elements = np.array([flat[(image, *place)] for place in places])
            for to, each in zip(found, value(elements, index, out), strict=False):
                to[(image, *out)] = each
    return [each.reshape(*input.shape[:-n], *counts) for each in found]


def largest(elements, index, out):
    at = 0
    for i, element in enumerate(elements):
        if element > elements[at] or element != element:
            at = i
    return elements[at], index[at]


def max_pool(n):
    def oracle(
        input,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        ceil_mode=False,
        return_indices=False,
    ):
        kernel = per_dimension(kernel_size, n)
        stride = per_dimension(kernel if stride in (None, []) else stride, n)
        padding, dilation = per_dimension(padding, n), per_dimension(dilation, n)
        windows = []
        for d in range(n):
            size = input.shape[d - n]
            begins = starts(size, kernel[d], stride[d], padding[d], dilation[d], ceil_mode)
            inside = [[b + i * dilation[d] for i in range(kernel[d])] for b in begins]
            windows.append([[p for p in each if 0 <= p < size] for each in inside])
        values, indices = pool(n, input, windows, largest)
        return (values, indices) if return_indices else values

    return oracle


def avg_pool(n):
    def oracle(
        input,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
    ):
        kernel = per_dimension(kernel_size, n)
        stride = per_dimension(kernel if stride in (None, []) else stride, n)
        padding = per_dimension(padding, n)
        windows, spans = [], []
        for d in range(n):
            size = input.shape[d - n]
            begins = starts(size, kernel[d], stride[d], padding[d], 1, ceil_mode)
            ends = [min(b + kernel[d], size + padding[d]) for b in begins]
            spans.append([e - b for b, e in zip(begins, ends, strict=True)])
            pairs = zip(begins, ends, strict=True)
            windows.append([range(max(b, 0), min(e, size)) for b, e in pairs])

        def mean(elements, index, out):
            count = math.prod(spans[d][out[d]] for d in range(n))
            count = count if count_include_pad else len(elements)
            return (elements.sum() / (divisor_override or count),)

        return pool(n, input, windows, mean)[0]

    return oracle


def shares(size, count):
    return [range(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def adaptive(n, value, results):
    def oracle(input, output_size, return_indices=False):
        wanted = per_dimension(output_size, n)
        sizes = input.shape[-n:]
        counts = [sizes[d] if wanted[d] is None else wanted[d] for d in range(n)]
        windows = [shares(sizes[d], counts[d]) for d in range(n)]
        found = pool(n, input, windows, value)
        return tuple(found) if results == 2 or return_indices else found[0]

    return oracle


def mean(elements, index, out):
    return (elements.mean(),)


def unpool(n):
    def oracle(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        kernel = per_dimension(kernel_size, n)
        stride = per_dimension(kernel if stride is None else stride, n)
        padding = per_dimension(padding, n)
        sizes = output_size or [
            (input.shape[d - n] - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(n)
        ]
        sizes = list(sizes)[-n:]
        leading = input.shape[:-n]
        flat = np.zeros((math.prod(leading), math.prod(sizes)), input.dtype)
        values = input.reshape(len(flat), -1) if input.size else np.zeros((len(flat), 0))
        places = indices.reshape(values.shape)
        for image in range(len(flat)):
            flat[image, places[image]] = values[image]
        return flat.reshape(*leading, *sizes)

    return oracle


def lp_pool(n):
    average = avg_pool(n)

    def oracle(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        count = math.prod(per_dimension(kernel_size, n))
        mean = average(np.power(input, norm_type), kernel_size, stride, 0, ceil_mode)
        return np.power(np.maximum(mean, 0) * count, 1 / norm_type)

    return oracle


LINE, IMAGE, VOLUME = T((2, 3, 9)), T((2, 3, 7, 6)), T((2, 2, 4, 5, 6))
INPUT = {1: LINE, 2: IMAGE, 3: VOLUME}
TINY = {
    1: T((2, 1, 5), distinct=True),
    2: T((1, 2, 3, 4), distinct=True),
    3: T((1, 2, 3, 2, 3), distinct=True),
}
ALONE = {1: T((3, 9)), 2: T((3, 7, 6)), 3: T((2, 4, 5, 6))}
MAX = {
    n: [
        S(x, 2),
        S(x, 2, 1, 1),
        S(x, 3, 2, 1, 1, True),
        S(x, [2], [1], 0, 2),
        S(ALONE[n], 2, None, 0, 1, True),
        S(T((0, 3, 4, 4, 4)[: n + 2]), 2),
        S(input=x, kernel_size=3, stride=2, padding=1, ceil_mode=True),
        S(TINY[n], 2, 1, 1),
    ]
    for n, x in INPUT.items()
}
MAX[2] += [
    S(IMAGE, (3, 2), (2, 1), (1, 1), (2, 1)),
    S(V(((((math.nan, 1.0), (2.0, 3.0)),),)), 2),
    S(V(((((-math.inf, -math.inf), (-math.inf, -math.inf)),),)), 2),
]
WITH_INDICES = {
    n: [
        once(T(x.shape, distinct=True), 2, None, 0, 1, False, True),
        once(T(x.shape, distinct=True), 3, 2, 1, 1, True, return_indices=True),
    ]
    for n, x in INPUT.items()
}
AVG = {
    n: [
        S(x, 2),
        S(x, 3, 2, 1),
        S(x, 3, 2, 1, True),
        S(x, 3, 2, 1, True, False),
        S(ALONE[n], 2, 1),
        S(T((0, 3, 4, 4, 4)[: n + 2]), 2),
        S(TINY[n], 2, 1, 1, False, False),
    ]
    + ([S(x, 3, 2, 1, divisor_override=5), S(x, 2, divisor_override=-3)] if n > 1 else [])
    for n, x in INPUT.items()
}
ADAPTIVE = {
    1: [S(LINE, 1), S(LINE, 4), S(LINE, 9), S(LINE, 12), S(ALONE[1], 3), S(TINY[1], 2)],
    2: [
        S(IMAGE, 1),
        S(IMAGE, (3, 4)),
        S(IMAGE, (None, 2)),
        S(ALONE[2], 3),
        S(IMAGE, (9, 8)),
        S(TINY[2], 2),
    ],
    3: [
        S(VOLUME, 1),
        S(VOLUME, (2, 3, 4)),
        S(VOLUME, (2, None, 3)),
        S(ALONE[3], 2),
        S(TINY[3], (2, 1, 2)),
    ],
}
UNPOOL = {
    1: [S(V(((3.0, 2.0),)), V(((1, 2),), "int64"), 2)],
    2: [
        S(V(((((3.0, 2.0),),),)), V(((((1, 2),),),), "int64"), 2),
        S(V(((((3.0, 2.0),),),)), V(((((1, 2),),),), "int64"), 2, output_size=(3, 5)),
        S(T((0, 3, 2, 2)), T((0, 3, 2, 2), dtype="int64"), 2),
    ],
    3: [S(V((((((3.0, 2.0),),),),)), V((((((1, 6),),),),), "int64"), 2)],
}
SMALL = (
    bad(
        RuntimeError,
        r"Given input size: \(3x7x6\). Calculated output size: \(3x0x0\). Output size is too small",
        IMAGE,
        9,
    ),
    bad(RuntimeError, "stride should not be zero", IMAGE, 2, 0),
    bad(
        RuntimeError,
        "pad should be at most half of effective kernel size, but got pad=2, kernel_size=2 and "
        "dilation=1",
        IMAGE,
        2,
        1,
        2,
    ),
    bad(RuntimeError, "pad must be non-negative, but got pad: -1", IMAGE, 2, 1, -1),
)
MAX_BAD = {
    1: (
        bad(RuntimeError, r"max_pool1d\(\) kernel_size must be greater than zero", LINE, 0),
        bad(RuntimeError, r"max_pool1d\(\) stride must be greater than zero", LINE, 2, 0),
        bad(RuntimeError, r"max_pool1d\(\) padding should be at most half", LINE, 2, 1, 2),
        bad(RuntimeError, "max_pool1d: Expected 2D or 3D", IMAGE, 2),
    ),
    2: (
        *SMALL,
        bad(RuntimeError, "non-empty 3D or 4D .batch mode. tensor expected", T((4, 4)), 2),
        bad(RuntimeError, "max_pool2d: kernel_size must either be a single int", IMAGE, (2, 2, 2)),
        bad(RuntimeError, "Expected 3D or 4D .batch mode. tensor with", T((2, 0, 4, 4)), 2),
    ),
    3: (bad(RuntimeError, "non-empty 4D or 5D .batch mode. tensor expected", T((4, 4, 4)), 2),),
}
AVG_BAD = {
    1: (bad(RuntimeError, "Expected 2 to 3 dimensions, but got 4-dimensional tensor", IMAGE, 2),),
    2: (
        *SMALL,
        bad(RuntimeError, "divisor must be not zero", IMAGE, 2, divisor_override=0),
        bad(IndexError, "Dimension out of range", T((4, 4)), 2),
        bad(RuntimeError, "avg_pool2d: stride must either be omitted", IMAGE, 2, (1, 1, 1)),
    ),
    3: (bad(RuntimeError, r"input image \(T: 4 H: 5 W: 6\) smaller than kernel", VOLUME, 7),),
}
ADAPTIVE_BAD = {
    1: (bad(RuntimeError, "Expected 2 to 3 dimensions, but got 1-dim", T((4,)), 2),),
    2: (
        bad(RuntimeError, "adaptive_avg_pool2d: output_size must be 2", IMAGE, (3,)),
        bad(ValueError, "Input dimension should be at least 3", T((4, 4)), (3, 2)),
        bad(
            RuntimeError,
            "elements of output_size must be greater than or equal to 0 but received {-1, -1}",
            IMAGE,
            -1,
        ),
        bad(RuntimeError, "with dimension 2 being empty", T((2, 3, 0, 4)), 2),
    ),
    3: (bad(RuntimeError, "Expected 4D or 5D tensor, but got", T((4, 4, 4)), 2),),
}


def case(name, oracle, samples, dtypes=FLOATS, **options):
    path = f"nn.functional.{name}"
    return OpCase(name, oracle, samples, dtypes, function=path, method=None, **options)


CASES = [
    *(
        case(
            f"max_pool{n}d",
            max_pool(n),
            MAX[n],
            FLOATS,
            tolerance=EXACT,
            optional=OTHERS,
            bad=MAX_BAD[n],
            strides=n != 3,
        )
        for n in (1, 2, 3)
    ),
    *(
        case(
            f"max_pool{n}d",
            max_pool(n),
            WITH_INDICES[n],
            result=("same", "int64"),
            tolerance=EXACT,
            variant="indices",
            optional=OTHERS,
            strides=n != 3,
        )
        for n in (1, 2, 3)
    ),
    case(
        "max_pool2d",
        max_pool(2),
        [S(IMAGE, 2), S(IMAGE, 3, 2, 1)],
        ("int64", "int32", "uint8"),
        tolerance=EXACT,
        variant="integers",
        optional=(*FLOATS, "int8", "int16", "bool"),
    ),
    *(
        case(
            f"avg_pool{n}d",
            avg_pool(n),
            AVG[n],
            tolerance=CLOSE,
            optional=(*OTHERS, *FLOATS[:2]) if n == 3 else OTHERS,
            bad=AVG_BAD[n],
            strides=n != 3,
        )
        for n in (1, 2, 3)
    ),
    *(
        case(
            f"adaptive_avg_pool{n}d",
            adaptive(n, mean, 1),
            ADAPTIVE[n],
            tolerance=CLOSE,
            optional=(*OTHERS, *FLOATS[:2]) if n == 3 else OTHERS,
            bad=ADAPTIVE_BAD[n],
            strides=n != 3,
        )
        for n in (1, 2, 3)
    ),
    *(
        case(
            f"adaptive_max_pool{n}d",
            adaptive(n, largest, 1),
            ADAPTIVE[n],
            tolerance=EXACT,
            optional=OTHERS,
            strides=n != 3,
        )
        for n in (1, 2, 3)
    ),
    *(
        case(
            f"max_unpool{n}d",
            unpool(n),
            UNPOOL[n],
            tolerance=EXACT,
            optional=OTHERS,
            meta=False,
            strides=False,
            bad=(
                bad(
                    RuntimeError,
                    "elements in indices should be type int64 but got: Float",
                    T((1, 1, 2, 2)),
                    T((1, 1, 2, 2)),
                    2,
                ),
                bad(
                    ValueError,
                    r"invalid output_size \"\(9, 9\)\" \(dim 0 must be between 2 and 6\)",
                    T((1, 1, 2, 2)),
                    T((1, 1, 2, 2), dtype="int64"),
                    2,
                    output_size=(9, 9),
                ),
            )
            if n == 2
            else (),
        )
        for n in (1, 2, 3)
    ),
    *(
        case(
            f"lp_pool{n}d",
            lp_pool(n),
            [S(T(INPUT[n].shape, 0.5, 2), 2, 2), S(T(INPUT[n].shape, 0.5, 2), 2, 3, 2, True)],
            ("float32", "float64"),
            optional=("float16", "bfloat16", *OTHERS),
            strides=False,
        )
        for n in (1, 2, 3)
    ),
]
