"""Which dtype each function gives under autocast."""

import mindtorch_v2
import pytest

from tests.amp.calls import ALL, arguments
from tests.nn.compare import assert_same

LOWER = ("bfloat16", "float16")
# A sample of what torch 2.13 gives on a CPU: for float32 arguments, and for those of autocast's
# own dtype; "lower" is that dtype.
ON_CPU = {
    "a @ b": ("lower", "lower"),
    "torch.mv(a, v)": ("float32", "lower"),
    "F.linear(a, b, v)": ("lower", "lower"),
    "F.conv2d(i, i)": ("lower", "lower"),
    "F.scaled_dot_product_attention(i, i, i)": ("lower", "lower"),
    "F.prelu(a, v)": ("lower", "lower"),
    "a + b": ("float32", "lower"),
    "a.exp()": ("float32", "lower"),
    "a.softmax(0)": ("float32", "lower"),
    "a.prod(0)": ("float32", "float32"),
    "torch.cat([a, a.float()])": ("float32", "float32"),
    "torch.cat([a, a])": ("float32", "lower"),
    "F.layer_norm(a, (4,))": ("float32", "lower"),
    "F.avg_pool3d(i[None], 2)": ("float32", "float32"),
    'F.pad(i, (1, 1, 1, 1), mode="reflect")': ("float32", "float32"),
    "F.cross_entropy(a, c)": ("float32", "float32"),
    "F.mse_loss(a, b)": ("float32", "float32"),
    "F.binary_cross_entropy(a.sigmoid(), b.sigmoid())": ("float32", "float32"),
}
# And what its list for accelerators says.
ON_ACCELERATORS = {
    "a @ b": ("lower", "lower"),
    "torch.mv(a, v)": ("lower", "lower"),
    'torch.einsum("ij,jk->ik", a, b)': ("lower", "lower"),
    "F.conv2d(i, i)": ("lower", "lower"),
    "F.scaled_dot_product_attention(i, i, i)": ("lower", "lower"),
    "a + b": ("float32", "lower"),
    "F.relu(a)": ("float32", "lower"),
    "a.exp()": ("float32", "float32"),
    "a.pow(2)": ("float32", "float32"),
    "a.softmax(0)": ("float32", "float32"),
    "a.sum()": ("float32", "float32"),
    "a.cumsum(0)": ("float32", "float32"),
    "a.norm()": ("float32", "float32"),
    "torch.addcmul(a, a, a.float())": ("float32", "float32"),
    "torch.tensordot(a, b, 1)": ("float32", "lower"),
    "F.layer_norm(a, (4,))": ("float32", "float32"),
    "F.group_norm(i[0], 2)": ("float32", "float32"),
    "F.gelu(a)": ("float32", "lower"),
    "F.cross_entropy(a, c)": ("float32", "float32"),
    "F.mse_loss(a, b)": ("float32", "float32"),
}


def evaluate(torch, text, dtype, lower, device="cpu"):
    with torch.autocast(device, dtype=getattr(torch, lower)):
        return eval(text, arguments(torch, dtype, device))


def dtype_name(tensor):
    return str(tensor.dtype).removeprefix("torch.")


def check(torch, text, expected, lower, device):
    for dtype, want in zip(("float32", lower), expected, strict=True):
        got = dtype_name(evaluate(torch, text, dtype, lower, device))
        assert got == (lower if want == "lower" else want), dtype
    # Doubles are nobody's business.
    if device == "cpu" and "float()" not in text:
        assert dtype_name(evaluate(torch, text, "float64", lower)) == "float64"


@pytest.mark.parametrize("lower", LOWER)
@pytest.mark.parametrize("text", ON_CPU)
def test_on_cpu(torch, text, lower):
    check(torch, text, ON_CPU[text], lower, "cpu")


# torch refuses to mix float64 with float32 statistics.
CALLS = [
    (text, dtype)
    for text in ALL
    for dtype in ("float32", "lower", "float64")
    if (dtype, "batch_norm" in text) != ("float64", True)
]


@pytest.mark.parametrize("lower", LOWER)
@pytest.mark.parametrize(("text", "dtype"), CALLS)
def test_like_torch(torch_gives, text, dtype, lower):
    dtype = lower if dtype == "lower" else dtype
    want = torch_gives(evaluate, text, dtype, lower)
    got = evaluate(mindtorch_v2, text, dtype, lower)
    assert dtype_name(got) == dtype_name(want)
    if "Cell" in text:  # has weights of its own
        return
    assert_same(got, want, rtol=4e-2, atol=4e-2)


def names_of_kernels(torch, key):
    return [
        name.removeprefix("aten::")
        for name in torch._C._dispatch_get_all_op_names()
        if torch._C._dispatch_has_kernel_for_dispatch_key(name, key)
    ]


def test_policies_are_there_for_every_op_torch_has_one_for(torch_gives):
    ours = set(mindtorch_v2._C._all_op_names())
    policies = mindtorch_v2._C._autocast_policies()
    for key, place in (("AutocastCPU", 0), ("AutocastCUDA", 1)):
        theirs = set(torch_gives(names_of_kernels, key))
        assert not {name for name in theirs & ours if policies[name][place] == "none"}
