"""Losses of classes and of sequences of classes, and their gradients."""

import itertools

import numpy as np

from ..case import Case, In, Ints, Out
from ..slopes import gradient
from ..values import FLOATS, random, rounded
from .loss import LOOSE, reduced


def nll(op, shape):
    def cases():
        made = []
        for dtype in FLOATS:
            for reduction in (0, 1, 2):
                x, weight = random(shape, dtype, 1), random((4,), dtype, 2, 0.5, 2)
                classes = shape[:1] + shape[2:]
                y = np.random.default_rng(0).integers(0, 4, classes)
                y.reshape(-1)[0] = -100
                safe = np.where(y < 0, 0, y)
                own = np.where(y < 0, 0, weight[safe])
                each = -own * np.take_along_axis(x, np.expand_dims(safe, 1), 1).squeeze(1)
                total = own.sum()
                value = [each, each.sum() / total, each.sum()][reduction]
                outputs = [Out(value, dtype, LOOSE[dtype]), Out(total, dtype, LOOSE[dtype])]
                tensors = [In(x, dtype), In(y, "i64"), In(weight, dtype)]
                made.append(Case(op, [*tensors, reduction, -100, *outputs], f"{dtype} {reduction}"))
        return made

    return cases


def nll_backward(op, shape):
    def cases():
        made = []
        for dtype, reduction in itertools.product(FLOATS, (0, 1, 2)):
            x, weight = random(shape, dtype, 1), random((4,), dtype, 2, 0.5, 2)
            y = np.random.default_rng(0).integers(0, 4, shape[:1] + shape[2:])
            own = weight[y]
            grad = random(y.shape if reduction == 0 else (), dtype, 3)
            total = rounded(own.sum(), dtype)

            def value(x, y=y, own=own, total=total, reduction=reduction):
                each = -own * np.take_along_axis(x, np.expand_dims(y, 1), 1).squeeze(1)
                return [each, each.sum() / total, each.sum()][reduction]

            out = Out(gradient(value, x, grad), dtype, LOOSE[dtype])
            tensors = [In(grad, dtype), In(x, dtype), In(y, "i64"), In(weight, dtype)]
            arguments = [*tensors, reduction, -100, In(total, dtype), out]
            made.append(Case(op, arguments, f"{dtype} {reduction}"))
        return made

    return cases


def nll_targets():
    """Every dtype of targets; one sample without a batch."""
    made = []
    x, weight = random((4,), "f32", 1), np.ones(4)
    for dtype in ("i32", "i64", "u8"):
        tensors = [In(x, "f32"), In(np.array(2), dtype), In(weight, "f32")]
        outputs = [Out(-x[2], "f32"), Out(np.array(1.0), "f32")]
        made.append(Case("aclnnNLLLoss", [*tensors, 1, -100, *outputs], dtype))
    return made


def log_softmax(x):
    top = x.max(-1, keepdims=True)
    return x - top - np.log(np.exp(x - top).sum(-1, keepdims=True))


def entropy(x, y, weight, smooth, reduction):
    """Targets below 0 do not count."""
    log_prob = log_softmax(x)
    safe = np.where(y < 0, 0, y)
    own = np.where(y < 0, 0, weight[safe])
    each = -(1 - smooth) * own * log_prob[np.arange(len(y)), safe]
    each = each - smooth / x.shape[1] * np.where(y < 0, 0, (log_prob * weight).sum(1))
    return [each, each.sum() / own.sum(), each.sum()][reduction]


Y = np.array([3, -100, 0, 1, 3])
REDUCTIONS = ("none", "mean", "sum")


def cross_entropy():
    made = []
    for dtype in FLOATS:
        for target in ("i32", "i64"):
            for (reduction, name), smooth in itertools.product(enumerate(REDUCTIONS), (0.0, 0.25)):
                x = random((5, 4), dtype, 1)
                weight = random((4,), "f32", 2, 0.5, 2) if smooth else np.ones(4)
                wide = x.astype(np.float64)
                value = entropy(wide, Y, weight, smooth, reduction)
                given = In(weight, "f32") if smooth else None
                log_prob = Out(log_softmax(wide), dtype, LOOSE[dtype])
                outputs = [Out(value, dtype, LOOSE[dtype]), log_prob, None, None]
                head = [In(x, dtype), In(Y, target), given, name, -100, smooth, 0.0, False]
                label = f"{dtype} {target} {name} {smooth}"
                made.append(Case("aclnnCrossEntropyLoss", [*head, *outputs], label))
    return made


def cross_entropy_grad():
    made = []
    for dtype in FLOATS:
        for (reduction, name), smooth in itertools.product(enumerate(REDUCTIONS), (0.0, 0.25)):
            x = random((5, 4), dtype, 1).astype(np.float64)
            weight = random((4,), "f32", 2, 0.5, 2)
            grad = random((5,) if reduction == 0 else (), dtype, 3)
            settings = (Y, weight, smooth, reduction)
            slopes = gradient(lambda z, s=settings: entropy(z, *s), x, grad)
            log_prob = rounded(log_softmax(x), dtype)
            tensors = [In(grad, dtype), In(log_prob, dtype), In(Y, "i64"), In(weight, "f32")]
            out = Out(slopes, dtype, LOOSE[dtype])
            arguments = [*tensors, None, None, name, -100, smooth, 0.0, out]
            made.append(Case("aclnnCrossEntropyLossGrad", arguments, f"{dtype} {name} {smooth}"))
    return made


def margins(line, labels):
    """The loss of one sample, and which classes its labels name; a negative one ends them."""
    end = np.argmax(labels < 0) if (labels < 0).any() else len(labels)
    marks = np.isin(np.arange(len(line)), labels[:end])
    gaps = [np.maximum(0, 1 - line[k] + line[~marks]).sum() for k in labels[:end]]
    return sum(gaps) / len(line), marks


