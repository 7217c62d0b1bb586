"""Trains a small residual ConvNet to tell shapes on noisy images apart.

    python -m mindtorch_v2 examples/convnet_classifier.py
    python -m mindtorch_v2 examples/convnet_classifier.py --device npu --amp float16

Images are drawn on the spot. Augmentation, mixup, label smoothing, a learning rate that warms up
and falls, mixed precision with a gradient scaler, an average of the weights, and at the end a
confusion matrix and what the layers' activations look like.
"""

import argparse
import contextlib
import pathlib
import random

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, Dataset, random_split

SHAPES = ("disc", "square", "cross", "ring", "stripes")
SIZE = 20


def draw(shape, generator):
    """One noisy colour image of values from 0 to 1."""
    x, y, radius = (torch.rand(3, generator=generator) * torch.tensor([8.0, 8.0, 3.0])).add(
        torch.tensor([6.0, 6.0, 3.5])
    )
    rows, columns = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    dx, dy = columns - x, rows - y
    distance = torch.hypot(dx, dy)
    inside = {
        "disc": distance < radius,
        "square": torch.maximum(dx.abs(), dy.abs()) < radius,
        "cross": (dx.abs() < radius / 3) | (dy.abs() < radius / 3),
        "ring": (distance < radius) & (distance > radius / 2),
        "stripes": (torch.remainder(dx + dy, radius) < radius / 2),
    }[shape]
    colours = torch.rand(2, 3, 1, 1, generator=generator) * 0.6
    colours[0] += 0.4
    image = torch.where(inside, colours[0], colours[1])
    return (image + 0.15 * torch.randn(3, SIZE, SIZE, generator=generator)).clamp_(0, 1)


class Compose:
    def __init__(self, *transforms):
        self.transforms = transforms

    def __call__(self, image):
        for transform in self.transforms:
            image = transform(image)
        return image


class RandomFlip:
    def __call__(self, image):
        return image.flip(-1) if torch.rand(()) < 0.5 else image


class RandomCrop:
    def __init__(self, padding):
        self.padding = padding

    def __call__(self, image):
        p = self.padding
        padded = nn.functional.pad(image[None], (p, p, p, p), mode="reflect")[0]
        top, left = torch.randint(0, 2 * p + 1, (2,)).tolist()
        return padded[..., top : top + SIZE, left : left + SIZE]


class Normalize:
    def __init__(self, mean, std):
        self.mean, self.std = torch.tensor(mean).view(3, 1, 1), torch.tensor(std).view(3, 1, 1)

    def __call__(self, image):
        return (image - self.mean) / self.std


class Shapes(Dataset):
    def __init__(self, count, seed):
        generator = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(len(SHAPES), (count,), generator=generator)
        self.images = torch.stack([draw(SHAPES[label], generator) for label in self.labels])

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.images[index], self.labels[index]


class Transformed(Dataset):
    def __init__(self, dataset, transform):
        self.dataset, self.transform = dataset, transform

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, index):
        image, label = self.dataset[index]
        return self.transform(image), label


class Block(nn.Module):
    def __init__(self, channels_in, channels, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.act = nn.SiLU(inplace=True)
        self.shortcut = nn.Identity()
        if stride != 1 or channels_in != channels:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels_in, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x):
        y = self.bn2(self.conv2(self.act(self.bn1(self.conv1(x)))))
        return self.act(y + self.shortcut(x))


class SmallResNet(nn.Module):
    def __init__(self, classes, width=16):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.SiLU()
        )
        self.stage1 = Block(width, width)
        self.stage2 = Block(width, 2 * width, stride=2)
        self.stage3 = Block(2 * width, 4 * width, stride=2)
        self.head = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, classes)
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, Block):
                nn.init.zeros_(module.bn2.weight)  # a block is at first its shortcut

    def forward(self, x):
        return self.head(self.stage3(self.stage2(self.stage1(self.stem(x)))))


def mixup(images, labels, beta):
    """Each image mixed with another one, both labels, and the share of the first."""
    share = beta.sample().item()
    order = torch.randperm(len(images)).to(images.device)
    return share * images + (1 - share) * images[order], (labels, labels[order]), share


@torch.no_grad()
def evaluate(model, loader, device):
    """(loss, accuracy, top-2 accuracy, confusion matrix)"""
    model.eval()
    losses, top, confusion = [], [], torch.zeros(len(SHAPES) ** 2, dtype=torch.long)
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        scores = model(images)
        losses.append(nn.functional.cross_entropy(scores, labels, reduction="none"))
        _, guesses = scores.topk(2, dim=1)
        top.append(guesses.eq(labels[:, None]))
        pairs = (labels * len(SHAPES) + guesses[:, 0]).cpu()
        confusion += torch.bincount(pairs, minlength=len(SHAPES) ** 2)
    top = torch.cat(top).float().cumsum(1).mean(0)
    loss = torch.cat(losses).mean().item()
    return loss, *top.tolist(), confusion.view(len(SHAPES), len(SHAPES))


