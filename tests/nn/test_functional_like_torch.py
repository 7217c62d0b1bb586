"""Functions that no layer calls, against torch's."""

import copy
import pickle

import mindtorch_v2
import pytest

from tests.nn.compare import World, assert_same

pytestmark = pytest.mark.filterwarnings("ignore")

_GRID = "2.4 * pos(2, 3, 4, 2) - 1.2"
CALLS = [
    *(
        f"F.grid_sample(f(2, 3, 4, 5), {_GRID}, '{mode}', '{padding}', {align})"
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for align in (True, False)
    ),
    "F.grid_sample(f(1, 2, 3, 4, 5), 2.4 * pos(1, 2, 3, 2, 3) - 1.2, align_corners=False)",
    "F.affine_grid(f(2, 2, 3), (2, 3, 4, 5), align_corners=True)",
    "F.affine_grid(f(2, 2, 3), (2, 3, 4, 5), align_corners=False)",
    "F.affine_grid(f(2, 3, 4), (2, 3, 4, 5, 1), align_corners=False)",
    *(
        f"F.interpolate(f(2, 3, 9, 11), {size}, mode='{mode}', antialias=True)"
        for mode in ("bilinear", "bicubic")
        for size in ("size=(4, 5)", "size=(20, 13)", "scale_factor=(0.7, 1.9)", "size=(1, 1)")
    ),
    "F.interpolate(f(2, 3, 9, 11), size=(4, 5), mode='bilinear', antialias=True, "
    "align_corners=True)",
    *(f"F.interpolate(f(2, 3, *(7,) * {n}), size=(3,) * {n}, mode='area')" for n in (1, 2, 3)),
    "F.fractional_max_pool2d(f(2, 3, 7, 8), (2, 3), output_size=(3, 4), return_indices=True)",
    "F.max_pool2d_with_indices(f(2, 3, 7, 8), 2)",
    "F.adaptive_max_pool2d(f(2, 3, 7, 8), (3, None), return_indices=True)",
    *(
        f"F.pad(f(2, 3, 6, 7{form}, {sides}, mode='{mode}')"
        for mode in ("reflect", "replicate", "circular")
        for sides in ("(1, 2, 3, 0)", "(-1, 2, 0, -3)", "(0, 0, 0, 0)")
        for form in (")", ").to(memory_format=torch.channels_last)")
    ),
    *(f"F.pad(f(2, 3, 4), (2, 1), mode='{mode}')" for mode in ("reflect", "replicate")),
    *(
        f"F.pad(f(2, 3, 4, 5, 6), (2, 1, 0, 3, 1, 1), mode='{mode}')"
        for mode in ("reflect", "replicate", "circular", "constant")
    ),
    "F.pad(f(0, 3, 4), (2, 1), mode='reflect')",
    "F.pad(i(9, 2, 3, 4), (1, 1), mode='replicate')",
    "torch.ops.aten.reflection_pad2d_backward(f(2, 5, 6), f(2, 4, 3), [2, 1, 0, 1])",
    "torch.ops.aten.replication_pad3d_backward(f(2, 5, 6, 7), f(2, 4, 3, 5), [1, 1, 2, 1, 0, 1])",
    *(
        f"torch.ops.aten.upsample_{name}(f(2, 3, {sizes}), {arguments})"
        for name, sizes, arguments in (
            ("nearest1d", "4", "[7]"),
            ("nearest2d.vec", "4, 5", "None, [1.7, 0.6]"),
            ("nearest3d", "4, 5, 6", "[7, 3, 6], 1.75, None, 1.0"),
            ("linear1d.vec", "4", "[7], True, None"),
            ("bilinear2d", "4, 5", "[7, 3], False, 1.8, None"),
            ("bicubic2d.vec", "4, 5", "None, False, [1.7, 0.6]"),
            ("trilinear3d", "4, 5, 6", "[7, 3, 6], True"),
        )
    ),
    "torch.ops.aten._upsample_bilinear2d_aa.vec(f(2, 3, 9, 8), None, False, [0.4, 1.3])",
    "torch.ops.aten._upsample_lanczos2d_aa(f(2, 3, 9, 8), [4, 11], False)",
    "torch.ops.aten._upsample_nearest_exact2d(f(2, 3, 4, 5), [7, 3])",
    "torch.ops.aten.upsample_bicubic2d_backward(f(2, 3, 7, 3), [7, 3], [2, 3, 4, 5], False)",
    "torch.ops.aten._upsample_bicubic2d_aa_backward(f(2, 3, 4, 7), [4, 7], [2, 3, 9, 5], False)",
    "torch.ops.aten._upsample_nearest_exact1d_backward(f(2, 3, 7), [7], [2, 3, 4])",
    "F.interpolate(f(1, 2, 5, 6), scale_factor=1.3, mode='bilinear', recompute_scale_factor=True)",
    "F.interpolate(f(1, 2, 9, 6), (4, 3), mode='lanczos', antialias=True)",
    "F.interpolate(f(1, 4, 5, 6).to(memory_format=torch.channels_last), 3, mode='bicubic')",
    "F.unfold(f(2, 3, 6, 7), (2, 3), dilation=(2, 1), padding=(1, 2), stride=(2, 1))",
    "F.unfold(f(2, 3, 6, 7).to(memory_format=torch.channels_last), 2)",
    "F.unfold(f(3, 6, 7), 4, padding=3, stride=3)",
    "F.unfold(f(0, 3, 6, 7), 2)",
    "F.fold(f(2, 18, 9), (6, 7), (2, 3), dilation=(2, 1), padding=(1, 1), stride=(2, 3))",
    "F.fold(f(12, 4), 3, 2)",
    "F.max_unpool1d(f(2, 3), i(1, 2, 3) + torch.tensor([1, 2, 5]), 2)",
    "F.max_unpool2d(*F.max_pool2d(f(2, 3, 6, 7), 2, return_indices=True), 2, output_size=(6, 7))",
    "F.max_unpool2d(*F.max_pool2d(f(2, 3, 6, 6).to(memory_format=torch.channels_last), 2, "
    "return_indices=True), 2)",
    "F.max_unpool3d(*F.max_pool3d(f(2, 3, 4, 6, 4), 2, return_indices=True), 2)",
    "torch.ops.aten.fractional_max_pool2d(f(2, 3, 7, 8), [2, 3], [3, 4], pos(2, 3, 2))",
    "torch.ops.aten.fractional_max_pool3d(f(3, 7, 8, 6), [2, 3, 2], [3, 1, 4], pos(1, 3, 3))",
    "F.rrelu(f(20), 0.1, 0.3, training=True)",
    "torch.rrelu_(f(20), 0.1, 0.3)",
    "torch.ops.aten.rrelu_with_noise_functional(f(9), f(9), 0.1, 0.3, True)",
    "torch.ops.aten.rrelu_with_noise_backward(f(9), f(9), pos(9), 0.1, 0.3, True, False)",
    "torch.ops.aten.rrelu_with_noise_backward(f(9), f(9), pos(9), 0.1, 0.3, False, False)",
    *(
        f"torch.embedding_bag(f(9, 3), i(9, 7), torch.tensor([0, 0, 3, 7]), False, {mode}{rest})"
        for mode in (0, 1, 2)
        for rest in (
            "",
            ", False, None, True",
            ", False, None, False, 2",
            ", False, None, False, -1",
        )
    ),
    "torch.embedding_bag(f(9, 3), i(9, 7), torch.tensor([0, 2]), False, 0, False, f(7))",
    "torch.embedding_bag(f(9, 3), i(9, 7).int(), torch.tensor([0, 2]).int(), False, 1)",
    "F.embedding_bag(i(9, 4, 5), f(9, 3), mode='max', padding_idx=2)",
    "F.embedding_bag(i(9, 4, 5), f(9, 3), mode='sum', per_sample_weights=f(4, 5))",
    "F.embedding_bag(i(9, 4, 5), f(9, 3), max_norm=1.0)",
    "F.gumbel_softmax(f(4, 5))",
    "F.gumbel_softmax(f(4, 5), tau=0.5, hard=True)",
    "F.pdist(f(5, 3))",
    "F.pdist(f(5, 3), 1.0)",
    "F.mse_loss(f(3, 4), f(3, 4), weight=pos(3, 4))",
    "F.l1_loss(f(3, 4), f(3, 4), weight=pos(3, 4), reduction='sum')",
    "F.cross_entropy(f(3, 5), i(5, 3), size_average=False)",
    "F.alpha_dropout(f(20, 3), 0.3, training=True)",
    "F.multi_head_attention_forward(f(3, 2, 4), f(5, 2, 4), f(5, 2, 4), 4, 2, f(12, 4), f(12), "
    "None, None, False, 0.0, f(4, 4), f(4), key_padding_mask=i(2, 2, 5) > 0, need_weights=False)",
    "F.scaled_dot_product_attention(f(2, 2, 3, 4), f(2, 2, 5, 4), f(2, 2, 5, 4))",
]


