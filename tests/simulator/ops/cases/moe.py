"""Tokens to experts and back."""

import itertools

import numpy as np

from ..case import Case, In, Out
from ..values import FLOATS, random
from .attention import LOOSE
from .attention_parts import softmax

EXPERTS = np.array([[2, 0], [1, 2], [2, 1], [0, 2], [1, 1]])
ROWS, K, E, H = 5, 2, 4, 3


def gating(version, renorm=0):
    op = "aclnnMoeGatingTopKSoftmax" + ("" if version == 1 else "V2")

    def cases():
        made = []
        for dtype in FLOATS:
            for shape, finished in itertools.product([(5, 6), (2, 3, 6)], (False, True)):
                x = random(shape, dtype, 1).astype(np.float64)
                every = softmax(x)
                best = np.argsort(-x, -1, kind="stable")[..., :2]
                y = np.take_along_axis(every, best, -1)
                if renorm:
                    y = softmax(np.take_along_axis(x, best, -1))
                done = random(shape[:-1], "bool", 2)
                experts = np.where(done[..., None] & finished, 6, best)
                rows = x.size // 6
                numbers = np.arange(2 * rows).reshape(2, rows).T.reshape(*shape[:-1], 2)
                outputs = [Out(y, dtype, LOOSE[dtype]), Out(experts, "i32")]
                outputs.append(Out(numbers, "i32") if version == 1 else None)
                if version == 2 and not renorm:
                    outputs[2] = Out(every, "f32", LOOSE["f32"])
                settings = [2] if version == 1 else [2, renorm, True]
                head = [In(x, dtype), In(done, "bool") if finished else None, *settings]
                made.append(Case(op, [*head, *outputs], f"{dtype} {shape} {finished}"))
        return made

    return cases


def expert_tokens():
    experts = np.array([0, 0, 2, 2, 2, 3])
    out = Out(np.array([2, 2, 5, 6, 6]), "i32")
    return [Case("aclnnMoeComputeExpertTokens", [In(experts, "i32"), 5, out])]


def order():
    """Choices in the order of their experts, and where each choice went."""
    sorted_choices = np.argsort(EXPERTS.reshape(-1), kind="stable")
    places = np.empty(ROWS * K, int)
    places[sorted_choices] = np.arange(ROWS * K)
    return sorted_choices, places


def init():
    made = []
    for dtype in (*FLOATS, "i8"):
        for active in (ROWS, 3):
            x = random((ROWS, H), dtype, 1)
            numbers = np.arange(ROWS * K).reshape(K, ROWS).T
            choices, _ = order()
            own = numbers.reshape(-1)[choices]
            places = np.empty(ROWS * K, int)
            places[own] = np.arange(ROWS * K)
            outputs = [
                Out(x[own % ROWS][: active * K], dtype), Out(places, "i32"),
                Out(EXPERTS.reshape(-1)[choices], "i32"),
            ]  # fmt: skip
            inputs = [In(x, dtype), In(numbers, "i32"), In(EXPERTS, "i32")]
            made.append(
                Case("aclnnMoeInitRouting", [*inputs, active, *outputs], f"{dtype} {active}")
            )
    return made


