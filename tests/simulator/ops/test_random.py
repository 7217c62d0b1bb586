"""Random numbers: ranges, moments, the same for one seed and offset, others for others; dropout."""

import numpy as np
import pytest

from . import acl
from .case import Arguments, In, Ints, Out, Scalar, launch
from .values import decode

COUNT = 20000


def run(npu, op, arguments, layout="contiguous"):
    """The tensors the op wrote, as numbers."""
    made = Arguments(npu, arguments, layout)
    workspace = launch(npu, op, made.handles)
    npu.synchronize()
    results = [decode(buffer.read(), buffer.dtype) for buffer, _ in made.checks]
    if workspace:
        npu.free(workspace)
    made.close()
    return results


def blank(dtype, count=COUNT):
    return Out(np.zeros(count), dtype)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f64"])
def test_normal(npu, dtype):
    (x,) = run(npu, "aclnnInplaceNormal", [blank(dtype), 2.0, 0.5, 7, 0])
    assert abs(x.mean() - 2) < 0.02
    assert abs(x.std() - 0.5) < 0.02


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f64"])
def test_uniform(npu, dtype):
    (x,) = run(npu, "aclnnInplaceUniform", [blank(dtype), -1.0, 3.0, 7, 0])
    assert x.min() >= -1 and x.max() < 3
    assert abs(x.mean() - 1) < 0.05


def test_seeds_and_offsets(npu):
    def draw(seed, offset, layout="contiguous"):
        return run(npu, "aclnnInplaceUniform", [blank("f32"), 0.0, 1.0, seed, offset], layout)[0]

    first = draw(1, 0)
    np.testing.assert_array_equal(first, draw(1, 0))
    np.testing.assert_array_equal(first, draw(1, 0, "sliced"))
    assert (first != draw(2, 0)).mean() > 0.99
    assert (first != draw(1, 10)).mean() > 0.99


def tensors(*numbers):
    return [In(np.array([number]), "i64") for number in numbers]


FROM_MEMORY = {
    "aclnnInplaceNormalTensor": [0.5, 2.0],
    "aclnnInplaceUniformTensor": [-1.0, 3.0],
    "aclnnInplaceRandomTensor": [-3, 50],
}


@pytest.mark.parametrize("op", FROM_MEMORY)
def test_seed_and_offset_in_memory(npu, op):
    """The numbers of the seed, and of the sum of both offsets."""
    arguments = [blank("f32"), *FROM_MEMORY[op]]
    expected = run(npu, op.removesuffix("Tensor"), [*arguments, 7, 32])
    found = run(npu, op, [*arguments, *tensors(7, 30), 2])
    np.testing.assert_array_equal(found[0], expected[0])


