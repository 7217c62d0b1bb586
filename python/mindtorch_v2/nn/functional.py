"""torch.nn.functional: activations and other functions of neural networks.

>>> torch.nn.functional.relu(torch.tensor([-1., 2.]))
tensor([0., 2.])
"""

import copyreg

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._overridable import make_overridable as _make_overridable
from mindtorch_v2.nn._attention import multi_head_attention_forward
from mindtorch_v2.nn._classification_losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    kl_div,
    linear_cross_entropy,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    nll_loss,
    soft_margin_loss,
)
from mindtorch_v2.nn._ctc import ctc_loss
from mindtorch_v2.nn._dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
    gumbel_softmax,
    rrelu,
    rrelu_,
)
from mindtorch_v2.nn._images import (
    interpolate,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)
from mindtorch_v2.nn._normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    local_response_norm,
)
from mindtorch_v2.nn._pooling import (
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from mindtorch_v2.nn._products import (
    bilinear,
    embedding_bag,
    grouped_mm,
    pairwise_distance,
    pdist,
)
from mindtorch_v2.nn._regression_losses import (
    cosine_embedding_loss,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from mindtorch_v2.nn._sampling import affine_grid, grid_sample
from mindtorch_v2.nn._scaled_products import ScalingType, SwizzleType, scaled_mm
from mindtorch_v2.nn._windows import fold, unfold

# Ops that are torch's functions as they stand: gelu, softplus, logsigmoid, linear and so on.
globals().update(_C._nn_functions)
_TORCHS = (
    "channel_shuffle hardshrink native_channel_shuffle pixel_shuffle pixel_unshuffle sigmoid tanh"
)
globals().update((name, _C._functions[name]) for name in _TORCHS.split())

_functions, _nn = _C._functions, _C._nn_functions
_celu, _elu, _hardsigmoid = _nn["celu"], _nn["elu"], _nn["hardsigmoid"]
_hardswish, _hardtanh, _leaky_relu = _nn["hardswish"], _nn["hardtanh"], _nn["leaky_relu"]
_mish, _relu, _relu6 = _nn["mish"], _nn["relu"], _nn["relu6"]
_selu, _silu, _threshold = _nn["selu"], _nn["silu"], _nn["threshold"]
celu_, elu_, hardsigmoid_ = _functions["celu_"], _functions["elu_"], _functions["hardsigmoid_"]
hardswish_, hardtanh_ = _functions["hardswish_"], _functions["hardtanh_"]
leaky_relu_, mish_, relu_ = _functions["leaky_relu_"], _functions["mish_"], _functions["relu_"]
relu6_, selu_, silu_ = _functions["relu6_"], _functions["selu_"], _functions["silu_"]
threshold_ = _functions["threshold_"]


def _named(name):
    return globals()[name]


def _reduce(function):
    # Pickle looks for an op at the top of the package; gelu and its like are only here.
    name = function.__name__
    is_only_here = globals().get(name) is function and getattr(torch, name, None) is not function
    return (_named, (name,)) if is_only_here else function.__reduce__()


copyreg.pickle(type(_relu), _reduce)


def relu(input, inplace=False):
    """max(input, 0).

    >>> F.relu(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    return relu_(input) if inplace else _relu(input)


def relu6(input, inplace=False):
    """min(max(input, 0), 6).

    >>> F.relu6(torch.tensor([-1., 2., 9.]))
    tensor([0., 2., 6.])
    """
    return relu6_(input) if inplace else _relu6(input)


def elu(input, alpha=1.0, inplace=False):
    """input where it is positive, else alpha * (exp(input) - 1).

    >>> F.elu(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """
    return elu_(input, alpha) if inplace else _elu(input, alpha)


def celu(input, alpha=1.0, inplace=False):
    """input where it is positive, else alpha * (exp(input / alpha) - 1).

    >>> F.celu(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """
    return celu_(input, alpha) if inplace else _celu(input, alpha)


def selu(input, inplace=False):
    """elu, scaled so that it keeps mean 0 and variance 1.

    >>> F.selu(torch.tensor([-1., 2.]))
    tensor([-1.1113,  2.1014])
    """
    return selu_(input) if inplace else _selu(input)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """input where it is positive, else negative_slope * input.

    >>> F.leaky_relu(torch.tensor([-1., 2.]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return leaky_relu_(input, negative_slope) if inplace else _leaky_relu(input, negative_slope)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """input, cut off at min_val and max_val.

    >>> F.hardtanh(torch.tensor([-3., 0.5]))
    tensor([-1.0000,  0.5000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return hardtanh_(input, min_val, max_val) if inplace else _hardtanh(input, min_val, max_val)


def hardsigmoid(input, inplace=False):
    """relu6(input + 3) / 6.

    >>> F.hardsigmoid(torch.tensor([-4., 0., 4.]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    return hardsigmoid_(input) if inplace else _hardsigmoid(input)


def hardswish(input, inplace=False):
    """input * hardsigmoid(input).

    >>> F.hardswish(torch.tensor([-4., 1.]))
    tensor([-0.0000, 0.6667])
    """
    return hardswish_(input) if inplace else _hardswish(input)


def silu(input, inplace=False):
    """input * sigmoid(input).

    >>> F.silu(torch.tensor([0., 1.]))
    tensor([0.0000, 0.7311])
    """
    return silu_(input) if inplace else _silu(input)


def mish(input, inplace=False):
    """input * tanh(softplus(input)).

    >>> F.mish(torch.tensor([0., 1.]))
    tensor([0.0000, 0.8651])
    """
    return mish_(input) if inplace else _mish(input)


def threshold(input, threshold, value, inplace=False):
    """input where it is above the threshold, else value.

    >>> F.threshold(torch.tensor([1., 3.]), 2, -1)
    tensor([-1.,  3.])
    """
    return threshold_(input, threshold, value) if inplace else _threshold(input, threshold, value)


def prelu(input, weight):
    """input where it is positive, else weight * input; one weight, or one per channel.

    >>> F.prelu(torch.tensor([-2., 3.]), torch.tensor([0.25]))
    tensor([-0.5000,  3.0000])
    """
    return torch.prelu(input, weight)


def tanhshrink(input):
    """input - tanh(input).

    >>> F.tanhshrink(torch.tensor([1.]))
    tensor([0.2384])
    """
    return input - input.tanh()


def softsign(input):
    """input / (1 + |input|).

    >>> F.softsign(torch.tensor([1., -3.]))
    tensor([ 0.5000, -0.7500])
    """
    return input / (input.abs() + 1)


def _implicit_dim(name, ndim, stacklevel):
    import warnings

    dim = 0 if ndim in (0, 1, 3) else 1
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. "
        f"Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return dim


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(input) along `dim`, scaled to a sum of 1.

    >>> F.softmax(torch.tensor([0., 0.]), dim=0)
    tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = _implicit_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim, dtype=dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax of -input.

    >>> F.softmin(torch.tensor([0., 0.]), dim=0)
    tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = _implicit_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim, dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of softmax.

    >>> F.log_softmax(torch.tensor([0., 0.]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    if dim is None:
        dim = _implicit_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim, dtype=dtype)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """input, divided by its p-norm along `dim`.

    >>> F.normalize(torch.tensor([3., 4.]), dim=0)
    tensor([0.6000, 0.8000])
    """
    denominator = torch.norm(input, p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return torch.div(input, denominator, out=out)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between vectors along `dim`.

    >>> F.cosine_similarity(torch.tensor([1., 0.]), torch.tensor([1., 1.]), dim=0)
    tensor(0.7071)
    """
    return _C._internal_functions["cosine_similarity"](x1, x2, dim, eps)


def embedding(
    input,
    weight,
    padding_idx=None,
    max_norm=None,
    norm_type=2.0,
    scale_grad_by_freq=False,
    sparse=False,
):
    """The rows of weight that input names; with max_norm, longer ones are first cut to it there.

    >>> F.embedding(torch.tensor([1, 0]), torch.tensor([[1., 2.], [3., 4.]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    if padding_idx is None:
        padding_idx = -1
    elif padding_idx != 0:
        rows = weight.size(0)
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    if max_norm is not None:
        input = input.contiguous()
        with torch.no_grad():
            torch.embedding_renorm_(weight, input, max_norm, norm_type)
    return torch.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


_make_overridable(globals())
