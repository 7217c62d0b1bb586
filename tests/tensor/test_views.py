"""Views: shared storage, strides, offsets, version counters, as_strided, impossible views."""

import pytest


def base(torch, *shape):
    count = 1
    for size in shape:
        count *= size
    return torch.arange(count, dtype=torch.float32).reshape(shape)


def shares(a, b):
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


# --- geometry -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, shape, stride, offset",
    [
        (lambda x: x, (2, 3, 4), (12, 4, 1), 0),
        (lambda x: x.view(6, 4), (6, 4), (4, 1), 0),
        (lambda x: x.view(-1), (24,), (1,), 0),
        (lambda x: x.view(2, 3, 2, 2), (2, 3, 2, 2), (12, 4, 2, 1), 0),
        (lambda x: x.transpose(0, 2), (4, 3, 2), (1, 4, 12), 0),
        (lambda x: x.permute(1, 2, 0), (3, 4, 2), (4, 1, 12), 0),
        (lambda x: x.mT, (2, 4, 3), (12, 1, 4), 0),
        (lambda x: x[1], (3, 4), (4, 1), 12),
        (lambda x: x[1, 2], (4,), (1,), 20),
        (lambda x: x[1, 2, 3], (), (), 23),
        (lambda x: x[:, 1], (2, 4), (12, 1), 4),
        (lambda x: x[:, :, 1:], (2, 3, 3), (12, 4, 1), 1),
        (lambda x: x[:, ::2, 1::2], (2, 2, 2), (12, 8, 2), 1),
        (lambda x: x[..., -1], (2, 3), (12, 4), 3),
        (lambda x: x[None], (1, 2, 3, 4), (24, 12, 4, 1), 0),
        (lambda x: x[:, None, 0], (2, 1, 4), (12, 4, 1), 0),
        (lambda x: x[2:], (0, 3, 4), (12, 4, 1), 24),
        (lambda x: x.unsqueeze(-1), (2, 3, 4, 1), (12, 4, 1, 1), 0),
        (lambda x: x.unsqueeze(1), (2, 1, 3, 4), (12, 12, 4, 1), 0),
        (lambda x: x[:1].squeeze(0), (3, 4), (4, 1), 0),
        (lambda x: x[:1, :1].squeeze(0, 1), (4,), (1,), 0),
        (lambda x: x[:1].expand(5, 3, 4), (5, 3, 4), (0, 4, 1), 0),
        (lambda x: x[0, 0].expand(2, -1), (2, 4), (0, 1), 0),
        (lambda x: x.narrow(2, 1, 2), (2, 3, 2), (12, 4, 1), 1),
        (lambda x: x.select(1, 2), (2, 4), (12, 1), 8),
        (lambda x: x.diagonal(0, 1, 2), (2, 3), (12, 5), 0),
        (lambda x: x.diagonal(1, 1, 2), (2, 3), (12, 5), 1),
        (lambda x: x.diagonal(-1, 1, 2), (2, 2), (12, 5), 4),
        (lambda x: x.unfold(2, 2, 1), (2, 3, 3, 2), (12, 4, 1, 1), 0),
        (lambda x: x.flatten(1), (2, 12), (12, 1), 0),
        (lambda x: x.unflatten(2, (2, 2)), (2, 3, 2, 2), (12, 4, 2, 1), 0),
        (lambda x: x.movedim(0, -1), (3, 4, 2), (4, 1, 12), 0),
        (lambda x: x.chunk(2, 2)[1], (2, 3, 2), (12, 4, 1), 2),
        (lambda x: x.split([1, 3], 2)[1], (2, 3, 3), (12, 4, 1), 1),
        (lambda x: x.unbind(1)[2], (2, 4), (12, 1), 8),
        (lambda x: x.as_strided((2, 2), (1, 2), 5), (2, 2), (1, 2), 5),
        (lambda x: x[1].T, (4, 3), (1, 4), 12),
        (lambda x: x.detach(), (2, 3, 4), (12, 4, 1), 0),
        (lambda x: x.data, (2, 3, 4), (12, 4, 1), 0),
        (lambda x: x.view_as(x), (2, 3, 4), (12, 4, 1), 0),
        (lambda x: x[0].swapaxes(0, 1), (4, 3), (1, 4), 0),
    ],
)
def test_geometry(torch, make, shape, stride, offset):
    x = base(torch, 2, 3, 4)
    y = make(x)
    assert tuple(y.shape) == shape
    long = [dim for dim, size in enumerate(shape) if size > 1]
    assert [y.stride(dim) for dim in long] == [stride[dim] for dim in long]
    assert y.storage_offset() == offset
    assert shares(x, y)
    assert y.numel() == y.nelement()
    assert y.ndim == y.dim() == len(shape)
    assert y.data_ptr() == x.data_ptr() + 4 * offset or y.numel() == 0