def multilabel_margin():
    made = []
    targets = np.array([[3, 0, -1, 2, 2], [-1, 1, 1, 1, 1], [4, 2, 1, 0, 3]])
    for dtype, reduction in itertools.product(FLOATS, (0, 1, 2)):
        x = random((3, 5), dtype, 1)
        found = [margins(*pair) for pair in zip(x.astype(np.float64), targets, strict=True)]
        values = np.array([value for value, _ in found])
        marks = np.array([mark for _, mark in found])
        for cut, shape in [(slice(3), (3, 5)), (0, (5,))]:
            value = Out(reduced(np.asarray(values[cut]), reduction), dtype, LOOSE[dtype])
            arguments = [In(x[cut], dtype), In(targets[cut], "i64"), reduction, value]
            arguments.append(Out(marks[cut], dtype))
            name = f"{dtype} {shape} {reduction}"
            made.append(Case("aclnnMultilabelMarginLoss", arguments, name))
    return made


def read(path, blank):
    """What a path of labels says: repeats count once, blanks not."""
    return tuple(label for label, _ in itertools.groupby(path) if label != blank)


def ctc(log_prob, labels, steps, blank):
    """-log of the likelihood of all paths that say `labels`."""
    paths = itertools.product(range(log_prob.shape[1]), repeat=steps)
    ways = [path for path in paths if read(path, blank) == tuple(labels)]
    if not ways:
        return np.inf
    return -np.log(sum(np.exp(log_prob[range(steps), path].sum()) for path in ways))


CTC_X = random((4, 3, 3), "f64", 7)
CTC_LABELS, CTC_STEPS = [[1, 1], [2], [1, 2, 1]], [4, 3, 2]  # the last one has too few steps


def ctc_samples(blank):
    """The labels of each sample, and its loss as a function of the logits."""
    labels = [[label - (blank == 2) for label in line] for line in CTC_LABELS]
    losses = [
        lambda x, n=n: ctc(log_softmax(x[:, n]), labels[n], CTC_STEPS[n], blank) for n in range(3)
    ]
    return labels, losses


def ctc_alpha(n, labels, blank):
    """Likelihood of each state at each step, over paths of that length."""
    states = [blank, *itertools.chain(*[(label, blank) for label in labels])]
    log_prob = log_softmax(CTC_X[:, n])
    alpha = np.full((4, 8), -np.inf)
    for step in range(CTC_STEPS[n]):
        for state, label in enumerate(states):
            before = [] if step == 0 else [alpha[step - 1, state]]
            if step > 0 and state > 0:
                before.append(alpha[step - 1, state - 1])
            if step > 0 and state > 1 and states[state - 2] != label:
                before.append(alpha[step - 1, state - 2])
            ways = (1.0 if state < 2 else 0.0) if step == 0 else np.exp(before).sum()
            with np.errstate(divide="ignore"):
                alpha[step, state] = np.log(ways) + log_prob[step, label]
    return alpha


CTC_LENGTHS = [Ints(CTC_STEPS), Ints([2, 1, 3])]


def ctc_loss():
    made = []
    for dtype, blank, flat in itertools.product(("f32", "f64"), (0, 2), (False, True)):
        labels, losses = ctc_samples(blank)
        expected = np.array([loss(CTC_X) for loss in losses])
        assert np.isinf(expected[2])
        alpha = np.stack([ctc_alpha(n, labels[n], blank) for n in range(3)])
        rows = np.array([line + [0] * (3 - len(line)) for line in labels])
        targets = np.concatenate(labels) if flat else rows
        outputs = [Out(expected, dtype, LOOSE["f32"]), Out(alpha, dtype, LOOSE["f32"])]
        head = [In(log_softmax(CTC_X), dtype), In(targets, "i64"), *CTC_LENGTHS, blank, True]
        made.append(Case("aclnnCtcLoss", [*head, *outputs], f"{dtype} {blank} {flat}"))
    return made


def ctc_grad():
    made = []
    for dtype, blank in itertools.product(("f32", "f64"), (0, 2)):
        labels, losses = ctc_samples(blank)
        grad = random((3,), dtype, 3)
        values = np.array([loss(CTC_X) for loss in losses])
        slopes = sum(gradient(losses[n], CTC_X, grad[n]) for n in (0, 1))
        alpha = np.stack([ctc_alpha(n, labels[n], blank) for n in range(3)])
        targets = In(np.concatenate(labels), "i32")
        tensors = [In(grad, dtype), In(log_softmax(CTC_X), dtype), targets, *CTC_LENGTHS]
        out = Out(slopes, dtype, LOOSE["f32"])
        arguments = [*tensors, In(values, dtype), In(alpha, dtype), blank, True, out]
        made.append(Case("aclnnCtcLossBackward", arguments, f"{dtype} {blank}"))
    return made


OPS = {
    "aclnnNLLLoss": nll("aclnnNLLLoss", (5, 4)),
    "aclnnNLLLossBackward": nll_backward("aclnnNLLLossBackward", (5, 4)),
    "aclnnNLLLoss2d": nll("aclnnNLLLoss2d", (2, 4, 3, 2)),
    "aclnnNLLLoss2dBackward": nll_backward("aclnnNLLLoss2dBackward", (2, 4, 3, 2)),
    "aclnnNLLLoss targets": nll_targets,
    "aclnnCrossEntropyLoss": cross_entropy,
    "aclnnCrossEntropyLossGrad": cross_entropy_grad,
    "aclnnMultilabelMarginLoss": multilabel_margin,
    "aclnnCtcLoss": ctc_loss,
    "aclnnCtcLossBackward": ctc_grad,
}
