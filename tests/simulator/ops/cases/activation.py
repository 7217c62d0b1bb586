"""Activations and their gradients; a gradient is checked against a difference quotient."""

import math

import numpy as np

from ..case import Case, In, Out, Ref, Scalar
from ..values import COMPLEX, FLOATS, INTEGERS, random, rounded

erf = np.vectorize(math.erf, otypes=[float])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu_erf(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def elu(x, alpha=1.5, scale=2.0, input_scale=0.5):
    return np.where(x > 0, scale * x, scale * alpha * np.expm1(input_scale * x))


def softplus(x, beta=2.0, threshold=3.0):
    return np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta)


def mish(x):
    return x * np.tanh(np.log1p(np.exp(x)))


def selu(x):
    return 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))


def hardswish(x):
    return x * np.clip(x + 3, 0, 6) / 6


def hardsigmoid(x):
    return np.clip(x + 3, 0, 6) / 6


def log_sigmoid(x):
    return -np.log1p(np.exp(-x))


def leaky(x):
    return np.where(x > 0, x, 0.25 * x)


def celu(x):
    return np.where(x > 0, x, 1.5 * np.expm1(x / 1.5))


def hardshrink(x):
    return np.where(np.abs(x) <= 0.5, 0, x)


def softshrink(x):
    return np.where(x > 0.5, x - 0.5, np.where(x < -0.5, x + 0.5, 0 * x))


def shrink(x):
    return np.where(x > 0.5, x - 0.25, np.where(x < -0.5, x + 0.25, 0))


def swish(x):
    return x * sigmoid(2.0 * x)


def numbers(*values):
    return [Scalar(value, "f32") for value in values]


def forward(op, f, more=(), dtypes=FLOATS, in_place=False):
    def cases():
        made = []
        for dtype in dtypes:
            for shape in [(3, 4), (2, 3, 5), (), (0,)]:
                x = random(shape, dtype, 1, -5, 5)
                expected = f(x.astype(np.float64)) if dtype in FLOATS else f(x)
                head = Ref(x, dtype, expected) if in_place else In(x, dtype)
                tail = [] if in_place else [Out(expected, dtype)]
                made.append(Case(op, [head, *more, *tail], f"{dtype} {shape}"))
        return made

    return cases


def sigmoid_of_whole():
    made = []
    for dtype in (*INTEGERS, "bool"):
        x = random((3, 4), dtype, 1)
        arguments = [In(x, dtype), Out(sigmoid(x.astype(np.float64)), "f32")]
        made.append(Case("aclnnSigmoid", arguments, dtype))
    return made


def softplus_grad_of_whole():
    made = []
    for dtype in (*INTEGERS, "bool"):
        x, grad = random((3, 4), dtype, 1), random((3, 4), "f32", 2)
        expected = grad * slope(softplus, x.astype(np.float64))
        arguments = [In(grad, "f32"), In(x, dtype), *numbers(2.0, 3.0), Out(expected, "f32")]
        made.append(Case("aclnnSoftplusBackward", arguments, dtype))
    return made


def of_nan(op, more):
    """Not-a-number is nothing that a threshold could keep out."""

    def cases():
        x = np.array([np.nan, 2.0, -np.inf, np.inf])
        expected = np.array([np.nan, 1.5 if "Soft" in op else 2.0, -np.inf, np.inf])
        return [Case(op, [In(x, d), *more, Out(expected, d)], d) for d in FLOATS]

    return cases


def slope(f, x):
    step = 1e-6
    return (f(x + step) - f(x - step)) / (2 * step)


def backward(op, f, more=(), of_result=False, arrange=None):
    def cases():
        made = []
        for dtype in FLOATS:
            x = random((3, 4), dtype, 1, -5, 5)
            given = f(x.astype(np.float64)) if of_result else x
            if of_result:
                given = random((3, 4), dtype, 4, -0.9, 0.9) * 0.5 + 0.5
            grad = random((3, 4), dtype, 2)
            if of_result:
                expected = grad * of_result(given)
            else:
                expected = grad * slope(f, x.astype(np.float64))
            tensors = [In(grad, dtype), In(given, dtype)]
            arguments = arrange(*tensors) if arrange else [*tensors, *more]
            made.append(Case(op, [*arguments, Out(expected, dtype)], dtype))
        return made

    return cases