@pytest.mark.parametrize(
    "make", [lambda x: x.view(8), lambda x: x.t(), lambda x: x[1:], lambda x: x[:, 1]]
)
def test_writes_are_seen_through_views(torch, make):
    x = torch.zeros(4, 2)
    y = make(x)
    y.fill_(3)
    assert x.sum().item() == 3 * y.numel()
    x.zero_()
    assert y.sum().item() == 0


def test_size_and_stride_of_one_dimension(torch):
    x = base(torch, 2, 3, 4).permute(2, 0, 1)
    assert x.size(0) == 4 and x.size(-1) == 3
    assert x.stride(0) == 1 and x.stride(-1) == 4
    assert x.size() == torch.Size([4, 2, 3]) == x.shape == (4, 2, 3)
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.size(3)
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.stride(-4)


def test_size_object(torch):
    size = torch.zeros(2, 3).shape
    assert isinstance(size, torch.Size) and isinstance(size, tuple)
    assert repr(size) == "torch.Size([2, 3])"
    assert repr(torch.Size([])) == "torch.Size([])"
    assert size.numel() == 6
    assert isinstance(size[1:], torch.Size) and size[1:] == (3,)
    assert isinstance(size + (4,), tuple) and size + (4,) == (2, 3, 4)
    assert hash(size) == hash((2, 3))
    a, b = size
    assert (a, b) == (2, 3)


def test_view_of_dtype(torch):
    x = torch.tensor([1.0, 2.0])
    bits = x.view(torch.int32)
    assert bits.tolist() == [0x3F800000, 0x40000000]
    assert shares(x, bits)
    assert x.view(torch.uint8).shape == (8,)
    assert x.view(torch.uint8).view(torch.float32).tolist() == [1.0, 2.0]
    assert x.view(torch.float64).shape == (1,)
    bits[0] = 0
    assert x.tolist() == [0.0, 2.0]
    with pytest.raises(RuntimeError, match=r"self.size\(-1\) must be divisible by 2"):
        torch.zeros(3).view(torch.float64)


# --- impossible views ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, shape",
    [
        (lambda x: x.t(), (-1,)),
        (lambda x: x.t(), (12,)),
        (lambda x: x[:, 1:], (9,)),
        (lambda x: x[:, ::3], (6,)),
        (lambda x: x[:1].expand(3, 4), (12,)),
    ],
)
def test_view_that_needs_a_copy(torch, make, shape):
    x = make(base(torch, 3, 4))
    text = "view size is not compatible with input tensor's size and stride"
    with pytest.raises(RuntimeError, match=text):
        x.view(shape)
    copied = x.reshape(shape)
    assert copied.tolist() == x.contiguous().view(shape).tolist()
    assert not shares(copied, x)


@pytest.mark.parametrize(
    "make, shape, stride",
    [
        (lambda x: x.t(), (2, 2, 3), (2, 1, 4)),
        (lambda x: x[:, 1:], (3, 3, 1), (4, 1, 1)),
        (lambda x: x[::2], (2, 2, 2), (8, 2, 1)),
        (lambda x: x[:1].expand(3, 4), (3, 2, 2), (0, 2, 1)),
        (lambda x: x.t()[:, :1], (4, 1, 1), (1, 4, 4)),
    ],
)
def test_view_of_strided(torch, make, shape, stride):
    """Dimensions may be split and added anywhere, and joined where they follow each other."""
    x = make(base(torch, 3, 4))
    y = x.view(shape)
    significant = [s for size, s in zip(y.shape, y.stride(), strict=True) if size > 1]
    assert significant == [s for size, s in zip(shape, stride, strict=True) if size > 1]
    assert y.flatten().tolist() == x.flatten().tolist()
    assert shares(x, y)


def test_view_of_empty(torch):
    x = torch.zeros(2, 0, 3)
    assert x.view(0).shape == (0,)
    assert x.view(3, 0).shape == (3, 0)
    assert x.view(-1).shape == (0,)
    assert x.view(-1, 2).shape == (0, 2)
    with pytest.raises(RuntimeError, match="unspecified dimension size -1 can be any value"):
        x.view(-1, 0)
    with pytest.raises(RuntimeError, match="is invalid for input of size 0"):
        x.view(2, 3)


def test_zero_dim(torch):
    x = torch.tensor(5.0)
    assert x.shape == () and x.stride() == () and x.numel() == 1 and x.ndim == 0
    assert x.view(1, 1).shape == (1, 1)
    assert x.view(1).view(()).shape == ()
    assert x.unsqueeze(0).shape == (1,)
    assert x.reshape(1, 1, 1).squeeze().shape == ()
    assert x.expand(3).tolist() == [5.0] * 3
    assert x.T.shape == () if hasattr(x, "T") else True
    assert x[...].shape == ()
    assert x[None].shape == (1,)
    with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
        x[0]


