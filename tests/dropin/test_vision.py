"""torchvision and timm: logits, losses and transforms equal torch's; torchvision's operators."""

import functools
import json
import math
import pathlib

import numpy
import pytest
import torch
import torchvision

from tests.dropin import vision
from tests.dropin.models import numbers

TOLERANCE = {"cpu": 5e-5, "npu": 5e-4}
# Norms over batches of two make a step's rounding 1000 times as large in the next one: the third
# loss differs by 2e-8 between AVX2 and AVX-512.
LOSS_TOLERANCE = {"timm-efficientnet_b0": 1e-6}


@functools.cache
def expected(name):
    file = pathlib.Path(__file__).parent / "expected" / "vision.json"
    return json.loads(file.read_text())[name]


@pytest.mark.parametrize("name", vision.BUILDERS)
def test_logits(name, place):
    found = vision.logits(vision.build(name), place)
    numpy.testing.assert_allclose(found, expected(name)["logits"], atol=TOLERANCE[place])


@pytest.mark.parametrize("name", vision.BUILDERS)
def test_losses_of_training(name):
    found = vision.train(vision.build(name))
    tolerance = LOSS_TOLERANCE.get(name, 1e-8)
    numpy.testing.assert_allclose(found, expected(name)["losses"], rtol=tolerance)


@pytest.mark.parametrize("name", ["torchvision-resnet18", "timm-vit_tiny_patch16_224"])
def test_losses_of_training_on_npu(name):
    found = vision.train(vision.build(name), "npu", torch.float32, steps=2)
    numpy.testing.assert_allclose(found, expected(name)["losses"][:2], rtol=1e-3)


def assert_same_images(found, wanted):
    for case, (shape, values) in found.items():
        wanted_shape, wanted_values = wanted[case]
        assert shape == wanted_shape, case
        numpy.testing.assert_allclose(values, wanted_values, rtol=1e-5, atol=1e-6, err_msg=case)


def test_transforms():
    assert_same_images(vision.transformed(), expected("transforms"))


def test_transforms_on_npu():
    # Of bytes: what a device rounds otherwise may be one more or less.
    wanted = expected("transforms")
    for case, (shape, values) in vision.transformed("npu").items():
        assert shape == wanted[case][0], case
        numpy.testing.assert_allclose(values, wanted[case][1], atol=1.001, err_msg=case)


def test_boxes_and_masks_move_with_their_image():
    image, boxes, mask = vision.transformed_boxes()
    wanted = expected("boxes")
    assert boxes == wanted[1] and mask == wanted[2] and image[0] == wanted[0][0]
    numpy.testing.assert_allclose(image[1], wanted[0][1], rtol=1e-6)


def test_timm_transforms():
    for (shape, values), wanted in zip(
        vision.timm_transformed(), expected("timm transforms"), strict=True
    ):
        assert shape == wanted[0]
        numpy.testing.assert_allclose(values, wanted[1], rtol=1e-5, atol=1e-6)


# --- torchvision's operators, which mindtorch computes ------------------------------------------

