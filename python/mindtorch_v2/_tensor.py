"""The parts of class Tensor that are written in Python."""

from mindtorch_v2 import _C, _overridable, _tensor_autograd, _tensor_sparse
from mindtorch_v2._C import Tensor


def _repr(self, *, tensor_contents=None):
    from mindtorch_v2._tensor_str import _str

    return _str(self, tensor_contents=tensor_contents)


def _new_tensor(cls, *args, **kwargs):
    # What Tensor(...) does.
    from mindtorch_v2._legacy import new_tensor

    return new_tensor(cls, *args, **kwargs)


def _format(self, spec):
    if self.dim() == 0 and not self.is_meta and type(self) is Tensor:
        return self.item().__format__(spec)
    return object.__format__(self, spec)


def _contains(self, element):
    if isinstance(element, (Tensor, int, float, complex)):
        return bool((self == element).any().item())
    raise RuntimeError(
        f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
    )


def _reversed(self):
    return self if self.dim() == 0 else self.flip(0)


# --- copies -----------------------------------------------------------------------------------


def _deepcopy(self, memo):
    import copy

    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        return memo[id(self)]
    if self.is_meta:
        result = self.detach().clone()
    else:
        # Views of one storage stay views of one storage.
        storage = copy.deepcopy(self.untyped_storage(), memo)
        result = _C._rebuild_tensor(
            storage, self.dtype, self.storage_offset(), self.size(), self.stride()
        )
    if type(self) is not Tensor:
        result = result.as_subclass(type(self))
    if self.requires_grad:
        result.requires_grad_()
    if self.grad is not None:
        result.grad = copy.deepcopy(self.grad, memo)
    memo[id(self)] = result
    if self.__dict__:
        result.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return result


def _reduce_ex(self, protocol):
    from mindtorch_v2._serialization import reduce_tensor

    return reduce_tensor(self)


def _setstate(self, state):
    # Tensors pickled by very old torch: (storage, offset, size, stride) and later fields.
    if not isinstance(state, tuple):
        self.__dict__.update(state)
        return
    self.set_(*state[:4])


def _array_wrap(self, array, context=None, return_scalar=False):
    # NumPy's functions give tensors back when they were given tensors.
    return _C.from_numpy(array)


# --- dtype, storage ---------------------------------------------------------------------------


def _type(self, dtype=None, non_blocking=False, **kwargs):
    """Without arguments the name of the tensor's class, "torch.FloatTensor"; else the tensor as
    that dtype, class or class name.

    >>> torch.ones(2).type()
    'torch.FloatTensor'
    >>> torch.ones(2).type(torch.int64)
    tensor([1, 1])
    """
    from mindtorch_v2 import _legacy

    if dtype is None:
        return _legacy.type_name(self)
    dtype, device = _legacy.parse_type(dtype)
    return self.to(device or self.device, dtype, non_blocking)


def _storage(self):
    from mindtorch_v2.storage import TypedStorage, typed_storage

    storage = self.untyped_storage()
    return typed_storage(storage, self.dtype) or TypedStorage(
        wrap_storage=storage, dtype=self.dtype
    )


def _share_memory(self):
    """Moves the tensor, and all others over its storage, to memory that other processes can see;
    returns it. On accelerators nothing happens.

    >>> torch.ones(2).share_memory_().is_shared()
    True
    """
    self.untyped_storage().share_memory_()
    return self


def _is_shared(self):
    """Whether it lies in memory that other processes can see.

    >>> torch.ones(2).is_shared()
    False
    """
    return self.untyped_storage().is_shared()