# --- as_strided and contiguity ------------------------------------------------------------------


def test_as_strided_overlap(torch):
    x = base(torch, 5)
    windows = x.as_strided((3, 3), (1, 1))
    assert windows.tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    x[2] = 9
    assert windows[0, 2].item() == windows[1, 1].item() == windows[2, 0].item() == 9


def test_as_strided_counts_from_the_storage(torch):
    x = base(torch, 10)[4:]
    assert x.as_strided((2,), (1,)).tolist() == [4, 5]
    assert x.as_strided((2,), (1,), 0).tolist() == [0, 1]


@pytest.mark.parametrize(
    "size, stride, offset",
    [
        ((11,), (1,), 0),
        ((2,), (10,), 0),
        ((1,), (1,), 10),
        ((2, 2), (8, 2), 0),
        ((2**40,), (1,), 0),
    ],
)
def test_as_strided_outside_the_storage(torch, size, stride, offset):
    x = base(torch, 10)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 40"):
        x.as_strided(size, stride, offset)


def test_as_strided_in_place(torch):
    x = base(torch, 6)
    y = x.as_strided_((2, 2), (1, 2))
    assert y is x
    assert x.tolist() == [[0, 2], [1, 3]]


@pytest.mark.parametrize(
    "make, expected",
    [
        (lambda x: x, True),
        (lambda x: x.t(), False),
        (lambda x: x[1:], True),
        (lambda x: x[:, 1:], False),
        (lambda x: x[:, :1].t(), False),
        (lambda x: x[:1].t(), True),
        (lambda x: x[:0], True),
        (lambda x: x[:, :0], True),
        (lambda x: x[0, 0], True),
        (lambda x: x[:1].expand(3, 4), False),
        (lambda x: x[:1, :1].expand(1, 1), True),
    ],
)
def test_is_contiguous(torch, make, expected):
    x = make(base(torch, 3, 4))
    assert x.is_contiguous() is expected
    y = x.contiguous()
    assert y.is_contiguous()
    assert y.tolist() == x.tolist()
    assert (y is x) is expected


def test_clone(torch):
    x = base(torch, 3, 4)
    for y in (x.clone(), x.t().clone(), x[:, 1:].clone(), torch.clone(x)):
        assert not shares(x, y)
    # Dense layouts are kept; others become contiguous.
    assert x.t().clone().stride() == (1, 4)
    assert x[:, 1:].clone().stride() == (3, 1)
    assert x[:1].expand(3, 4).clone().stride() == (4, 1)
    assert x.t().clone(memory_format=torch.contiguous_format).stride() == (3, 1)


def test_like_keeps_dense_strides(torch):
    x = base(torch, 2, 3, 4).permute(2, 0, 1)
    for made in (
        torch.empty_like(x),
        torch.zeros_like(x),
        torch.rand_like(x),
        torch.full_like(x, 1),
    ):
        assert made.stride() == x.stride() == (1, 12, 4)
    assert torch.empty_like(x, memory_format=torch.contiguous_format).stride() == (6, 3, 1)
    assert torch.empty_like(x[:, :1]).stride()[0] == 1


# --- version counters ---------------------------------------------------------------------------


def test_version_counts_writes(torch):
    x = torch.zeros(3)
    assert x._version == 0
    x.add_(1)
    assert x._version == 1
    x[0] = 5
    assert x._version == 2
    x.fill_(0)
    x.zero_()
    assert x._version == 4
    torch.add(x, x, out=x)
    assert x._version == 5
    x.copy_(torch.ones(3))
    assert x._version == 6
    x += 1
    assert x._version == 7
    assert (x + 1)._version == 0


def test_version_is_shared_by_views(torch):
    x = torch.zeros(4, 2)
    views = [x.view(8), x.t(), x[1], x[:, 0], x.detach(), x.unsqueeze(0), x[None, ..., 0]]
    x.add_(1)
    assert [v._version for v in views] == [1] * len(views)
    for number, view in enumerate(views, start=2):
        view.mul_(2)
        assert x._version == number
    assert x.clone()._version == 0


def test_version_of_data_is_its_own(torch):
    x = torch.zeros(3)
    y = x.data
    y.add_(1)
    assert (x._version, y._version) == (0, 1)
    assert x.tolist() == [1, 1, 1]


def test_version_stays_when_reading_or_failing(torch):
    x = torch.zeros(3)
    x.sum()
    x.tolist()
    x.view(3, 1)
    x.numpy()
    with pytest.raises(RuntimeError):
        x.add_(torch.zeros(4))
    with pytest.raises(IndexError):
        x[5] = 1
    assert x._version == 0


