"""Ops by name that leave out elements at random."""

import numpy as np
import pytest

from . import acl
from .named import run
from .values import random

HOST = True
SHAPE = (6, 50)
MASK = random(SHAPE, "bool", 1).astype(np.uint8)
X, Y = random(SHAPE, "f32", 2), random(SHAPE, "f32", 3)


def made(npu, keep, **seeds):
    inputs = [(np.array(SHAPE), "i64", HOST), (keep, "f32", HOST)]
    return run(npu, "DropOutGenMaskV3", inputs, [(SHAPE, "u8")], seeds)[0]


def test_a_mask_keeps_as_many_as_asked(npu):
    mask = made(npu, 0.75, seed=3, seed2=0)
    assert set(np.unique(mask)) == {0, 1}
    assert 0.65 < mask.mean() < 0.85
    np.testing.assert_array_equal(mask, made(npu, 0.75, seed=3, seed2=0))
    assert (mask != made(npu, 0.75, seed=4, seed2=0)).any()
    assert made(npu, 1.0).all() and not made(npu, 0.0).any()


def test_a_mask_is_applied(npu):
    inputs = [(X, "f32"), (MASK, "u8"), (0.5, "f32", HOST)]
    (found,) = run(npu, "DropOutDoMaskV3", inputs, [(SHAPE, "f32")])
    np.testing.assert_allclose(found, X * MASK / 0.5)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize("axis", [0, -1])
def test_the_softmax_of_a_sum(npu, axis):
    inputs = [(X, "f32"), (Y, "f32"), (MASK, "u8")]
    attributes = {"alpha": 0.5, "input_keep_prob": 0.8, "axis": [axis]}
    outputs = [(SHAPE, "f32")] * 2
    whole, left = run(npu, "AxpyWithSoftmaxAndDropOutDoMask", inputs, outputs, attributes)
    expected = softmax(X + 0.5 * Y, axis)
    np.testing.assert_allclose(whole, expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(left, expected * MASK / 0.8, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("axis", [0, -1])
def test_the_gradient_of_the_softmax_of_a_sum(npu, axis):
    chances = softmax(X, axis)
    inputs = [(Y, "f32"), (MASK, "u8"), (chances, "f32")]
    attributes = {"alpha": 0.5, "input_keep_prob": 0.8, "axes": [axis]}
    (found,) = run(npu, "DropoutWithMulsAndSoftmaxGrad", inputs, [(SHAPE, "f32")], attributes)
    up = Y * MASK / 0.8
    expected = 0.5 * chances * (up - (up * chances).sum(axis, keepdims=True))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_a_chance_is_a_number_in_its_range(npu):
    with pytest.raises(acl.Error, match="keep_prob must be one number"):
        made(npu, 1.5)