def test_a_mask_whose_seed_is_in_memory(npu):
    mask = Out(np.zeros((COUNT + 127) // 128 * 16), "u8")
    kind = acl.CODES["f32"]
    expected = run(npu, "aclnnDropoutGenMaskV2", [Ints([COUNT]), 0.3, 7, 32, kind, mask])
    arguments = [Ints([COUNT]), 0.3, *tensors(7, 30), 2, kind, mask]
    found = run(npu, "aclnnDropoutGenMaskV2Tensor", arguments)
    np.testing.assert_array_equal(found[-1], expected[-1])


@pytest.mark.parametrize("dtype", ["i8", "i32", "i64", "f32"])
def test_integers(npu, dtype):
    (x,) = run(npu, "aclnnInplaceRandom", [blank(dtype), -3, 5, 1, 0])
    assert set(np.unique(x)) == set(range(-3, 5))


def test_bernoulli(npu):
    for dtype in ("f32", "bool", "i32"):
        ones = In(np.ones(COUNT), dtype)
        arguments = [ones, Scalar(0.25, "f32"), 1, 0, blank(dtype)]
        (x,) = run(npu, "aclnnBernoulli", arguments)
        assert abs(x.mean() - 0.25) < 0.02
    chance = np.repeat([0.0, 1.0], COUNT // 2)
    arguments = [In(chance, "f32"), In(chance, "f32"), 1, 0, blank("f32")]
    (x,) = run(npu, "aclnnBernoulliTensor", arguments)
    np.testing.assert_array_equal(x, chance)


def test_bernoulli_in_place(npu):
    arguments = [blank("f32"), Scalar(0.25, "f32"), 1, 0]
    (x,) = run(npu, "aclnnInplaceBernoulli", arguments)
    assert set(np.unique(x)) == {0, 1} and abs(x.mean() - 0.25) < 0.02
    chance = np.repeat([0.0, 1.0], COUNT // 2)
    (x,) = run(npu, "aclnnInplaceBernoulliTensor", [blank("f32"), In(chance, "f32"), 1, 0])
    np.testing.assert_array_equal(x, chance)


def test_normal_of_numbers_and_tensors(npu):
    mean, std = np.repeat([0.0, 100.0], COUNT // 2), np.full(COUNT, 0.5)
    (x,) = run(npu, "aclnnNormalFloatFloat", [2.0, 0.5, 1, 0, blank("f32")])
    assert abs(x.mean() - 2) < 0.02 and abs(x.std() - 0.5) < 0.02
    (x,) = run(npu, "aclnnNormalFloatTensor", [2.0, In(std, "f32"), 1, 0, blank("f32")])
    assert abs(x.mean() - 2) < 0.02 and abs(x.std() - 0.5) < 0.02
    (x,) = run(npu, "aclnnNormalTensorFloat", [In(mean, "f32"), 0.5, 1, 0, blank("f32")])
    assert abs((x - mean).mean()) < 0.02 and abs((x - mean).std() - 0.5) < 0.02


def test_normal_of_tensors(npu):
    mean = np.repeat([0.0, 100.0], COUNT // 2)
    arguments = [In(mean, "f32"), In(np.ones(COUNT), "f32"), 1, 0, blank("f32")]
    (x,) = run(npu, "aclnnNormalTensorTensor", arguments)
    assert abs((x - mean).mean()) < 0.05


def test_permutation(npu):
    (x,) = run(npu, "aclnnRandperm", [100, 3, 0, blank("i64", 100)])
    assert sorted(x) == list(range(100))
    assert list(x) != list(range(100))


def test_multinomial(npu):
    weights = In(np.array([[0.0, 1.0, 3.0], [5.0, 0.0, 0.0]]), "f32")
    out = Out(np.zeros((2, 4000)), "i64")
    (x,) = run(npu, "aclnnMultinomial", [weights, 4000, True, 1, 0, out])
    assert (x[1] == 0).all()
    assert set(np.unique(x[0])) == {1, 2}
    assert abs((x[0] == 2).mean() - 0.75) < 0.05
    weights = In(np.ones((2, 6)), "f32")
    (x,) = run(npu, "aclnnMultinomial", [weights, 6, False, 1, 0, Out(np.zeros((2, 6)), "i64")])
    assert (np.sort(x, 1) == np.arange(6)).all()


def test_dropout(npu):
    x = In(np.ones(COUNT), "f32")
    size = (COUNT + 127) // 128 * 16
    arguments = [x, 0.25, True, 1, 0, blank("f32"), Out(np.zeros(size), "u8")]
    y, mask = run(npu, "aclnnDropout", arguments)
    assert {round(float(value), 4) for value in np.unique(y)} == {0, 1.3333}
    assert abs((y == 0).mean() - 0.25) < 0.02
    bits = np.unpackbits(mask, bitorder="little")[:COUNT]
    np.testing.assert_array_equal(bits, y != 0)
    arguments = [x, In(mask, "u8"), 0.25, blank("f32")]
    np.testing.assert_array_equal(run(npu, "aclnnDropoutDoMask", arguments)[0], y)
    arguments = [x, In(mask, "u8"), 2.0, blank("f32")]
    np.testing.assert_array_equal(run(npu, "aclnnDropoutBackward", arguments)[0], 2.0 * bits)
    arguments = [Ints([COUNT]), 0.25, 1, 0, Out(np.zeros(size), "u8")]
    np.testing.assert_array_equal(run(npu, "aclnnDropoutGenMask", arguments)[0], mask)
    arguments.insert(4, acl.CODES["f32"])
    np.testing.assert_array_equal(run(npu, "aclnnDropoutGenMaskV2", arguments)[0], mask)


def test_bad_probability(npu):
    arguments = Arguments(npu, [Ints([8]), 2.0, 1, 0, Out(np.zeros(16), "u8")], "contiguous")
    with pytest.raises(acl.Error) as error:
        acl.phase_one("aclnnDropoutGenMask", arguments.handles)
    assert error.value.code == 161002 and "prob" in error.value.text
    arguments.close()


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_random_slopes(npu, dtype):
    x = np.tile([-2.0, 1.0, 0.0, -1.0], COUNT // 4)
    bounds = [Scalar(0.25, "f32"), Scalar(0.75, "f32")]
    noise, y = run(
        npu, "aclnnRReluWithNoise", [In(x, dtype), blank(dtype), *bounds, True, 1, 0, blank(dtype)]
    )
    assert (noise[x > 0] == 1).all()
    drawn = noise[x <= 0]
    assert drawn.min() >= 0.25 and drawn.max() <= 0.75
    assert abs(drawn.mean() - 0.5) < 0.01 and abs(drawn.std() - 0.5 / np.sqrt(12)) < 0.01
    np.testing.assert_allclose(y, np.where(x > 0, x, x * noise), rtol=2e-2)