def more_dtypes():
    """What gradients take beside floats of up to 32 bits."""
    made = []
    for dtype in ("i8", "u8", "i32", "i64"):
        x, grad = random((3, 4), dtype, 1), random((3, 4), dtype, 2)
        out = Out(np.where(x > 1, grad, 0), dtype)
        arguments = [In(grad, dtype), In(x, dtype), *numbers(1.0), out]
        made.append(Case("aclnnThresholdBackward", arguments, dtype))
    for dtype in ("f64", *COMPLEX):
        y, grad = random((3, 4), dtype, 1), random((3, 4), dtype, 2)
        arguments = [In(grad, dtype), In(y, dtype), Out(grad * y * (1 - y), dtype)]
        made.append(Case("aclnnSigmoidBackward", arguments, dtype))
    x, grad = random((3, 4), "f64", 1), random((3, 4), "f64", 2)
    pair = [In(grad, "f64"), In(x, "f64")]
    made.append(Case("aclnnTanhBackward", [*pair, Out(grad * (1 - x * x), "f64")]))
    out = Out(grad * np.where(x > 0, 1, 0.25), "f64")
    made.append(Case("aclnnLeakyReluBackward", [*pair, *numbers(0.25), False, out]))
    slopes = np.where(2 * x > 3, 1, sigmoid(2 * x))
    out = Out(grad * slopes, "f64")
    made.append(Case("aclnnSoftplusBackward", [*pair, *numbers(2.0, 3.0), out]))
    return made


def halves(x):
    return np.split(x, 2, -1)


def gated(op, f, more, both=False):
    def cases():
        made = []
        for dtype in FLOATS:
            x = random((3, 8), dtype, 1)
            a, b = halves(x.astype(np.float64))
            outputs = [Out(value, dtype) for value in f(a, b)]
            made.append(Case(op, [In(x, dtype), -1, *more, *outputs], dtype))
        return made

    return cases


def swiglu_grad():
    made = []
    for dtype in FLOATS:
        x, grad = random((3, 8), dtype, 1), random((3, 4), dtype, 2)
        a, b = halves(x.astype(np.float64))
        s = sigmoid(a)
        left = grad * b * s * (1 + a * (1 - s))
        expected = np.concatenate([left, grad * a * s], -1)
        arguments = [In(grad, dtype), In(x, dtype), -1, Out(expected, dtype)]
        made.append(Case("aclnnSwiGluGrad", arguments, dtype))
    return made


def glu_grad():
    made = []
    for dtype in (*FLOATS, "f64"):
        x, grad = random((3, 8), dtype, 1), random((3, 4), dtype, 2)
        a, b = halves(x.astype(np.float64))
        s = sigmoid(b)
        expected = np.concatenate([grad * s, grad * a * s * (1 - s)], -1)
        arguments = [In(grad, dtype), In(x, dtype), -1, Out(expected, dtype)]
        made.append(Case("aclnnGluBackward", arguments, dtype))
    return made


def geglu_grad(op, left):
    def cases():
        made = []
        for dtype in FLOATS:
            for mode, f in [(0, gelu_erf), (1, gelu_tanh)]:
                x, grad = random((8, 3), dtype, 1), random((4, 3), dtype, 2)
                first, second = np.split(x.astype(np.float64), 2, 0)
                gate, other = (first, second) if left else (second, first)
                active = rounded(f(gate), dtype)
                parts = [grad * active, grad * other * slope(f, gate)]
                expected = np.concatenate(parts[::-1] if left else parts, 0)
                tensors = [In(grad, dtype), In(x, dtype), In(active, dtype)]
                side = [left] if op.endswith("V3Backward") else []
                arguments = [*tensors, 0, mode, *side, Out(expected, dtype)]
                made.append(Case(op, arguments, f"{dtype} {mode} {left}"))
        return made

    return cases


