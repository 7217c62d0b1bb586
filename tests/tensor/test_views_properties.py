"""Property tests: any chain of views, and any write through it, is what NumPy says."""

import mindtorch_v2 as torch
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

SHAPES = st.lists(st.integers(0, 4), min_size=0, max_size=4).map(tuple)


def start(shape):
    array = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    return torch.from_numpy(array.copy()), array.copy()


@st.composite
def slices(draw, size):
    step = draw(st.integers(1, 3))
    first = draw(st.none() | st.integers(-size - 1, size + 1))
    last = draw(st.none() | st.integers(-size - 1, size + 1))
    return slice(first, last, step)


@st.composite
def view_step(draw, shape):
    """One view op: what to do to a tensor, and the same for an array."""
    rank = len(shape)
    kinds = ["unsqueeze", "reshape_same"]
    if rank:
        kinds += ["slice", "permute", "transpose", "squeeze", "flip_free_narrow", "expand"]
        kinds += ["select"] if all(shape) else []
        kinds += ["unfold"]
    if rank >= 2:
        kinds += ["diagonal"]
    kind = draw(st.sampled_from(kinds))
    if kind == "unsqueeze":
        dim = draw(st.integers(-rank - 1, rank))
        return lambda t: t.unsqueeze(dim), lambda a: np.expand_dims(a, dim)
    if kind == "reshape_same":
        return lambda t: t.reshape(t.shape), lambda a: a
    if kind == "slice":
        key = tuple(draw(slices(size)) for size in shape)
        return lambda t: t[key], lambda a: a[key]
    if kind == "permute":
        order = draw(st.permutations(range(rank)))
        return lambda t: t.permute(*order), lambda a: a.transpose(order)
    if kind == "transpose":
        a, b = draw(st.integers(-rank, rank - 1)), draw(st.integers(-rank, rank - 1))
        return lambda t: t.transpose(a, b), lambda x: np.swapaxes(x, a, b)
    dim = draw(st.integers(-rank, rank - 1))
    if kind == "squeeze":
        if shape[dim] == 1:
            return lambda t: t.squeeze(dim), lambda a: a.squeeze(dim)
        return lambda t: t.squeeze(dim), lambda a: a
    if kind == "flip_free_narrow":
        first = draw(st.integers(0, shape[dim]))
        length = draw(st.integers(0, shape[dim] - first))
        key = (slice(None),) * (dim % rank) + (slice(first, first + length),)
        return lambda t: t.narrow(dim, first, length), lambda a: a[key]
    if kind == "expand":
        wide = tuple(draw(st.integers(1, 3)) if size == 1 else size for size in shape)
        return lambda t: t.expand(wide), lambda a: np.broadcast_to(a, wide)
    if kind == "select":
        where = draw(st.integers(-shape[dim], shape[dim] - 1))
        key = (slice(None),) * (dim % rank) + (where,)
        return lambda t: t.select(dim, where), lambda a: a[key]
    if kind == "unfold":
        size = draw(st.integers(0, shape[dim]))
        step = draw(st.integers(1, 3))
        if size == 0:
            return lambda t: t.reshape(t.shape), lambda a: a

        def windows(a):
            found = np.lib.stride_tricks.sliding_window_view(a, size, axis=dim, writeable=True)
            return found[(slice(None),) * (dim % rank) + (slice(None, None, step),)]

        return lambda t: t.unfold(dim, size, step), windows
    offset = draw(st.integers(-3, 3))
    return lambda t: t.diagonal(offset), lambda a: np.diagonal(a, offset)


@given(st.data(), SHAPES)
@QUICK
def test_chains_of_views(data, shape):
    tensor, array = start(shape)
    view, mirror = tensor, array
    for _ in range(data.draw(st.integers(1, 5))):
        on_tensor, on_array = data.draw(view_step(mirror.shape))
        view, mirror = on_tensor(view), on_array(mirror)
        assert tuple(view.shape) == mirror.shape
    assert view.tolist() == mirror.tolist()
    assert view.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
    # Strides mean the same element distances as NumPy's, where there is anything to address.
    if view.numel():
        for size, stride, in_bytes in zip(view.shape, view.stride(), mirror.strides, strict=True):
            assert size == 1 or stride * 8 == in_bytes
    assert view.contiguous().tolist() == mirror.tolist()
    assert view.clone().tolist() == mirror.tolist()
    assert int(view.sum()) == int(mirror.sum())
    assert (view + 1).tolist() == (mirror + 1).tolist()


@given(st.data(), SHAPES)
@QUICK
def test_write_through_a_view(data, shape):
    tensor, array = start(shape)
    view, mirror = tensor, array
    for _ in range(data.draw(st.integers(1, 4))):
        on_tensor, on_array = data.draw(view_step(mirror.shape))
        view, mirror = on_tensor(view), on_array(mirror)
    version = tensor._version
    places = set()
    for place in np.ndindex(*mirror.shape):
        places.add(sum(i * s for i, s in zip(place, view.stride(), strict=True)))
    if len(places) < mirror.size:
        before = tensor.tolist()
        try:
            view.add_(100)
        except RuntimeError:
            assert tensor.tolist() == before
        return  # elements share memory: the sum is undefined
    view.add_(100)
    assert view.tolist() == (mirror + 100).tolist()
    touched = array.copy().reshape(-1)
    for place in places:
        touched[view.storage_offset() + place] += 100
    assert tensor.reshape(-1).tolist() == touched.tolist()
    assert tensor._version == version + 1


@given(SHAPES, st.data())
@QUICK
def test_view_or_refuse(shape, data):
    """view() gives the same elements in the same order without a copy, or refuses; reshape()
    always works."""
    tensor, array = start(shape)
    order = data.draw(st.permutations(range(len(shape))))
    tensor, array = tensor.permute(order), array.transpose(order)
    total = array.size
    parts = []
    rest = total
    while rest > 1 and len(parts) < 3:
        divisor = data.draw(st.sampled_from([d for d in range(1, rest + 1) if rest % d == 0]))
        parts.append(divisor)
        rest //= divisor
    target = (*parts, rest) if total else (0, 3)
    assert tensor.reshape(target).tolist() == array.reshape(target).tolist()
    try:
        found = tensor.view(target)
    except RuntimeError as error:
        assert "view size is not compatible" in str(error)
        assert not tensor.is_contiguous()
    else:
        assert found.tolist() == array.reshape(target).tolist()
        assert found.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=3),
    st.lists(st.integers(0, 4), min_size=1, max_size=3),
    st.integers(0, 6),
)
@QUICK
def test_as_strided(size, stride, offset):
    tensor = torch.arange(24, dtype=torch.int64)
    stride = (stride * 3)[: len(size)]
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if 0 not in size and last >= 24:
        try:
            tensor.as_strided(size, stride, offset)
        except RuntimeError as error:
            assert "out of bounds for storage" in str(error)
        else:
            raise AssertionError("reached outside of its storage")
        return
    found = tensor.as_strided(size, stride, offset)
    assert tuple(found.shape) == tuple(size)
    if found.numel():
        array = np.arange(24, dtype=np.int64)[offset:]
        want = np.lib.stride_tricks.as_strided(array, size, [8 * s for s in stride])
        assert found.tolist() == want.tolist()