def init_v2():
    made = []
    choices, places = order()
    counts = np.bincount(EXPERTS.reshape(-1), minlength=E)
    for dtype in FLOATS:
        x = random((ROWS, H), dtype, 1)
        inputs = [In(x, dtype), In(EXPERTS, "i32")]
        for active, flag in [(0, 0), (7, 1), (0, 2)]:
            rows = x[choices // K][: active or None]
            tokens = [None, np.cumsum(counts), counts][flag]
            outputs = [Out(rows, dtype), Out(places, "i32")]
            outputs += [None if flag == 0 else Out(tokens, "i32"), None]
            arguments = [*inputs, active, 0, E, 0, flag, False, *outputs]
            made.append(Case("aclnnMoeInitRoutingV2", arguments, f"{dtype} {active} {flag}"))
        padded, where = padded_places(3)
        rows = np.zeros((E * 3, H))
        rows[where[where >= 0]] = x[np.arange(ROWS * K)[where >= 0] // K]
        outputs = [Out(rows.reshape(E, 3, H), dtype), Out(where, "i32"), None, Out(counts, "i32")]
        arguments = [*inputs, 0, 3, E, 1, 0, True, *outputs]
        made.append(Case("aclnnMoeInitRoutingV2", arguments, f"{dtype} padded"))
    return made


def padded_places(capacity):
    """With room for so many choices of each expert; the others have no place."""
    seen, where = [0] * E, []
    for expert in EXPERTS.reshape(-1):
        where.append(expert * capacity + seen[expert] if seen[expert] < capacity else -1)
        seen[expert] += 1
    return seen, np.array(where)


def init_grad():
    made = []
    _, places = order()
    for dtype in FLOATS:
        for mode, where, shape in [(0, places, (10, H)), (1, padded_places(3)[1], (E, 3, H))]:
            grad = random(shape, dtype, 1)
            rows = grad.reshape(-1, H).astype(np.float64)
            expected = np.zeros((ROWS, H))
            for i, place in enumerate(where):
                expected[i // K] += rows[place] if place >= 0 else 0
            out = Out(expected, dtype, LOOSE[dtype])
            arguments = [In(grad, dtype), In(where, "i32"), K, mode, 0, out]
            made.append(Case("aclnnMoeInitRoutingV2Grad", arguments, f"{dtype} {mode}"))
    return made


def summed(expanded, where, scales, bias, more):
    """where[row, choice]; a choice without a place gives only its bias."""
    result = more.astype(np.float64)
    for row, j in itertools.product(range(ROWS), range(K)):
        place = where[row, j]
        value = expanded[place] if place >= 0 else np.zeros(H)
        result[row] += scales[row, j] * (value + bias[EXPERTS[row, j]])
    return result


def finalize():
    made = []
    for dtype in FLOATS:
        expanded = random((10, H), dtype, 1).astype(np.float64)
        x1, x2 = (random((ROWS, H), dtype, seed) for seed in (2, 3))
        bias, scales = random((E, H), dtype, 4), random((ROWS, K), dtype, 5)
        places = np.random.default_rng(1).permutation(10)
        for second in (None, x2):
            more = x1.astype(np.float64) + (0 if second is None else x2)
            where = places.reshape(K, ROWS).T
            out = Out(summed(expanded, where, scales, bias, more), dtype, LOOSE[dtype])
            given = None if second is None else In(x2, dtype)
            rest = [In(bias, dtype), In(scales, dtype), In(places, "i32"), In(EXPERTS, "i32")]
            arguments = [In(expanded, dtype), In(x1, dtype), given, *rest, out]
            made.append(Case("aclnnMoeFinalizeRouting", arguments, f"{dtype} {second is None}"))
    return made


def finalize_v2():
    made = []
    for dtype in FLOATS:
        x1, bias = random((ROWS, H), dtype, 2), random((E, H), dtype, 4)
        scales = random((ROWS, K), dtype, 5)
        for mode in range(4):
            shape = (E, 3, H) if mode % 2 else (10, H)
            expanded = random(shape, dtype, 1).astype(np.float64)
            _, where = padded_places(3) if mode % 2 else order()
            rows = where.reshape(ROWS, K)
            given = where if mode >= 2 else rows.T.reshape(-1)
            flat = expanded.reshape(-1, H)
            expected = summed(flat, rows, scales, bias, x1)
            tensors = [In(expanded, dtype), In(given, "i32"), In(x1, dtype), None]
            tensors += [In(bias, dtype), In(scales, dtype), In(EXPERTS, "i32")]
            out = Out(expected, dtype, LOOSE[dtype])
            made.append(Case("aclnnMoeFinalizeRoutingV2", [*tensors, mode, out], f"{dtype} {mode}"))
            plain = summed(flat, rows, np.ones((ROWS, K)), np.zeros((E, H)), np.zeros((ROWS, H)))
            tensors = [In(expanded, dtype), In(given, "i32"), None, None, None, None, None]
            out = Out(plain, dtype, LOOSE[dtype])
            name = f"{dtype} {mode} plain"
            made.append(Case("aclnnMoeFinalizeRoutingV2", [*tensors, mode, out], name))
    return made


def finalize_grad():
    made = []
    for dtype in FLOATS:
        grad, bias = random((ROWS, H), dtype, 1), random((E, H), dtype, 4)
        scales = random((ROWS, K), dtype, 5)
        for mode in (0, 1):
            shape = (E, 3, H) if mode else (10, H)
            expanded = random(shape, dtype, 2)
            _, where = padded_places(3) if mode else order()
            flat = expanded.reshape(-1, H).astype(np.float64)
            of_x, of_scales = np.zeros_like(flat), np.zeros((ROWS, K))
            for row, j in itertools.product(range(ROWS), range(K)):
                place = where[row * K + j]
                value = bias[EXPERTS[row, j]] + (flat[place] if place >= 0 else 0)
                of_scales[row, j] = (grad[row].astype(np.float64) * value).sum()
                if place >= 0:
                    of_x[place] = grad[row].astype(np.float64) * scales[row, j]
            tensors = [In(grad, dtype), In(where, "i32"), In(expanded, dtype), In(scales, dtype)]
            tensors += [In(EXPERTS, "i32"), In(bias, dtype)]
            outputs = [Out(of_x.reshape(shape), dtype, LOOSE[dtype])]
            outputs.append(Out(of_scales, dtype, LOOSE[dtype]))
            arguments = [*tensors, mode, 0, E, 3, *outputs]
            made.append(Case("aclnnMoeFinalizeRoutingV2Grad", arguments, f"{dtype} {mode}"))
    return made


def permute():
    made = []
    choices, places = order()
    for dtype, index in itertools.product(FLOATS, ("i32", "i64")):
        tokens = random((ROWS, H), dtype, 1)
        for kept in (0, 7, -2):
            rows = tokens[choices // K][: kept or None]
            outputs = [Out(rows, dtype), Out(places, "i32")]
            arguments = [In(tokens, dtype), In(EXPERTS, index), kept, False, *outputs]
            made.append(Case("aclnnMoeTokenPermute", arguments, f"{dtype} {index} {kept}"))
        one = EXPERTS[:, 0]
        by_one = np.argsort(one, kind="stable")
        outputs = [Out(tokens[by_one], dtype), Out(np.argsort(by_one), "i32")]
        arguments = [In(tokens, dtype), In(one, index), 0, False, *outputs]
        made.append(Case("aclnnMoeTokenPermute", arguments, f"{dtype} {index} one"))
    return made


def permute_grad():
    made = []
    _, places = order()
    for dtype in FLOATS:
        for kept in (10, 7):
            grad = random((kept, H), dtype, 1)
            expected = np.zeros((ROWS, H))
            for i, place in enumerate(places):
                expected[i // K] += grad[place] if place < kept else 0
            out = Out(expected, dtype, LOOSE[dtype])
            arguments = [In(grad, dtype), In(places, "i32"), K, False, out]
            made.append(Case("aclnnMoeTokenPermuteGrad", arguments, f"{dtype} {kept}"))
    return made


def unpermute(back):
    def cases():
        made = []
        for dtype, weighted in itertools.product(FLOATS, (False, True)):
            k = K if weighted else 1
            places = np.random.default_rng(2).permutation(ROWS * k)
            tokens = random((ROWS * k, H), dtype, 1).astype(np.float64)
            probs = random((ROWS, k), dtype, 2) if weighted else np.ones((ROWS, k))
            grad = random((ROWS, H), dtype, 3).astype(np.float64)
            chosen = tokens[places].reshape(ROWS, k, H)
            given = In(probs, dtype) if weighted else None
            tensors = [In(tokens, dtype), In(places, "i32"), given, False, None]
            if not back:
                out = Out((chosen * probs[..., None]).sum(1), dtype, LOOSE[dtype])
                made.append(Case("aclnnMoeTokenUnpermute", [*tensors, out], f"{dtype} {weighted}"))
                continue
            of_tokens = np.zeros_like(tokens)
            of_tokens[places] = (grad[:, None] * probs[..., None]).reshape(-1, H)
            of_probs = (chosen * grad[:, None]).sum(-1)
            outputs = [Out(of_tokens, dtype, LOOSE[dtype]), None]
            if weighted:
                outputs[1] = Out(of_probs, dtype, LOOSE[dtype])
            tensors.insert(1, In(grad, dtype))
            arguments = [*tensors, *outputs]
            made.append(Case("aclnnMoeTokenUnpermuteGrad", arguments, f"{dtype} {weighted}"))
        return made

    return cases


OPS = {
    "aclnnMoeGatingTopKSoftmax": gating(1),
    "aclnnMoeGatingTopKSoftmaxV2": gating(2),
    "aclnnMoeGatingTopKSoftmaxV2 renorm": gating(2, 1),
    "aclnnMoeComputeExpertTokens": expert_tokens,
    "aclnnMoeInitRouting": init,
    "aclnnMoeInitRoutingV2": init_v2,
    "aclnnMoeInitRoutingV2Grad": init_grad,
    "aclnnMoeFinalizeRouting": finalize,
    "aclnnMoeFinalizeRoutingV2": finalize_v2,
    "aclnnMoeFinalizeRoutingV2Grad": finalize_grad,
    "aclnnMoeTokenPermute": permute,
    "aclnnMoeTokenPermuteGrad": permute_grad,
    "aclnnMoeTokenUnpermute": unpermute(False),
    "aclnnMoeTokenUnpermuteGrad": unpermute(True),
}