def multiplied(op, f, more):
    """The first half goes through f, the second multiplies."""

    def cases():
        made = []
        for dtype in FLOATS:
            for shape in [(3, 8), (2, 3, 4), (0, 4)]:
                x = random(shape, dtype, 1)
                a, b = halves(x.astype(np.float64))
                arguments = [In(x, dtype), more(dtype), Out(f(a) * b, dtype)]
                made.append(Case(op, arguments, f"{dtype} {shape}"))
        return made

    return cases


def fatrelu(x):
    return np.where(x > 0.5, x, 0)


def logit(x):
    x = np.clip(x, 0.1, 0.9)
    return np.log(x / (1 - x))


def logits():
    made = []
    for dtype in FLOATS:
        x, grad = random((3, 4), dtype, 1, 0.2, 0.8), random((3, 4), dtype, 2)
        wide = x.astype(np.float64)
        made.append(Case("aclnnLogit", [In(x, dtype), -1.0, Out(logit(wide), dtype)], dtype))
        expected = grad / (wide * (1 - wide))
        arguments = [In(x, dtype), In(grad, dtype), -1.0, Out(expected, dtype)]
        made.append(Case("aclnnLogitGrad", arguments, dtype))
        x = random((3, 4), dtype, 1, 0.01, 0.99)
        wide = x.astype(np.float64)
        made.append(
            Case("aclnnLogit", [In(x, dtype), 0.1, Out(logit(wide), dtype)], f"{dtype} eps")
        )
        inside = (wide >= 0.1) & (wide <= 0.9)
        expected = np.where(inside, grad / (wide * (1 - wide)), 0)
        arguments = [In(x, dtype), In(grad, dtype), 0.1, Out(expected, dtype)]
        made.append(Case("aclnnLogitGrad", arguments, f"{dtype} eps"))
    return made


def log_sigmoid_forward():
    made = []
    for dtype in FLOATS:
        x = random((3, 4), dtype, 1)
        expected = log_sigmoid(x.astype(np.float64))
        buffer = Ref(np.zeros((3, 4)), dtype, np.zeros((3, 4)))
        made.append(Case("aclnnLogSigmoidForward", [In(x, dtype), Out(expected, dtype), buffer]))
    return made


def prelu_grad():
    made = []
    for dtype in FLOATS:
        for count in (1, 3):
            x, grad = random((2, 3, 4), dtype, 1), random((2, 3, 4), dtype, 2)
            weight = random((count,), dtype, 3)
            dx = np.where(x > 0, grad, grad * weight.reshape(-1, 1))
            each = np.where(x > 0, 0, grad.astype(np.float64) * x)
            dw = each.sum((0, 2)) if count == 3 else each.sum().reshape(1)
            tensors = [In(grad, dtype), In(x, dtype), In(weight, dtype)]
            arguments = [*tensors, Out(dx, dtype), Out(dw, dtype)]
            made.append(Case("aclnnPreluBackward", arguments, f"{dtype} {count}"))
    return made


def rrelu(op, in_place):
    """Without training the slope is the middle, and noise stays as it was."""

    def cases():
        made = []
        for dtype in FLOATS:
            x = random((3, 4), dtype, 1)
            expected = np.where(x > 0, x, x * 0.25)
            noise = Ref(np.full((3, 4), 7), dtype, np.full((3, 4), 7))
            head = Ref(x, dtype, expected) if in_place else In(x, dtype)
            tail = [] if in_place else [Out(expected, dtype)]
            arguments = [head, noise, *numbers(0.125, 0.375), False, 0, 0, *tail]
            made.append(Case(op, arguments, dtype))
        return made

    return cases


def prelu():
    made = []
    for dtype in FLOATS:
        for count in (1, 3):
            x, weight = random((2, 3, 4), dtype, 1), random((count,), dtype, 2)
            expected = np.where(x > 0, x, x * weight.reshape(-1, 1))
            arguments = [In(x, dtype), In(weight, dtype), Out(expected, dtype)]
            made.append(Case("aclnnPrelu", arguments, dtype))
    return made


