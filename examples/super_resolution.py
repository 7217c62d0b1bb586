"""Trains a sub-pixel ConvNet that enlarges pictures, and compares it with bicubic interpolation.

    python -m mindtorch_v2 examples/super_resolution.py
    python -m mindtorch_v2 examples/super_resolution.py --device npu --scale 3

The network works at the small size and gives one channel per pixel of the large picture;
`PixelShuffle` puts them in place. Pictures are sums of waves and edges, made on the spot.
"""

import argparse
import logging
import math
import pathlib

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.init as init
import torch.optim as optim
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, Subset

log = logging.getLogger("super_resolution")


class Waves(Dataset):
    """Pairs of a small picture and the large one that it was made from."""

    def __init__(self, count, size, scale, seed):
        generator = torch.Generator().manual_seed(seed)
        line = torch.linspace(0, 1, size)
        rows, columns = torch.meshgrid(line, line, indexing="xy")
        places = torch.stack([rows, columns]).view(2, -1)
        waves = torch.randn(count, 6, 2, generator=generator) * 12
        phases = torch.rand(count, 6, 1, generator=generator) * 2 * math.pi
        sizes = torch.rand(count, 6, 1, generator=generator).softmax(dim=1)
        pictures = (torch.sin(waves @ places + phases) * sizes).sum(1).view(count, 1, size, size)
        edges = torch.rand(count, 3, generator=generator) * 2 - 1
        side = edges[:, :1] * rows.flatten() + edges[:, 1:2] * columns.flatten() > edges[:, 2:] / 3
        pictures = pictures + 0.5 * side.view_as(pictures)
        low, high = torch.aminmax(pictures.flatten(1), dim=1)
        low, high = (bound.view(-1, 1, 1, 1) for bound in (low, high))
        self.large = (pictures - low) / (high - low)
        self.small = F.avg_pool2d(self.large, scale)

    def __len__(self):
        return self.large.size(0)

    def __getitem__(self, index):
        return self.small[index], self.large[index]


class SubPixelNet(nn.Module):
    def __init__(self, scale, width=32):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, width, (5, 5), (1, 1), (2, 2), padding_mode="replicate")
        self.conv2 = nn.Conv2d(width, width, (3, 3), padding="same")
        self.conv3 = nn.Conv2d(width, width // 2, (3, 3), padding="same")
        self.conv4 = nn.Conv2d(width // 2, scale**2, (3, 3), padding="same")
        self.pixel_shuffle = nn.PixelShuffle(scale)
        self.scale = scale
        for conv in (self.conv1, self.conv2, self.conv3):
            init.orthogonal_(conv.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv4.weight, 0.1)

    def forward(self, x):
        enlarged = F.interpolate(x, scale_factor=self.scale, mode="nearest")
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        x = self.relu(self.conv3(x))
        return enlarged + self.pixel_shuffle(self.conv4(x))


def charbonnier(prediction, target, epsilon=1e-3):
    """A smooth absolute difference."""
    return torch.sqrt((prediction - target) ** 2 + epsilon**2).mean()


def psnr(prediction, target):
    return -10 * F.mse_loss(prediction, target).log10()


def ssim(a, b, window=5):
    """Structural similarity, with means over square windows."""

    def mean(x):
        return F.avg_pool2d(x, window, stride=1)

    mean_a, mean_b = mean(a), mean(b)
    variance_a, variance_b = mean(a * a) - mean_a**2, mean(b * b) - mean_b**2
    covariance = mean(a * b) - mean_a * mean_b
    c1, c2 = 0.01**2, 0.03**2
    likeness = (2 * mean_a * mean_b + c1) * (2 * covariance + c2)
    return (likeness / ((mean_a**2 + mean_b**2 + c1) * (variance_a + variance_b + c2))).mean()


@torch.no_grad()
def test(model, loader, device, scale):
    model.eval()
    totals = torch.zeros(4, dtype=torch.float64)
    for small, large in loader:
        small, large = small.to(device), large.to(device)
        enlarged = model(small).clamp(0, 1)
        bicubic = F.interpolate(small, scale_factor=scale, mode="bicubic", align_corners=False)
        scores = [psnr(enlarged, large), psnr(bicubic, large), ssim(enlarged, large)]
        totals += torch.tensor([*scores, 1.0], dtype=torch.float64)
    return (totals[:3] / totals[3]).tolist()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--seed", type=int, default=123)
    parser.add_argument("--scale", type=int, default=2)
    parser.add_argument("--size", type=int, default=36, help="of a large picture")
    parser.add_argument("--pictures", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--test-every", type=int, default=40)
    parser.add_argument(
        "--checkpoints", type=pathlib.Path, help="a folder: one is saved after every epoch"
    )
    parser.add_argument("--resume", type=pathlib.Path, help="a checkpoint to go on from")
    args = parser.parse_args()
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    torch.manual_seed(args.seed)

    pictures = Waves(args.pictures, args.size, args.scale, args.seed)
    held_out = max(1, len(pictures) // 10)
    training = Subset(pictures, range(held_out, len(pictures)))
    sampler = BatchSampler(RandomSampler(training), args.batch_size, drop_last=True)
    loader = DataLoader(training, batch_sampler=sampler)
    test_loader = DataLoader(Subset(pictures, range(held_out)), batch_size=1)

    model = SubPixelNet(args.scale).to(args.device)
    optimizer = optim.Adam(model.parameters(), lr=args.lr, amsgrad=True)
    milestones = [args.steps // 2, args.steps * 3 // 4]
    scheduler = optim.lr_scheduler.MultiStepLR(optimizer, milestones, gamma=0.3)
    step = 0
    if args.resume:
        with args.resume.open("rb") as file:
            saved = torch.load(file, map_location=torch.device(args.device))
        model.load_state_dict(saved["model"], strict=True)
        optimizer.load_state_dict(saved["optimizer"])
        scheduler.load_state_dict(saved["scheduler"])
        torch.random.set_rng_state(saved["rng"].cpu())
        step = saved["step"]

    losses = []
    while step < args.steps:
        for small, large in loader:
            if step == args.steps:
                break
            model.train()
            optimizer.zero_grad()
            loss = charbonnier(model(small.to(args.device)), large.to(args.device))
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.detach())
            step += 1
            if step % args.test_every == 0 or step == args.steps:
                ours, bicubic, similarity = test(model, test_loader, args.device, args.scale)
                log.info(
                    "step %4d  loss %.6f  psnr %.4f  bicubic %.4f  ssim %.5f",
                    step, torch.stack(losses).mean(), ours, bicubic, similarity,
                )  # fmt: skip
                losses.clear()
        if args.checkpoints:
            states = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
            states = {name: part.state_dict() for name, part in states.items()}
            states |= {"rng": torch.random.get_rng_state(), "step": step}
            torch.save(states, args.checkpoints / f"step-{step}.pt")


if __name__ == "__main__":
    main()