BOXES = [[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [21, 19, 30, 31], [50, 50, 51, 51]]


def test_nms_keeps_the_best_of_boxes_that_overlap(place):
    boxes = torch.tensor(BOXES, dtype=torch.float32, device=place)
    scores = torch.tensor([0.5, 0.9, 0.3, 0.8, 0.1], device=place)
    assert torchvision.ops.nms(boxes, scores, 0.5).tolist() == [1, 3, 4]
    assert torchvision.ops.nms(boxes, scores, 0.99).tolist() == [1, 3, 0, 2, 4]
    groups = torch.tensor([0, 1, 0, 1, 0], device=place)
    assert torchvision.ops.batched_nms(boxes, scores, groups, 0.5).tolist() == [1, 3, 0, 2, 4]
    assert torchvision.ops.nms(boxes[:0], scores[:0], 0.5).tolist() == []


def test_nms_of_many_boxes_leaves_none_that_overlap():
    corner = torch.from_numpy(numbers("corner", (1500, 2))) * 20
    boxes = torch.cat([corner, corner + torch.from_numpy(numbers("size", (1500, 2))).abs() * 9], 1)
    scores = torch.from_numpy(numbers("score", 1500))
    kept = torchvision.ops.nms(boxes, scores, 0.3)
    assert (scores[kept].diff() <= 0).all()
    overlaps = torchvision.ops.box_iou(boxes, boxes[kept])
    assert (overlaps[kept].fill_diagonal_(0) <= 0.3).all()
    better = scores[kept] >= scores[:, None]
    assert ((overlaps > 0.3) & better).any(1).all()  # by itself, or by a better one


@pytest.mark.parametrize(
    "error, change",
    [
        ("2d tensor", lambda boxes, scores: (boxes[0], scores)),
        ("4 elements", lambda boxes, scores: (boxes[:, :3], scores)),
        ("1d tensor", lambda boxes, scores: (boxes, scores[:, None])),
        ("same number", lambda boxes, scores: (boxes, scores[1:])),
    ],
)
def test_nms_refuses(error, change):
    boxes, scores = torch.tensor(BOXES, dtype=torch.float32), torch.rand(5)
    with pytest.raises(RuntimeError, match=error):
        torchvision.ops.nms(*change(boxes, scores), 0.5)


def test_nms_on_the_meta_device_has_no_shape():
    with pytest.raises(RuntimeError, match="data-dependent"):
        torchvision.ops.nms(torch.empty(3, 4, device="meta"), torch.empty(3, device="meta"), 0.5)


def regions():
    values = [[0, 1, 2, 9, 12], [1, -3, 4, 7, 7.5], [0, 5, 5, 5, 5], [1, 3, 0, 20, 30]]
    return torch.tensor(values, dtype=torch.float64)


def features():
    return torch.from_numpy(numbers("features", (2, 8, 12, 10)))


def check_gradient(function, *inputs):
    inputs = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    assert torch.autograd.gradcheck(function, inputs, nondet_tol=1e-12, fast_mode=True)


def sampled(image, y, x):
    """One bilinear sample (C) of an image (C, H, W): 0 more than one element outside."""
    height, width = image.shape[1:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return numpy.zeros(len(image))
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    upper = image[:, top, left] * (left + 1 - x) + image[:, top, right] * (x - left)
    lower = image[:, bottom, left] * (left + 1 - x) + image[:, bottom, right] * (x - left)
    return upper * (top + 1 - y) + lower * (y - top)


def averages(images, rois, scale, height, width, ratio, aligned):
    """roi_align, one sample after the other."""
    result = numpy.zeros((len(rois), images.shape[1], height, width))
    for k, (image, *corners) in enumerate(rois):
        x0, y0, x1, y1 = (corner * scale - (0.5 if aligned else 0) for corner in corners)
        extents = (y1 - y0, x1 - x0) if aligned else (max(y1 - y0, 1), max(x1 - x0, 1))
        bins = extents[0] / height, extents[1] / width
        counts = [ratio if ratio > 0 else math.ceil(size) for size in bins]
        for i, j in numpy.ndindex(height, width):
            for a, b in numpy.ndindex(*counts):
                y = y0 + (i + (a + 0.5) / counts[0]) * bins[0]
                x = x0 + (j + (b + 0.5) / counts[1]) * bins[1]
                result[k, :, i, j] += sampled(images[int(image)], y, x) / math.prod(counts)
    return result


@pytest.mark.parametrize("ratio", [2, -1])
@pytest.mark.parametrize("aligned", [True, False])
def test_roi_align(ratio, aligned, place):
    settings = (0.5, 3, 4, ratio, aligned)
    wanted = torch.from_numpy(averages(features().numpy(), regions().tolist(), *settings))
    dtype = torch.float64 if place == "cpu" else torch.float32
    found = torch.ops.torchvision.roi_align(
        features().to(place, dtype), regions().to(place, dtype), *settings
    )
    torch.testing.assert_close(found.cpu(), wanted.to(dtype))
    if place == "cpu":
        check_gradient(
            lambda x: torch.ops.torchvision.roi_align(x, regions(), *settings), features()
        )


def test_no_regions():
    none = regions()[:0]
    x = features().requires_grad_()
    found = torchvision.ops.roi_align(x, none, (2, 3))
    assert found.shape == (0, 8, 2, 3)
    found.sum().backward()
    assert x.grad.abs().sum() == 0
    assert torchvision.ops.roi_pool(x, none, 2).shape == (0, 8, 2, 2)


def test_ps_roi_align_reads_channels_of_its_own():
    found = torchvision.ops.ps_roi_align(features(), regions(), (2, 2), 0.5, 2)
    assert found.shape == (4, 2, 2, 2)
    whole = torch.ops.torchvision.roi_align(features(), regions(), 0.5, 2, 2, 2, True)
    for channel in range(2):
        for i in range(2):
            for j in range(2):
                wanted = whole[:, (channel * 2 + i) * 2 + j, i, j]
                torch.testing.assert_close(found[:, channel, i, j], wanted)
    check_gradient(lambda x: torchvision.ops.ps_roi_align(x, regions(), (2, 2), 0.5, 2), features())


def test_roi_pool_is_the_largest_element(place):
    image = torch.arange(2 * 16.0).view(1, 2, 4, 4).to(place)
    boxes = torch.tensor([[0, 0, 0, 3, 3], [0, 1, 1, 2, 1]], dtype=torch.float32, device=place)
    found = torchvision.ops.roi_pool(image, boxes, 2)
    assert found[0, 0].tolist() == [[5, 7], [13, 15]]
    assert found[1, 1].tolist() == [[21, 22], [21, 22]]
    if place == "cpu":
        check_gradient(lambda x: torchvision.ops.roi_pool(x, regions(), (3, 2), 0.5), features())


def test_deform_conv2d_without_offsets_is_a_convolution(place):
    weight = torch.from_numpy(numbers("weight", (6, 4, 3, 2))).float()
    bias = torch.from_numpy(numbers("bias", 6)).float()
    image = features().float()
    settings = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)}
    wanted = torch.nn.functional.conv2d(image, weight, bias, groups=2, **settings)
    offset = torch.zeros(2, 2 * 2 * 6, *wanted.shape[2:])
    mask = torch.full((2, 2 * 6, *wanted.shape[2:]), 0.5)
    moved = [tensor.to(place) for tensor in (image, offset, weight, bias)]
    found = torchvision.ops.deform_conv2d(*moved, **settings).cpu()
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
    found = torchvision.ops.deform_conv2d(*moved, **settings, mask=mask.to(place)).cpu()
    wanted = torch.nn.functional.conv2d(image, weight, None, groups=2, **settings) / 2
    torch.testing.assert_close(found, wanted + bias.view(-1, 1, 1), rtol=1e-4, atol=1e-4)


