"""The loss of label sequences that are not aligned with the input."""

import numpy as np

from tests.ops.case import OpCase, S, T, V, bad


def log_softmax(x):
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def likelihood(probs, labels, blank):
    """Of labels with a blank around each, over all ways through them."""
    states = [blank]
    for label in labels:
        states += [label, blank]
    ways = np.zeros(len(states))
    for step, prob in enumerate(probs):
        before = ways.copy()
        for k, label in enumerate(states):
            if step == 0:
                total = 1.0 if k < 2 else 0.0
            else:
                total = before[k] + (before[k - 1] if k > 0 else 0.0)
                if k > 1 and label not in (blank, states[k - 2]):
                    total += before[k - 2]
            ways[k] = total * prob[label]
    if len(probs) == 0:
        return 1.0 if len(states) == 1 else 0.0
    return ways[-1] + (ways[-2] if len(states) > 1 else 0.0)


def ctc_loss(
    log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False
):
    batched = log_probs.ndim == 3
    probs = np.exp(log_probs if batched else log_probs[:, None])
    steps, counts = np.ravel(input_lengths).astype(int), np.ravel(target_lengths).astype(int)
    losses = []
    begin = 0
    for number, (length, count) in enumerate(zip(steps, counts, strict=True)):
        labels = targets[number] if targets.ndim == 2 else targets[begin:]
        begin += count
        with np.errstate(divide="ignore"):
            losses.append(
                -np.log(likelihood(probs[:length, number], labels[:count].astype(int), blank))
            )
    losses = np.array(losses)
    if zero_infinity:
        losses = np.where(np.isinf(losses), 0, losses)
    if reduction == 1:
        return np.asarray((losses / np.maximum(counts, 1)).mean())
    return np.asarray(losses.sum()) if reduction == 2 else losses if batched else losses[0]


def random(*shape):
    return V(nested(np.round(log_softmax(np.random.default_rng(5).standard_normal(shape)), 3)))


def nested(values):
    return tuple(map(nested, values)) if values.ndim else float(values)


def ints(*values, dtype="int64", host=False):
    return V(values, dtype, fixed=True, host=host)


PROBS = random(6, 2, 4)
PADDED = ints((1, 2, 3), (2, 2, 0))
FLAT = ints(1, 2, 3, 2, 2)
LENGTHS = [6, 5], [3, 2]
CASES = [
    OpCase(
        "ctc_loss",
        ctc_loss,
        [
            *(S(PROBS, PADDED, *LENGTHS, 0, reduction) for reduction in (0, 1, 2)),
            *(S(PROBS, FLAT, *LENGTHS, 0, reduction) for reduction in (0, 1, 2)),
            S(PROBS, PADDED, ints(6, 5, host=True), ints(3, 2, host=True), 0, 0),
            S(PROBS, FLAT, ints(6, 5, dtype="int32", host=True),
              ints(3, 2, dtype="int32", host=True), 0, 0),
            S(PROBS, ints((1, 2, 2), (2, 2, 1), dtype="int32"), *LENGTHS, 3, 0, True),
            S(PROBS, PADDED, [3, 2], [3, 2], 0, 0),  # two equal labels need three steps
            S(PROBS, PADDED, [3, 2], [3, 2], 0, 0, True),
            S(PROBS, PADDED, [3, 2], [3, 2], 0, 1, True),
            S(PROBS, PADDED, [6, 0], [0, 0], 0, 0),
            S(PROBS, PADDED, [0, 6], [1, 2], 0, 0, True),
            S(random(9, 3, 5), ints(1, 1, 4, 3, 2, 1, 1), [9, 8, 7], [3, 3, 1], reduction=0),
            S(random(5, 4), ints(1, 3), [5], [2], 0, 0),
            S(random(5, 4), ints(1, 3), [5], [2], 0, 1),
        ],
        ("float32", "float64"),
        tolerance={"float32": (1e-5, 1e-5), "float64": (1e-11, 1e-11)},
        method=None,
        strides=False,
        bad=(
            bad(RuntimeError, "to have size 5 at dimension 0, but got size 4", PROBS,
                ints(1, 2, 3, 2), *LENGTHS),
            bad(RuntimeError, "to have size at least 3 at dimension 1, but got size 2", PROBS,
                ints((1, 2), (2, 2)), *LENGTHS),
            bad(RuntimeError, "input_lengths to have value at most 6, but got value 7", PROBS,
                PADDED, [7, 5], [3, 2]),
            bad(RuntimeError, "target_lengths to have value at least 0, but got value -1", PROBS,
                PADDED, [6, 5], [-1, 2]),
            bad(RuntimeError, "input_lengths must be of size batch_size", PROBS, PADDED, [6],
                [3, 2]),
            bad(RuntimeError, "target_lengths must be of size batch_size", PROBS, PADDED, [6, 5],
                [3]),
            bad(RuntimeError, "blank must be in label range", PROBS, PADDED, *LENGTHS, 4),
            bad(RuntimeError, "input_lengths must be integral", PROBS, PADDED,
                V((6.0, 5.0), "float32"), ints(3, 2)),
            bad(RuntimeError, "Expected 1 to 2 dimensions", PROBS, ints(((1, 2, 3), (2, 2, 0))),
                *LENGTHS),
            bad(RuntimeError, "log_probs tensor must not be empty", T((5, 0, 4)),
                T((0, 2), dtype="int64"), [], []),
            bad(NotImplementedError, "not implemented for 'Half'",
                T((6, 2, 4), dtype="float16"), PADDED, *LENGTHS),
        ),
    ),
]  # fmt: skip