def result(library, call):
    return World(library).eval(call.replace("F.", "nn.functional."))


@pytest.mark.parametrize("call", CALLS)
def test_like_torch(torch_gives, call):
    assert_same(result(mindtorch_v2, call), torch_gives(result, call), rtol=2e-5, atol=2e-6)


def test_convolutions_check_their_input(torch):
    with pytest.raises(RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\) input to "
                       r"conv2d, but got input of size: \[2, 2\]"):  # fmt: skip
        torch.nn.Conv2d(2, 1, 1)(torch.ones(2, 2))
    layer = torch.nn.ConvTranspose1d(1, 1, 3, stride=2)
    with pytest.raises(ValueError, match="requested an output size of .* but valid sizes range"):
        layer(torch.ones(1, 1, 4), output_size=[20])


def test_functions_are_pickled_by_name(torch):
    functional = torch.nn.functional
    for name in ("gelu", "linear", "layer_norm", "softplus", "relu", "cross_entropy", "tanh"):
        function = getattr(functional, name)
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.deepcopy(function) is function


ODD = [
    "F.cross_entropy(f(0, 3), f(0, 3))",
    "F.cross_entropy(f(0, 3), torch.empty(0, dtype=torch.int64))",
    "F.cross_entropy(f(2, 3).half(), i(3, 2))",
    "F.cross_entropy(f(2, 3), i(3, 2).to(torch.uint8))",
    "F.mse_loss(f(3), i(2, 3) > 0)",
    "F.mse_loss(f(3).half(), f(3))",
    "F.mse_loss(f(3), f(1))",
    "F.smooth_l1_loss(f(0), f(0))",
    "F.group_norm(f(2, 4, 3).bfloat16(), 2)",
    "F.group_norm(f(0, 4, 3), 2)",
    "F.batch_norm(f(5, 4).half(), None, None, training=True)",
    "F.batch_norm(f(5, 4).bfloat16(), None, None, training=True)",
    "F.instance_norm(f(2, 3, 4).bfloat16())",
    "F.pixel_shuffle(f(0, 4, 2, 2), 2)",
    "F.embedding_bag(torch.empty(0, dtype=torch.int64), f(3, 2), torch.tensor([0, 0]), mode='max')",
    "F.embedding_bag(torch.empty(0, dtype=torch.int64), f(3, 2), torch.tensor([0]))",
    "F.binary_cross_entropy_with_logits(f(3).half(), pos(3).half())",
    "F.pairwise_distance(i(5, 2, 3), i(5, 2, 3))",
    "F.interpolate(f(1, 1, 3).double(), scale_factor=1.7, mode='linear')",
    "F.interpolate(f(1, 1, 4, 4).half(), scale_factor=2.0, mode='bilinear')",
    "F.dropout(f(0), 0.5)",
    "F.nll_loss(f(2, 3), torch.tensor([-100, -100]))",
]


@pytest.mark.parametrize("call", ODD)
def test_odd_inputs_like_torch(torch_gives, call):
    ours, theirs = result(mindtorch_v2, call), torch_gives(result, call)
    assert str(ours.dtype) == str(theirs.dtype)
    half = {"torch.float16": 2e-3, "torch.bfloat16": 1.6e-2}.get(str(ours.dtype), 2e-5)
    assert_same(ours, theirs, rtol=half, atol=half)


def test_some_are_at_the_top_of_the_package_too(torch):
    for name in "bilinear cosine_similarity pairwise_distance pdist pixel_shuffle rrelu_".split():
        assert getattr(torch, name) is getattr(torch.nn.functional, name)
