"""The steps of random programs: every kind of thing that a program does to tensors."""

import copy
import gc
import pickle

import numpy as np

UNARY = (
    "neg", "abs", "relu", "exp", "tanh", "sigmoid", "sqrt", "sin", "floor", "round", "square",
    "reciprocal", "sign", "gelu", "silu", "log1p", "erf", "isnan", "logical_not",
    "bitwise_not", "trunc", "rsqrt", "log",
)  # fmt: skip
BINARY = (
    "add", "sub", "mul", "div", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge",
    "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "atan2",
    "hypot", "fmax",
)  # fmt: skip
WITH_NUMBER = (
    "add",
    "mul",
    "sub",
    "div",
    "lt",
    "ge",
    "eq",
    "clamp_min",
    "clamp_max",
    "pow",
    "rsub",
)
REDUCTIONS = (
    "sum", "mean", "prod", "amax", "amin", "argmax", "any", "all", "var", "std", "logsumexp",
    "norm", "nansum", "count_nonzero",
)  # fmt: skip
ALONG = ("softmax", "log_softmax", "cumsum", "cumprod", "flip", "argsort")
NEW, IN_PLACE, OUT = 0, 1, 2


def form_of(n):
    """New results are the most common."""
    return (NEW, NEW, NEW, IN_PLACE, IN_PLACE, OUT)[n % 6]


def function(m, name):
    return getattr(m.torch, name, None) or getattr(m.torch.nn.functional, name)


def apply(m, name, form, n, self, *args):
    """A pointwise op in one of its forms."""
    if form == IN_PLACE and hasattr(self, name + "_"):
        getattr(self, name + "_")(*args)
    elif form == OUT:
        tensors = [x for x in (self, *args) if isinstance(x, m.torch.Tensor)]
        shape = m.torch.broadcast_tensors(*tensors)[0].shape
        target = m.fitting(n, shape, same=True)
        if target.shape != shape:
            target = target.clone()  # is resized, and then must not be what is read
            m.add(target)
        function(m, name)(self, *args, out=target)
    else:
        m.add(function(m, name)(self, *args))


def unary(m, s):
    apply(m, UNARY[s.b % len(UNARY)], form_of(s.c), s.d, m.pick(s.a))


def binary(m, s):
    x = m.pick(s.a)
    apply(m, BINARY[s.c % len(BINARY)], form_of(s.d), s.c, x, m.fitting(s.b, x.shape))


def with_number(m, s):
    x = m.pick(s.a)
    name = WITH_NUMBER[s.c % len(WITH_NUMBER)]
    if name == "rsub":
        return m.add(m.number(s.b) - x)
    number = m.number(s.b)
    # Integers have no negative powers: raised at the call, but not where a trace repeats.
    apply(m, name, form_of(s.d), s.b, x, abs(number) if name == "pow" else number)


def ternary(m, s):
    x = m.pick(s.a)
    y = m.fitting(s.b, x.shape)
    z = m.fitting(s.c, m.torch.broadcast_tensors(x, y)[0].shape)
    name = ("where", "addcmul", "lerp", "clamp", "where_number")[s.d % 5]
    if name == "where":
        m.add(m.torch.where(x > m.number(s.b), y, z))
    elif name == "where_number":
        m.add(m.torch.where(x.bool(), y, m.number(s.c)))
    elif name == "clamp":
        m.add(x.clamp(-1, m.number(s.b)))
    elif name == "lerp":
        m.add(m.torch.lerp(x, y, m.number(s.c)))
    elif s.d % 2:
        x.addcmul_(y, z, value=m.number(s.b))
    else:
        m.add(m.torch.addcmul(x, y, z, value=m.number(s.b)))


def chain(m, s):
    """Several pointwise ops whose results nobody keeps."""
    x, y = m.pick(s.a), m.fitting(s.b, m.pick(s.a).shape)
    for i in range(1 + s.c % 6):
        n = s.d + 5 * i
        x = function(m, BINARY[n % 4])(x, y if n % 3 else m.number(n))
        if n % 4 == 0:
            x = x.relu()
    m.add(x)


def cast(m, s):
    m.add(m.pick(s.a).to(m.dtype(s.b)))


