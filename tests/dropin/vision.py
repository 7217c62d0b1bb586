"""Models and transforms of torchvision and timm, with weights, images and seeds that depend on
names only. The tests run them on mindtorch, record.py on torch.
"""

import random

import numpy
import torch

from tests.dropin.models import numbers

if "mindtorch" not in torch.__version__:
    # On PyPI is the torchvision for GPUs, whose compiled library a torch for CPUs cannot load; its
    # import needs these two names all the same.
    for _name in ("nms", "qnms"):
        schema = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
        torch.library.define(f"torchvision::{_name}", schema)

import timm
import torchvision
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2

SIZE = 32


def _timm(name, **settings):
    return lambda: timm.create_model(name, pretrained=False, num_classes=7, **settings)


BUILDERS = {
    "torchvision-resnet18": lambda: torchvision.models.resnet18(num_classes=7),
    "torchvision-mobilenet_v3_small": lambda: torchvision.models.mobilenet_v3_small(
        num_classes=7, dropout=0.0
    ),
    "timm-resnet18": _timm("resnet18"),
    "timm-vit_tiny_patch16_224": _timm("vit_tiny_patch16_224", img_size=SIZE),
    "timm-efficientnet_b0": _timm("efficientnet_b0"),
    "timm-convnext_atto": _timm("convnext_atto"),
}


def build(name):
    """The model, in evaluation mode."""
    model = BUILDERS[name]()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            values = numbers(key, tuple(parameter.shape))
            if parameter.dim() > 1:
                values *= (2 / parameter[0].numel()) ** 0.5
            else:
                values = values * 0.1 + key.endswith(("weight", "gamma"))
            parameter.copy_(torch.from_numpy(values.astype(numpy.float32)))
    return model.eval()


def images(count=2):
    """A batch of normalized images."""
    return torch.from_numpy(numbers("images", (count, 3, SIZE, SIZE)).astype(numpy.float32))


def logits(model, device="cpu"):
    """What the model gives, as lists."""
    with torch.no_grad():
        return model.to(device)(images().to(device)).cpu().tolist()


def train(model, device="cpu", dtype=torch.float64, steps=3):
    """The losses of steps of SGD with momentum. Small batches magnify what rounding differs in, by
    the moments that normalization divides by: in float64 it does not matter.
    """
    model = model.to(device, dtype).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    batch, labels = images(4).to(device, dtype), torch.tensor([1, 3, 0, 6], device=device)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# --- transforms --------------------------------------------------------------------------------

V1, FIXED = torchvision.transforms, torchvision.transforms.InterpolationMode
# Names: what makes the transform, from torchvision.transforms or its v2.
ON_IMAGES = {
    "resize": lambda t: t.Resize((7, 10), antialias=True),
    "resize-nearest": lambda t: t.Resize(6, interpolation=FIXED.NEAREST),
    "resize-bicubic": lambda t: t.Resize((9, 9), interpolation=FIXED.BICUBIC, antialias=True),
    "center-crop": lambda t: t.CenterCrop(5),
    "random-crop": lambda t: t.RandomCrop(6, padding=2, padding_mode="reflect"),
    "random-resized-crop": lambda t: t.RandomResizedCrop(6, antialias=True),
    "flip": lambda t: t.Compose([t.RandomHorizontalFlip(0.5), t.RandomVerticalFlip(0.5)]),
    "pad": lambda t: t.Pad((1, 2), fill=3),
    "color-jitter": lambda t: t.ColorJitter(0.4, 0.4, 0.4, 0.1),
    "grayscale": lambda t: t.Grayscale(3),
    "rotation": lambda t: t.RandomRotation(30),
    "affine": lambda t: t.RandomAffine(20, translate=(0.1, 0.1), scale=(0.8, 1.2), shear=5),
    "perspective": lambda t: t.RandomPerspective(0.5, p=1.0),
    "posterize": lambda t: t.RandomPosterize(3, p=1.0),
    "solarize": lambda t: t.RandomSolarize(100, p=1.0),
    "equalize": lambda t: t.RandomEqualize(p=1.0),
    "autocontrast": lambda t: t.RandomAutocontrast(p=1.0),
    "sharpness": lambda t: t.RandomAdjustSharpness(2.0, p=1.0),
    "blur": lambda t: t.GaussianBlur(3, sigma=(0.5, 1.5)),
    "rand-augment": lambda t: t.RandAugment(),
    "trivial-augment": lambda t: t.TrivialAugmentWide(),
    "aug-mix": lambda t: t.AugMix(),
    "auto-augment": lambda t: t.AutoAugment(),
}
ON_TENSORS = {
    "normalize": lambda t: t.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4]),
    "erasing": lambda t: t.RandomErasing(p=1.0),
    "dtype": lambda t: t.ConvertImageDtype(torch.uint8),
}