def _set(self, source=None, storage_offset=0, size=None, stride=None):
    """Makes this tensor another view: of a tensor, or of a storage at the given place.

    >>> x = torch.empty(0)
    >>> x.set_(torch.ones(4).untyped_storage(), 1, (2,))
    tensor([1., 1.])
    """
    if source is None:
        source = _C.UntypedStorage(0, device=self.device)
    if isinstance(source, Tensor):
        if source.dtype != self.dtype:
            raise RuntimeError(
                "Could not set tensor of type "
                f"{str(source.dtype)[6:]} to a tensor of type {str(self.dtype)[6:]}"
            )
        if size is None:
            storage_offset = source.storage_offset()
            size, stride = source.size(), source.stride()
        source = source.untyped_storage()
    elif not isinstance(source, _C.UntypedStorage):
        source = source.untyped()
    if size is None:
        size = (source.nbytes() // self.element_size(),)
    size = (size,) if isinstance(size, int) else tuple(size)
    if stride is None:
        stride, step = [], 1
        for length in reversed(size):
            stride.insert(0, step)
            step *= max(length, 1)
    return self._set_storage(source, storage_offset, size, tuple(stride))


def _apply(self, function):
    """Replaces every element by function(element). Slow: one Python call per element.

    >>> torch.tensor([1., 2.]).apply_(lambda v: v * 10)
    tensor([10., 20.])
    """
    if not self.is_cpu:
        raise TypeError("apply_ is only implemented on CPU tensors")
    values = [function(value) for value in self.flatten().tolist()]
    return self.copy_(_C.tensor(values, dtype=self.dtype).view(self.shape))


def _map(self, other, function):
    """Replaces every element by function(element, element of other).

    >>> torch.tensor([1., 2.]).map_(torch.tensor([3., 4.]), lambda a, b: a * b)
    tensor([3., 8.])
    """
    if not self.is_cpu:
        raise TypeError("map_ is only implemented on CPU tensors")
    pairs = zip(self.flatten().tolist(), other.expand_as(self).flatten().tolist(), strict=True)
    values = [function(a, b) for a, b in pairs]
    return self.copy_(_C.tensor(values, dtype=self.dtype).view(self.shape))


def _new(self, *args, **kwargs):
    """A new tensor of the same dtype, by the rules of Tensor(...)."""
    from mindtorch_v2._legacy import new_tensor

    return new_tensor(Tensor, *args, dtype=self.dtype, **{"device": self.device, **kwargs})


def _new_data(self, data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A copy of `data` as a tensor of this dtype and device.

    >>> torch.ones(2).new_tensor([3, 4])
    tensor([3., 4.])
    """
    return _C.tensor(
        data,
        dtype=dtype or self.dtype,
        device=device or self.device,
        requires_grad=requires_grad,
        pin_memory=pin_memory,
    )


def _record_stream(self, stream):
    """Work given to the stream so far uses the tensor: its memory waits for that work when the
    tensor goes.
    """
    _C._record_stream(self, stream)


def _norm(self, p="fro", dim=None, keepdim=False, dtype=None):
    """The p-norm of all elements, or along `dim`.

    >>> torch.tensor([3., 4.]).norm()
    tensor(5.)
    """
    from mindtorch_v2.functional import norm

    return norm(self, p, dim, keepdim, dtype=dtype)


def _stft(
    self,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    return_complex=None,
    align_to_window=None,
):
    """The spectra of windows of a signal: torch.stft.

    >>> torch.ones(4).stft(2, 2, window=torch.ones(2), return_complex=True).shape
    torch.Size([2, 3])
    """
    from mindtorch_v2.functional import stft

    return stft(
        self,
        n_fft,
        hop_length,
        win_length,
        window,
        center,
        pad_mode,
        normalized,
        onesided,
        return_complex,
        align_to_window,
    )


def _where(self, condition, other):
    """Elements of the tensor where `condition` is true, of `other` elsewhere.

    >>> torch.tensor([1, 2]).where(torch.tensor([True, False]), 0)
    tensor([1, 0])
    """
    return _C._functions["where"](condition, self, other)


def _polygamma(self, n):
    """The derivative number `n` of `digamma`.

    >>> torch.tensor([1.0]).polygamma(1)
    tensor([1.6449])
    """
    return _C._functions["polygamma"](n, self)


def _polygamma_(self, n):
    """`polygamma` in place of the tensor's elements.

    >>> torch.tensor([1.0]).polygamma_(1)
    tensor([1.6449])
    """
    return self.copy_(_C._functions["polygamma"](n, self))


def _nonzero(self, *, as_tuple=False):
    """The indices of all elements that are not 0.

    >>> torch.tensor([0, 3]).nonzero()
    tensor([[1]])
    """
    from mindtorch_v2.functional import nonzero

    return nonzero(self, as_tuple=as_tuple)


def _unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements, ascending.

    >>> torch.tensor([3, 1, 3]).unique()
    tensor([1, 3])
    """
    from mindtorch_v2.functional import unique

    return unique(self, sorted, return_inverse, return_counts, dim)


def _unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
    """The elements without those that equal the one before.

    >>> torch.tensor([1, 1, 2]).unique_consecutive()
    tensor([1, 2])
    """
    from mindtorch_v2.functional import unique_consecutive

    return unique_consecutive(self, return_inverse, return_counts, dim)


def _sum_to_size(self, *sizes, size=None):
    """The sum over the dimensions that expanding a tensor of `size` to this shape repeats.

    >>> torch.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    if not sizes and size is None:
        raise TypeError('sum_to_size() missing 1 required positional arguments: "size"')
    sizes = (size,) if size is not None else sizes
    size = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    extra = self.dim() - len(size)
    fits = extra >= 0 and all(n in (1, m) for n, m in zip(size, self.shape[extra:], strict=False))
    if not fits:
        raise RuntimeError(
            f"size {{{list(size)}}} is not expandable to size {{{list(self.shape)}}}."
        )
    if not size:
        return self.sum()
    dims = [*range(extra)]
    dims += [i + extra for i, n in enumerate(size) if n == 1 and self.shape[i + extra] != 1]
    return self.sum(dims, keepdim=True).view(size) if dims else self


def _forward(name):
    """A method that is the function of the same name in _introspection or functional."""

    def method(self, *args, **kwargs):
        import mindtorch_v2

        return getattr(mindtorch_v2, name)(self, *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"See torch.{name}."
    return method


def _forward_in_place(name):
    """A method that writes what the function gives into the tensor."""

    def method(self, *args, **kwargs):
        import mindtorch_v2

        return self.copy_(getattr(mindtorch_v2, name)(self, *args, **kwargs))

    method.__name__ = f"{name}_"
    method.__qualname__ = f"Tensor.{name}_"
    method.__doc__ = f"torch.{name}, in place of the tensor's elements."
    return method


# --- subclasses -------------------------------------------------------------------------------


def _as_instance(result, cls):
    """A result of an op as an instance of `cls`; in tuples and lists, too."""
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        return type(result)(_as_instance(entry, cls) for entry in result)
    return result


def _torch_function(cls, func, types, args=(), kwargs=None):
    """Handles calls with arguments of a subclass: results are instances of it."""
    from mindtorch_v2._override_tables import get_default_nowrap_functions

    if not all(issubclass(cls, other) for other in types):
        return NotImplemented
    with _C.DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        if cls is Tensor or func in get_default_nowrap_functions():
            return result
        return _as_instance(result, cls)


Tensor.__torch_function__ = classmethod(_torch_function)
Tensor.__repr__ = _repr
Tensor.__format__ = _format
Tensor.__contains__ = _contains
Tensor.__reversed__ = _reversed
Tensor.__deepcopy__ = _deepcopy
Tensor.__reduce_ex__ = _reduce_ex
Tensor.__setstate__ = _setstate
Tensor.__array_priority__ = 1000  # NumPy lets us handle array + tensor
Tensor.__array_wrap__ = _array_wrap
Tensor.type = _type
Tensor.storage = property(_storage, doc="The elements behind the tensor; may be called, too.")
Tensor.share_memory_ = _share_memory
Tensor.is_shared = _is_shared
Tensor.set_ = _set
Tensor.apply_ = _apply
Tensor.map_ = _map
Tensor.new = _new
Tensor.new_tensor = _new_data
Tensor.record_stream = _record_stream
Tensor.norm = _norm
Tensor.nonzero = _nonzero
Tensor.unique = _unique
Tensor.unique_consecutive = _unique_consecutive
Tensor.stft = _stft
Tensor.where = _where
Tensor.polygamma = _polygamma
Tensor.polygamma_ = _polygamma_
Tensor.sum_to_size = _sum_to_size
_FORWARDED = (
    "corrcoef cov frexp histogram index_reduce is_conj is_neg is_nonzero is_same_size ldexp ldexp_ "
    "mvlgamma nanquantile nonzero_static prelu quantile renorm unsafe_chunk unsafe_split "
    "unsafe_split_with_sizes"
)
for _name in _FORWARDED.split():
    setattr(Tensor, _name, _forward(_name))
for _name in "index_reduce mvlgamma renorm".split():
    setattr(Tensor, f"{_name}_", _forward_in_place(_name))


def _part(name, doc):
    read = _C._functions[name]

    def write(self, value):
        read(self).copy_(value if isinstance(value, Tensor) else _C.tensor(value))

    return property(read, write, doc=doc)


Tensor.real = _part("real", "A view of the real parts; of a real tensor the tensor itself.")
Tensor.imag = _part("imag", "A view of the imaginary parts of a complex tensor.")
Tensor.__complex__ = lambda self: complex(self.item())
Tensor.__doc__ = """A multi-dimensional array of one dtype on one device.

Made by functions such as torch.tensor and torch.zeros; Tensor(2, 3) gives an unset one.
"""
_overridable.make_methods_overridable()