# --- views ---
def view(m, s):
    x = m.pick(s.a)
    names = ["unsqueeze", "expand", "flatten", "detach", "data", "reshape", "alias"]
    if x.dim():
        names += ["slice", "strided", "transpose", "squeeze", "narrow", "split", "select", "slice"]
    if x.dim() >= 2:
        names += ["diagonal", "t", "permute", "diagonal", "t"]
    name = names[s.b % len(names)]
    dim = s.c % x.dim() if x.dim() else 0
    size = x.shape[dim] if x.dim() else 1
    makers = {
        "unsqueeze": lambda: x.unsqueeze(s.c % (x.dim() + 1)),
        "expand": lambda: x.expand(2, *x.shape),
        "flatten": lambda: x.flatten(),
        "detach": lambda: x.detach(),
        "data": lambda: x.data,
        "reshape": lambda: x.reshape(-1, 1),
        "alias": lambda: x.view_as(x),
        "slice": lambda: x[s.d % (size + 1) :],
        "strided": lambda: x[..., :: 2 + s.d % 2],
        "transpose": lambda: x.transpose(dim, s.d % x.dim()),
        "squeeze": lambda: x.squeeze(),
        "narrow": lambda: x.narrow(dim, s.d % (size + 1), size - s.d % (size + 1)),
        "split": lambda: x.chunk(2, dim)[-1],
        "select": lambda: x.select(dim, s.d % size),
        "diagonal": lambda: x.diagonal(s.d % 3 - 1),
        "t": lambda: x.transpose(0, 1),
        "permute": lambda: x.permute(*range(1, x.dim()), 0),
    }
    m.add(makers[name]())


def view_as_dtype(m, s):
    """The same bytes as smaller integers. Not those of floats: NaN has the bits it likes, and not
    those of bools, which are 0 or 1 and must stay so."""
    x = m.pick(s.a)
    if not x.dtype.is_floating_point and x.dtype != m.torch.bool:
        m.add(x.view(m.torch.int32 if x.dtype == m.torch.int64 else m.torch.uint8))


def reshape_in_place(m, s):
    x = m.pick(s.a)
    name = ("unsqueeze_", "squeeze_", "transpose_", "resize_")[s.b % 4]
    if name == "unsqueeze_" and x.dim() < 5:
        x.unsqueeze_(s.c % (x.dim() + 1))
    elif name == "squeeze_":
        x.squeeze_()
    elif name == "transpose_" and x.dim() > 1:
        x.transpose_(0, s.c % x.dim())
    elif name == "resize_" and x.numel() and 0 not in x.stride():
        x.resize_(1 + s.c % x.numel())  # never more than there is: the rest would be anything


def replace(m, s):
    """Another tensor's memory, under the same name."""
    x, y = m.pick(s.a), m.pick(s.b)
    if s.c % 2:
        x.data = y
    else:
        x.set_(y)


# --- writes ---
def set_item(m, s):
    x = m.pick(s.a)
    where = s.c % 5
    if where == 0:
        key = ...
    elif where == 1:
        key = x != x.detach() if s.d % 2 else x > m.number(s.b)
    elif where == 2:
        key = slice(s.d % 3, None)
    elif where == 3:
        key = (..., s.d % x.shape[-1]) if x.dim() and x.shape[-1] else ...
    else:
        key = indices(m, s.d, x.shape[0])
    if s.b % 3 or where in (1, 4):
        x[key] = m.number(s.b)
    else:
        x[key] = m.fitting(s.b, x[key].shape)


def indices(m, n, size):
    """A tensor of numbers below `size`; a mistake raises at once where there are none."""
    return m.torch.tensor([(n + i * i) % size for i in range(1 + n % 4)], device=m.device)


def write(m, s):
    x = m.pick(s.a)
    name = ("copy_", "fill_", "zero_", "masked_fill_", "index_fill_", "index_add_", "scatter_",
            "index_copy_")[s.b % 8]  # fmt: skip
    if name == "copy_":
        x.copy_(m.fitting(s.c, x.shape))
    elif name == "fill_":
        x.fill_(m.number(s.c))
    elif name == "zero_":
        x.zero_()
    elif name == "masked_fill_":
        x.masked_fill_(m.fitting(s.c, x.shape) > 0, m.number(s.d))
    elif name == "index_fill_":
        x.index_fill_(0, indices(m, s.c, x.shape[0]), m.number(s.d))
    elif name == "index_add_":
        i = indices(m, s.c, x.shape[0])
        x.index_add_(0, i, m.torch.ones(len(i), *x.shape[1:], dtype=x.dtype, device=m.device))
    elif name == "scatter_":
        i = indices(m, 4 * s.c, x.shape[-1])  # one: no two writes to one place
        x.scatter_(-1, i.expand(*x.shape[:-1], len(i)), m.number(s.d))
    else:
        i = indices(m, 4 * s.c, x.shape[0])
        x.index_copy_(0, i, x[:1] + 1)


def write_outside(m, s):
    """Through an array that shares the memory."""
    if m.device != "cpu":
        return
    array = m.pick(s.a).detach().numpy()
    array[...] = m.number(s.b)
    if s.c % 2:
        m.add(m.torch.from_numpy(array) + 1)