RELU = (*FLOATS, "i8", "i32", "i64")
OPS = {
    "aclnnRelu": forward("aclnnRelu", lambda x: np.maximum(x, 0), dtypes=RELU),
    "aclnnInplaceRelu": forward(
        "aclnnInplaceRelu", lambda x: np.maximum(x, 0), dtypes=(*RELU, "u8"), in_place=True
    ),
    "aclnnSigmoid": forward("aclnnSigmoid", sigmoid),
    "aclnnSigmoid whole": sigmoid_of_whole,
    "aclnnSoftplusBackward whole": softplus_grad_of_whole,
    "aclnnInplaceSigmoid": forward("aclnnInplaceSigmoid", sigmoid, in_place=True),
    "aclnnGelu": forward("aclnnGelu", gelu_tanh),
    "aclnnGeluV2 erf": forward("aclnnGeluV2", gelu_erf, [0]),
    "aclnnGeluV2 tanh": forward("aclnnGeluV2", gelu_tanh, [1]),
    "aclnnSilu": forward("aclnnSilu", lambda x: x * sigmoid(x)),
    "aclnnElu": forward("aclnnElu", elu, numbers(1.5, 2.0, 0.5)),
    "aclnnInplaceElu": forward("aclnnInplaceElu", elu, numbers(1.5, 2.0, 0.5), in_place=True),
    "aclnnLeakyRelu": forward("aclnnLeakyRelu", leaky, numbers(0.25)),
    "aclnnInplaceLeakyRelu": forward(
        "aclnnInplaceLeakyRelu", leaky, numbers(0.25), in_place=True
    ),
    "aclnnHardswish": forward("aclnnHardswish", hardswish),
    "aclnnInplaceHardswish": forward("aclnnInplaceHardswish", hardswish, in_place=True),
    "aclnnHardsigmoid": forward("aclnnHardsigmoid", hardsigmoid, dtypes=(*FLOATS, "i32")),
    "aclnnInplaceHardsigmoid": forward(
        "aclnnInplaceHardsigmoid", hardsigmoid, dtypes=(*FLOATS, "i32"), in_place=True
    ),
    "aclnnSoftplus": forward("aclnnSoftplus", softplus, numbers(2.0, 3.0)),
    "aclnnThreshold": forward(
        "aclnnThreshold", lambda x: np.where(x <= 1, 7, x), numbers(1.0, 7.0), (*FLOATS, *INTEGERS)
    ),
    "aclnnInplaceThreshold": forward(
        "aclnnInplaceThreshold", lambda x: np.where(x <= 1, 7, x), numbers(1.0, 7.0), in_place=True
    ),
    "aclnnMish": forward("aclnnMish", mish),
    "aclnnInplaceMish": forward("aclnnInplaceMish", mish, in_place=True),
    "aclnnSelu": forward("aclnnSelu", selu),
    "aclnnInplaceSelu": forward("aclnnInplaceSelu", selu, in_place=True),
    "aclnnLogSigmoid": forward("aclnnLogSigmoid", log_sigmoid),
    "aclnnCelu": forward("aclnnCelu", celu, numbers(1.5)),
    "aclnnHardshrink": forward("aclnnHardshrink", hardshrink, numbers(0.5)),
    "aclnnSoftshrink": forward("aclnnSoftshrink", softshrink, numbers(0.5)),
    "aclnnSoftshrink nan": of_nan("aclnnSoftshrink", numbers(0.5)),
    "aclnnHardshrink nan": of_nan("aclnnHardshrink", numbers(0.5)),
    "aclnnSwish": forward("aclnnSwish", swish, numbers(2.0)),
    "aclnnPrelu": prelu,
    "aclnnThresholdBackward": backward(
        "aclnnThresholdBackward", lambda x: np.where(x > 0.5, x, 0), numbers(0.5)
    ),
    "aclnnSigmoidBackward": backward(
        "aclnnSigmoidBackward", sigmoid, of_result=lambda y: y * (1 - y)
    ),
    "aclnnTanhBackward": backward("aclnnTanhBackward", np.tanh, of_result=lambda y: 1 - y * y),
    "aclnnSiluBackward": backward("aclnnSiluBackward", lambda x: x * sigmoid(x)),
    "aclnnGeluBackward": backward("aclnnGeluBackward", gelu_tanh),
    "aclnnGeluBackwardV2 none": backward("aclnnGeluBackwardV2", gelu_erf, ["none"]),
    "aclnnGeluBackwardV2 tanh": backward("aclnnGeluBackwardV2", gelu_tanh, ["tanh"]),
    "aclnnLeakyReluBackward": backward("aclnnLeakyReluBackward", leaky, [*numbers(0.25), False]),
    "aclnnEluBackward": backward(
        "aclnnEluBackward", elu,
        arrange=lambda grad, x: [grad, *numbers(1.5, 2.0, 0.5), False, x],
    ),
    "aclnnHardtanhBackward": backward(
        "aclnnHardtanhBackward", lambda x: np.clip(x, -1, 2), numbers(-1.0, 2.0)
    ),
    "aclnnHardswishBackward": backward("aclnnHardswishBackward", hardswish),
    "aclnnHardsigmoidBackward": backward("aclnnHardsigmoidBackward", hardsigmoid),
    "aclnnSoftplusBackward": backward("aclnnSoftplusBackward", softplus, numbers(2.0, 3.0)),
    "aclnnLogSigmoidBackward": backward("aclnnLogSigmoidBackward", log_sigmoid, [None]),
    "aclnnMishBackward": backward("aclnnMishBackward", mish),
    "aclnnHardshrinkBackward": backward("aclnnHardshrinkBackward", hardshrink, numbers(0.5)),
    "aclnnSoftshrinkBackward": backward("aclnnSoftshrinkBackward", softshrink, numbers(0.5)),
    "aclnnSwishBackward": backward("aclnnSwishBackward", swish, numbers(2.0)),
    "aclnnSwiGlu": gated("aclnnSwiGlu", lambda a, b: [a * sigmoid(a) * b], []),
    "aclnnSwiGluGrad": swiglu_grad,
    "aclnnGlu": gated("aclnnGlu", lambda a, b: [a * sigmoid(b)], []),
    "aclnnGeGlu": gated("aclnnGeGlu", lambda a, b: [a * gelu_tanh(b), gelu_tanh(b)], [1]),
    "aclnnGeGluV3": gated(
        "aclnnGeGluV3", lambda a, b: [b * gelu_erf(a), gelu_erf(a)], [0, True]
    ),
    "gradients of more dtypes": more_dtypes,
    "aclnnGluBackward": glu_grad,
    "aclnnGeGluBackward": geglu_grad("aclnnGeGluBackward", False),
    "aclnnGeGluV3Backward left": geglu_grad("aclnnGeGluV3Backward", True),
    "aclnnGeGluV3Backward right": geglu_grad("aclnnGeGluV3Backward", False),
    "aclnnGeluMul none": multiplied("aclnnGeluMul", gelu_erf, lambda _: "none"),
    "aclnnGeluMul tanh": multiplied("aclnnGeluMul", gelu_tanh, lambda _: "tanh"),
    "aclnnFatreluMul": multiplied("aclnnFatreluMul", fatrelu, lambda dtype: In([0.5], dtype)),
    "aclnnLogit": logits,
    "aclnnLogSigmoidForward": log_sigmoid_forward,
    "aclnnPreluBackward": prelu_grad,
    "aclnnRReluWithNoise": rrelu("aclnnRReluWithNoise", False),
    "aclnnInplaceRReluWithNoise": rrelu("aclnnInplaceRReluWithNoise", True),
    "aclnnInplaceCelu": forward("aclnnInplaceCelu", celu, numbers(1.5), in_place=True),
    "aclnnShrink": forward("aclnnShrink", shrink, numbers(0.5, 0.25)),
    "aclnnSeluBackward": backward(
        "aclnnSeluBackward", selu,
        of_result=lambda y: np.where(y > 0, 1.0507009873554805, y + 1.7580993408473766),
    ),
}  # fmt: skip