def picture(height=8, width=9):
    """An array of bytes (height, width, 3)."""
    values = numbers("picture", (height, width, 3)) * 60 + 128
    return values.clip(0, 255).astype(numpy.uint8)


def _seed():
    torch.manual_seed(5)
    random.seed(5)
    numpy.random.seed(5)


def _listed(result):
    if isinstance(result, Image.Image):
        result = torch.from_numpy(numpy.array(result)).permute(2, 0, 1)
    return [list(result.shape), result.flatten().tolist()]


def transformed(device="cpu"):
    """{case: what transforms make of an image}: as PIL image and tensor, by v1 and v2."""
    pil = Image.fromarray(picture())
    tensor = torch.from_numpy(picture()).permute(2, 0, 1).contiguous().to(device)
    floats = tensor.float() / 255
    found = {}
    for version, module in (("v1", V1), ("v2", v2)):
        for name, make in ON_IMAGES.items():
            for kind, image in (("pil", pil), ("tensor", tensor)):
                # AugMix draws from Dirichlet's distribution, which NPUs have no kernel for.
                if device == "cpu" or (kind == "tensor" and name != "aug-mix"):
                    _seed()
                    found[f"{version}-{name}-{kind}"] = _listed(make(module)(image))
        for name, make in ON_TENSORS.items():
            _seed()
            found[f"{version}-{name}-float"] = _listed(make(module)(floats))
    return found


def transformed_boxes():
    """Boxes and masks that move with their image."""
    image = tv_tensors.Image(torch.from_numpy(picture()).permute(2, 0, 1))
    boxes = tv_tensors.BoundingBoxes(
        [[1, 1, 5, 6], [0, 2, 8, 4]], format="XYXY", canvas_size=image.shape[-2:]
    )
    mask = tv_tensors.Mask(image[:1] > 128)
    change = v2.Compose(
        [
            v2.RandomHorizontalFlip(p=1.0),
            v2.Resize((16, 12)),
            v2.RandomRotation((30, 30)),
            v2.ClampBoundingBoxes(),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )
    _seed()
    image, boxes, mask = change(image, boxes, mask)
    return [_listed(image), boxes.tolist(), _listed(mask.int())]


def timm_transformed():
    """What timm's transforms for training and for evaluation make of a picture."""
    from timm.data import create_transform

    pil = Image.fromarray(picture(40, 50))
    training = {"auto_augment": "rand-m9-mstd0.5-inc1", "re_prob": 0.5, "interpolation": "bicubic"}
    found = []
    for settings in ({"is_training": False}, {"is_training": True, **training}):
        _seed()
        found.append(_listed(create_transform(input_size=8, **settings)(pil)))
    return found


def record():
    """All that the tests compare, by name."""
    found = {
        name: {"logits": logits(build(name)), "losses": train(build(name))} for name in BUILDERS
    }
    found["transforms"] = transformed()
    found["boxes"] = transformed_boxes()
    found["timm transforms"] = timm_transformed()
    return found
