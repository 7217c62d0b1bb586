"""Copies between views of every layout and every size of element."""

import itertools

import numpy as np
import pytest

from tests.simulator.ops import acl


class Layout:
    """A view in a buffer: how many elements the dims take, in which order they lie, and the gap
    between two elements of each."""

    def __init__(self, shape, order, gaps, reverse=()):
        self.shape = shape
        self.strides = [0] * len(shape)
        step = 1
        for dim in order:
            step *= gaps[dim]
            self.strides[dim] = step
            step *= shape[dim]
        self.offset = 0
        for dim in reverse:
            self.offset += (shape[dim] - 1) * self.strides[dim]
            self.strides[dim] *= -1
        self.storage = step + 3

    def tensor(self, pointer, dtype):
        return acl.create_tensor(
            self.shape, dtype, self.strides, self.offset, self.storage, pointer
        )

    def of(self, array):
        item = array.itemsize
        strides = [stride * item for stride in self.strides]
        return np.lib.stride_tricks.as_strided(array[self.offset :], self.shape, strides)


def copy(npu, dtype, to, source):
    kind = acl.NUMPY[dtype]
    before = np.full(to.storage, 7, kind)
    values = (np.arange(source.storage) % 97 + (np.arange(source.storage) % 2) * 128).astype(kind)
    pointers = [npu.upload(before), npu.upload(values)]
    tensors = [to.tensor(pointers[0], dtype), source.tensor(pointers[1], dtype)]
    size, executor = acl.phase_one("aclnnInplaceCopy", tensors)
    workspace = npu.malloc(size)
    acl.phase_two("aclnnInplaceCopy", workspace, size, executor, npu.stream)
    npu.synchronize()
    found = npu.download(pointers[0], before)
    expected = before.copy()
    to.of(expected)[...] = source.of(values)
    np.testing.assert_array_equal(found, expected)
    for tensor in tensors:
        acl.check("aclDestroyTensor", tensor)
    for pointer in [*pointers, workspace]:
        npu.free(pointer)


@pytest.mark.parametrize("dtype", ["u8", "f16", "f32", "f64", "c64", "c128"])
@pytest.mark.parametrize("gaps", [(1, 1, 1), (2, 1, 1), (1, 3, 1), (1, 1, 2), (2, 3, 5)])
def test_every_order_of_dimensions(npu, dtype, gaps):
    shape = (5, 4, 6)
    orders = list(itertools.permutations(range(3)))
    for to, source in itertools.product(orders, orders):
        target = Layout(shape, to, gaps)
        copy(npu, dtype, target, Layout(shape, source, (1, 1, 1)))
        copy(npu, dtype, Layout(shape, to, (1, 1, 1)), Layout(shape, source, gaps))


@pytest.mark.parametrize("dtype", ["u8", "f16", "f32", "c64", "c128"])
@pytest.mark.parametrize(
    "shape", [(1,), (1, 1), (33, 65), (100, 2), (100, 4), (3, 64, 2, 2), (2, 1, 33, 1, 40), (7, 16)]
)
def test_tiles_and_their_rests(npu, dtype, shape):
    rank = len(shape)
    rising, falling = list(range(rank)), list(range(rank))[::-1]
    ones, wide = [1] * rank, [1] * (rank - 1) + [2]
    for to, source in itertools.product((rising, falling), repeat=2):
        copy(npu, dtype, Layout(shape, to, ones), Layout(shape, source, ones))
        copy(npu, dtype, Layout(shape, to, wide), Layout(shape, source, ones))
        copy(npu, dtype, Layout(shape, to, ones), Layout(shape, source, wide))


def test_backwards(npu):
    shape = (40, 3, 8)
    for reverse in [(0,), (2,), (0, 1, 2)]:
        target = Layout(shape, (2, 1, 0), (1, 1, 1), reverse)
        copy(npu, "f32", target, Layout(shape, (2, 1, 0), (1, 1, 1)))
        copy(npu, "f32", Layout(shape, (0, 2, 1), (1, 1, 1)), target)


@pytest.mark.parametrize("dtype", ["u8", "f16", "f32", "c128"])
def test_one_element_for_many(npu, dtype):
    shape = (6, 5, 34)
    target = Layout(shape, (2, 1, 0), (1, 1, 1))
    for same in [(0,), (1,), (2,), (0, 2), (0, 1, 2)]:
        source = Layout(shape, (2, 1, 0), (1, 1, 1))
        for dim in same:
            source.strides[dim] = 0
        copy(npu, dtype, target, source)