# --- everything else that computes ---
def index(m, s):
    x = m.pick(s.a)
    name = ("index", "index_select", "gather", "take", "masked_select", "nonzero")[s.b % 6]
    if name == "index":
        m.add(x[indices(m, s.c, x.shape[0])])
    elif name == "index_select":
        m.add(x.index_select(-1, indices(m, s.c, x.shape[-1])))
    elif name == "gather":
        m.add(x.gather(0, m.torch.zeros_like(x, dtype=m.torch.int64)))
    elif name == "take":
        m.add(x.take(indices(m, s.c, x.numel())))
    elif name == "masked_select":
        m.add(x.masked_select(x > m.number(s.c)))
    else:
        m.add(x.nonzero())


def reduce(m, s):
    x = m.pick(s.a)
    name = REDUCTIONS[s.b % len(REDUCTIONS)]
    reduction = getattr(x, name)
    keywords = {"keepdim": s.c % 2 == 0} if name != "count_nonzero" else {}
    if x.dim() and s.d % 3 or name == "logsumexp":
        m.add_sum(reduction(dim=s.c % max(x.dim(), 1), **keywords), x)
    else:
        m.add_sum(reduction(), x)


def along(m, s):
    x = m.pick(s.a)
    name = ALONG[s.b % len(ALONG)]
    dim = s.c % max(x.dim(), 1)
    if name == "argsort":
        m.add(x.argsort(dim=dim, stable=True))
    elif name == "flip":
        m.add(x.flip(dim))
    else:
        m.add_sum(getattr(x, name)(dim), x)


def sort(m, s):
    x = m.pick(s.a)
    if s.b % 3 == 0:
        for each in x.sort(dim=-1, stable=True):
            m.add(each)
    elif s.b % 3 == 1:
        m.add(x.topk(min(2, x.shape[-1])).values)
    else:
        for each in x.max(dim=0):
            m.add(each)


def join(m, s):
    x = m.pick(s.a)
    y = m.fitting(s.b, x.shape, same=True)
    if s.c % 3 == 0:
        m.add(m.torch.cat([x, y, x], s.d % max(x.dim(), 1)))
    elif s.c % 3 == 1:
        m.add(m.torch.stack([x, y], s.d % (x.dim() + 1)))
    else:
        target = m.pick(s.d).clone()  # which is resized, and must not be x or y
        m.add(m.torch.cat([x, y], out=target))


def matmul(m, s):
    x = m.pick(s.a)
    if x.dim() != 2 or x.shape[0] > 100:
        x = x.flatten()[:6].unsqueeze(s.d % 2)
    y = m.fitting(
        s.b, (), lambda t: t.dim() == 2 and t.shape[0] == x.shape[1] and t.dtype == x.dtype
    )
    if y.dim() != 2 or y.shape[0] != x.shape[1] or y.dtype != x.dtype:
        y = x.t()
    if s.c % 3 == 0:
        m.add(m.torch.nn.functional.linear(x, y.t()))
    elif s.c % 3 == 1:
        m.add(m.torch.addmm(x[:, :1] @ y[:1], x, y, beta=m.number(s.d), alpha=2))
    else:
        m.add(x @ y)


def rearrange(m, s):
    x = m.pick(s.a)
    name = ("tril", "roll", "repeat", "clone", "contiguous", "tile", "diff", "triu")[s.b % 8]
    arguments = {"roll": (s.c % 3,), "repeat": ((2,) * max(x.dim(), 1),), "tile": (2,)}
    if x.numel() < 10000:
        m.add(getattr(x, name)(*arguments.get(name, ())))


def create(m, s):
    options = {"dtype": m.dtype(s.b), "device": m.device}
    shape = m.shape(s.a)
    x = m.pick(s.c)
    torch, number = m.torch, m.number(s.c)
    makers = (
        lambda: torch.zeros(shape, **options),
        lambda: torch.ones(shape, **options),
        lambda: torch.full(shape, number, **options),
        lambda: torch.arange(s.c % 9, device=m.device),
        lambda: torch.eye(3, 4, **options),
        lambda: torch.full_like(x, number),
        lambda: torch.zeros_like(x),
        lambda: torch.tensor([number, 2.5, 1], **options),
        lambda: torch.linspace(0, 1, 5, device=m.device),
        lambda: torch.empty(shape, **options).fill_(number),
        lambda: x.new_ones((2, 3)),
        lambda: torch.scalar_tensor(number, device=m.device),
    )
    m.add(makers[s.d % len(makers)]())