def test_deform_conv2d_reads_where_offsets_say():
    image = torch.arange(20.0).view(1, 1, 4, 5)
    weight = torch.ones(1, 1, 1, 1)
    offset = torch.zeros(1, 2, 4, 5)
    offset[0, 0, 1, 2], offset[0, 1, 1, 2] = 1.0, -0.5  # a row down, half a column left
    found = torchvision.ops.deform_conv2d(image, offset, weight)
    assert found[0, 0, 1, 2].item() == 11.5
    assert torch.equal(found[0, 0, 0], image[0, 0, 0])
    offset = torch.from_numpy(numbers("offset", (1, 2 * 4, 3, 4))) * 0.7
    inputs = [image.double(), offset, torch.from_numpy(numbers("w", (2, 1, 2, 2)))]
    check_gradient(torchvision.ops.deform_conv2d, *inputs)


def test_detection_model_finds_boxes():
    model = torchvision.models.detection.ssdlite320_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=3
    ).eval()
    with torch.no_grad():
        (found,) = model([torch.rand(3, 40, 50, generator=torch.Generator().manual_seed(1))])
    assert found["boxes"].shape[1] == 4 and len(found["scores"]) == len(found["labels"])


def test_what_is_not_computed_says_so():
    boxes = torch.rand(2, 5)
    with pytest.raises(NotImplementedError, match="ps_roi_pool"):
        torchvision.ops.ps_roi_pool(torch.rand(1, 4, 3, 3), boxes, 2)


def test_nms_in_autocast():
    boxes = torch.tensor(BOXES, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torchvision.ops.nms(boxes, torch.rand(5).bfloat16(), 0.5).dtype == torch.int64
        found = torch.ops.torchvision.roi_align(
            features().bfloat16(), regions().bfloat16(), 1.0, 2, 2, 2, True
        )
    assert found.dtype == torch.bfloat16