# --- storage ------------------------------------------------------------------------------------


def test_storage(torch):
    x = torch.arange(6, dtype=torch.int32).reshape(2, 3)
    y = x[1:]
    assert x.untyped_storage().nbytes() == 24
    assert y.untyped_storage().nbytes() == 24
    assert len(x.untyped_storage()) == 24
    assert y.untyped_storage().data_ptr() == x.data_ptr()
    assert y.data_ptr() == x.data_ptr() + 12
    assert x.element_size() == x.itemsize == 4
    assert x.nbytes == 24 and y.nbytes == 12
    assert bytes(x.untyped_storage()[:4]) == b"\x00\x00\x00\x00"
    typed = x.storage()
    assert len(typed) == typed.size() == 6
    assert list(typed) == [0, 1, 2, 3, 4, 5]
    assert typed.data_ptr() == x.data_ptr()


def test_storage_lives_as_long_as_a_view(torch):
    y = torch.arange(1000, dtype=torch.float64)[990:]
    pieces = [torch.zeros(1000, dtype=torch.float64) for _ in range(20)]
    assert y.tolist() == list(range(990, 1000))
    del pieces


def test_set_(torch):
    x, y = torch.zeros(3), torch.ones(4)
    x.set_(y)
    assert shares(x, y) and x.shape == (4,)
    x.set_(y.untyped_storage(), 1, (2,), (1,))
    assert x.storage_offset() == 1 and x.tolist() == [1, 1]


def test_resize_(torch):
    x = torch.arange(6.0)
    assert x.resize_(2, 3) is x and x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert x.resize_(2).tolist() == [0, 1]
    assert x.untyped_storage().nbytes() == 24
    big = x.resize_(100)
    assert big.shape == (100,) and x.untyped_storage().nbytes() == 400
    assert x[:6].tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(RuntimeError):
        x.resize_(-1)


def test_data_can_be_replaced(torch):
    x = torch.zeros(3)
    x.data = torch.ones(2, 2)
    assert x.shape == (2, 2) and x.sum().item() == 4
    with pytest.raises(TypeError):
        x.data = 5


def test_view_names_exist(torch):
    """The in-place forms of view ops change the tensor's own geometry."""
    x = base(torch, 1, 3, 4)
    assert x.squeeze_(0) is x and x.shape == (3, 4)
    assert x.t_() is x and x.shape == (4, 3) and x.stride() == (1, 4)
    assert x.unsqueeze_(0) is x and x.shape == (1, 4, 3)
    assert x.transpose_(1, 2) is x and x.shape == (1, 3, 4)


def test_broadcast_tensors(torch):
    a, b = torch.broadcast_tensors(torch.zeros(3, 1), torch.zeros(4))
    assert a.shape == b.shape == (3, 4)
    assert a.stride() == (1, 0) and b.stride() == (0, 1)
    assert torch.broadcast_shapes((3, 1), (4,), ()) == (3, 4)
    with pytest.raises(RuntimeError):
        torch.broadcast_shapes((3,), (4,))


def test_real_and_transposes(torch):
    x = base(torch, 2, 3)
    assert x.T.tolist() == x.t().tolist() == x.mT.tolist()
    with pytest.warns(UserWarning, match="deprecated"):
        base(torch, 2, 3, 4).T  # noqa: B018
    with pytest.raises(RuntimeError):
        torch.zeros(3).mT  # noqa: B018


def test_loose_ints(torch):
    """A list of ints may be given one by one where nothing else, functions' tensor included, is
    positional."""
    x = torch.zeros(1, 1, 3)
    assert x.squeeze(0, 1).shape == (3,)
    assert x.clone().squeeze_(0, -2).shape == (3,)
    assert x.squeeze(0, 2).shape == (1, 3)
    assert x.flip(0, 1).shape == x.permute(0, 1, 2).shape == torch.zeros(1, 1, 3).shape
    assert x.count_nonzero(0, 1).shape == torch.count_nonzero(x, (0, 1)).shape == (3,)
    with pytest.raises(TypeError):
        x.var(0, 1)
    with pytest.raises(TypeError, match=r"squeeze\(\) received an invalid combination"):
        torch.squeeze(x, 0, 1)
    with pytest.raises(TypeError, match=r"flip\(\) takes 2 positional arguments but 3 were given"):
        torch.flip(x, 0, 1)
    with pytest.raises(TypeError, match=r"argument 'dims' \(position 2\) must be tuple of ints"):
        torch.permute(x, 0)
    with pytest.raises(TypeError, match=r"reshape\(\) takes 2 positional arguments but 3 were"):
        torch.reshape(x, 3, 1)
    with pytest.raises(TypeError, match=r"unflatten\(\) takes 3 positional arguments but 4 were"):
        torch.unflatten(x, 2, 3, 1)