# --- random numbers: not in blocks inside blocks, which do not keep the order of draws ---
def draw(m, s):
    if m.depth:
        return
    torch, shape = m.torch, m.shape(s.a)
    options = {"device": m.device}
    if s.b % 3 == 0:
        options["generator"] = m.generator
    own = {"generator": options["generator"]} if "generator" in options else {}
    x = m.pick(s.c)
    makers = (
        lambda: torch.rand(shape, **options),
        lambda: torch.randn(shape, **options),
        lambda: torch.randint(0, 9, shape, **options),
        lambda: torch.randperm(7, **options),
        lambda: torch.rand(shape, device=m.device).bernoulli(**own),
        lambda: torch.dropout(x, 0.5, True),
        lambda: torch.rand_like(x),
        lambda: x.detach().uniform_(-1, 1, **own),
        lambda: x.detach().normal_(0, 2, **own),
        lambda: torch.normal(0.0, 1.0, (3,), **options),
    )
    m.add(makers[s.d % len(makers)]())


def draw_unseen(m, s):
    """Nobody looks at the numbers; those that come later know."""
    if m.depth:
        return
    m.torch.randn(1 + s.a % 50, device=m.device)
    m.torch.rand(3, generator=m.generator if s.b % 2 else None, device=m.device)


def seed(m, s):
    if m.depth:
        return
    if s.a % 3 == 0:
        m.torch.manual_seed(s.b)
    elif s.a % 3 == 1:
        m.generator.manual_seed(s.b)
    else:
        m.generator.set_state(m.torch.Generator(m.device).manual_seed(s.b).get_state())


# --- looks ---
def bytes_of(array):
    """But for the bits of a NaN, which are nobody's business."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return array.tobytes()


def read(m, s):
    x = m.pick(s.a)
    torch = m.torch
    small = x if x.numel() < 100 else x.flatten()[:5]
    looks = (
        lambda: small.tolist(),
        lambda: x.flatten()[s.c % max(x.numel(), 1)].item(),
        lambda: bytes_of(small.cpu().numpy()),
        lambda: repr(x),
        lambda: bool(x.flatten()[:1].any()),
        lambda: x.data_ptr() - x.untyped_storage().data_ptr(),
        lambda: torch.equal(x, m.fitting(s.c, x.shape)),
        lambda: [float(each) for each in small.flatten()[:3]],
        lambda: pickle.loads(pickle.dumps(small)).tolist(),
        lambda: copy.deepcopy(small).tolist(),
        lambda: small.to(torch.float64).tolist(),
        lambda: np.from_dlpack(small.cpu()).tolist(),
        lambda: x.unique().tolist()[:3],
        lambda: f"{x.flatten()[0]:.3f}",
        lambda: (x.flatten()[0] in small.flatten(), len(x) if x.dim() else 0),
        lambda: m.random_state()[:16] if m.depth == 0 else None,
    )
    m.see("read", s.b % len(looks), plain(looks[s.b % len(looks)]()))


def plain(value):
    """NaN is what it is: so that what was seen compares."""
    return repr(value) if isinstance(value, (float, list)) else value


def look_at_layout(m, s):
    """What is known without running anything."""
    x = m.pick(s.a)
    m.see(tuple(x.shape), x.stride(), x.storage_offset(), x._version, str(x.dtype),
          x.is_contiguous(), x.untyped_storage().nbytes())  # fmt: skip


# --- the same work again and again ---
def loop(m, s):
    """A few rounds of the same ops, as in a training step; each round runs on its own."""
    x = m.pick(s.a)
    y = m.fitting(s.b, x.shape)
    for i in range(2 + s.c % 3):
        z = (x * m.number(s.d) + y).abs() if s.c % 2 else (x > i) & (y < i)
        if s.d % 3:
            x = x + z
        else:
            x += z
        if i == 1 and s.d % 2:
            m.add(z)
        m.flush()
    m.add(x)


# --- names and blocks ---
def drop(m, s):
    m.drop(s.a)
    if s.b % 8 == 0:
        gc.collect(0)


def hold_storage(m, s):
    """Holds the memory, although the tensor may go."""
    x = m.pick(s.a)
    m.storages.append((x.untyped_storage(), x.dtype))


def flush(m, s):
    m.flush()


def enter(m, s):
    m.enter(**({}, {"max_ops": 2}, {"min_defer_ops": 2}, {"max_pending_bytes": 64})[s.a % 4])


def leave(m, s):
    m.leave()


# How often each kind comes.
WEIGHTS = {
    unary: 3, binary: 5, with_number: 4, ternary: 2, chain: 3, cast: 2, view: 5, view_as_dtype: 1,
    reshape_in_place: 2, replace: 1, set_item: 3, write: 3, write_outside: 1, index: 2, reduce: 3,
    along: 2, sort: 1, join: 2, matmul: 2, rearrange: 2, create: 2, draw: 2, draw_unseen: 1,
    seed: 1, read: 2, look_at_layout: 1, loop: 2, drop: 6, hold_storage: 1, flush: 1, enter: 1,
    leave: 1,
}  # fmt: skip
TABLE = {kind.__name__: kind for kind in WEIGHTS}