@contextlib.contextmanager
def watch_activations(model, found):
    """Fills found with mean and deviation of what each stage gives."""

    def hook(name):
        def record(module, inputs, output):
            found[name] = (output.float().mean().item(), output.float().std().item())

        return record

    stages = [(name, child) for name, child in model.named_children() if name != "head"]
    handles = [child.register_forward_hook(hook(name)) for name, child in stages]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def seed_worker(worker):
    random.seed(torch.initial_seed() % 2**32)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--mixup", type=float, default=0.2)
    parser.add_argument("--amp", choices=("float16", "bfloat16"), help="mixed precision")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--log-every", type=int, default=50)
    parser.add_argument(
        "--checkpoints", type=pathlib.Path, help="a folder: one is saved after every epoch"
    )
    parser.add_argument("--resume", type=pathlib.Path, help="a checkpoint to go on from")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    device = torch.device(args.device)
    normalize = Normalize((0.5, 0.5, 0.5), (0.3, 0.3, 0.3))
    dataset = Shapes(args.images, args.seed)
    train_set, test_set = random_split(dataset, [0.8, 0.2])
    loader_options = {"num_workers": args.workers, "pin_memory": device.type != "cpu"}
    if args.workers:
        loader_options |= {"persistent_workers": True, "worker_init_fn": seed_worker}
    train_loader = DataLoader(
        Transformed(train_set, Compose(RandomFlip(), RandomCrop(2), normalize)),
        batch_size=args.batch_size, shuffle=True, drop_last=True, **loader_options,
    )  # fmt: skip
    test_loader = DataLoader(Transformed(test_set, normalize), batch_size=4 * args.batch_size)

    model = SmallResNet(len(SHAPES)).to(device)
    if args.channels_last:
        model = model.to(memory_format=torch.channels_last)
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.95), use_buffers=True)
    no_decay = [p for p in model.parameters() if p.ndim == 1]
    decay = [p for p in model.parameters() if p.ndim > 1]
    optimizer = torch.optim.SGD(
        [{"params": decay, "weight_decay": 5e-4}, {"params": no_decay}],
        lr=args.lr, momentum=0.9, nesterov=True,
    )  # fmt: skip
    warmup = max(1, args.steps // 10)
    scheduler = SequentialLR(
        optimizer,
        [LinearLR(optimizer, 0.1, total_iters=warmup),
         CosineAnnealingLR(optimizer, args.steps - warmup)],
        milestones=[warmup],
    )  # fmt: skip
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    scaler = torch.amp.GradScaler(device.type, enabled=args.amp == "float16")
    dtype = getattr(torch, args.amp or "float32")
    beta = torch.distributions.Beta(args.mixup, args.mixup) if args.mixup else None

    parts = {
        "model": model, "average": average, "optimizer": optimizer, "scheduler": scheduler,
        "scaler": scaler,
    }  # fmt: skip
    step = 0
    if args.resume:
        saved = torch.load(args.resume, map_location=device)
        for name, part in parts.items():
            part.load_state_dict(saved[name])
        torch.set_rng_state(saved["rng"].cpu())
        step = saved["step"]

    found, confusion = {}, None
    while step < args.steps:
        model.train()
        for images, labels in train_loader:
            images = images.to(device, non_blocking=True)
            labels = labels.to(device, non_blocking=True)
            if args.channels_last:
                images = images.contiguous(memory_format=torch.channels_last)
            targets, share = (labels, labels), 1.0
            if beta is not None:
                images, targets, share = mixup(images, labels, beta)
            with torch.autocast(device.type, dtype=dtype, enabled=args.amp is not None):
                scores = model(images)
                loss = share * criterion(scores, targets[0])
                loss = loss + (1 - share) * criterion(scores, targets[1])
            optimizer.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
            average.update_parameters(model)
            step += 1
            if step % args.log_every == 0:
                rate = scheduler.get_last_lr()[0]
                print(f"step {step:4}  loss {loss.item():.6f}  norm {norm.item():.5f}  "
                      f"lr {rate:.6f}")  # fmt: skip
            if step == args.steps:
                break
        with watch_activations(average.module, found):
            loss, top1, top2, confusion = evaluate(average, test_loader, device)
        print(f"step {step:4}  test_loss {loss:.6f}  top1 {top1:.4f}  top2 {top2:.4f}")
        if args.checkpoints:
            states = {name: part.state_dict() for name, part in parts.items()}
            states |= {"rng": torch.get_rng_state(), "step": step}
            torch.save(states, args.checkpoints / f"step-{step}.pt")

    if confusion is not None:
        print("\nrows are what was drawn, columns what was seen")
        for name, row in zip(SHAPES, confusion.tolist(), strict=True):
            print(f"  {name:8}" + "".join(f"{count:5}" for count in row))
        for name, (mean, std) in found.items():
            print(f"  activations of {name}: mean {mean:.3f}, deviation {std:.3f}")


if __name__ == "__main__":
    main()
