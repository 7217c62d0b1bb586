"""Trains a DCGAN: a generator that learns to draw, against a discriminator that learns to judge.

    python -m mindtorch_v2 examples/dcgan.py
    python -m mindtorch_v2 examples/dcgan.py --device npu --spectral-norm

The pictures to imitate are coloured blobs, made on the spot. A grid of pictures from fixed noise is
written as a PPM file, which most viewers open.
"""

import argparse
import pathlib

import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import spectral_norm
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

SIZE = 16


class Blobs(IterableDataset):
    """Endless pictures of a bright blob on a dark gradient, values from -1 to 1."""

    def __init__(self, seed):
        self.seed = seed
        line = torch.linspace(-1, 1, SIZE)
        self.rows, self.columns = torch.meshgrid(line, line, indexing="ij")

    def __iter__(self):
        worker = get_worker_info()
        generator = torch.Generator()
        generator.manual_seed(self.seed + (worker.id if worker else 0))
        while True:
            x, y, spread, angle = torch.rand(4, generator=generator).tolist()
            hue = torch.rand(3, 1, 1, generator=generator) * 0.6 + 0.4
            distance = (self.rows - (y - 0.5)) ** 2 + (self.columns - (x - 0.5)) ** 2
            blob = torch.exp(-distance / (0.08 + 0.2 * spread))
            ground = 0.2 * (self.rows * angle + self.columns * (1 - angle))
            yield (hue * blob + ground).mul(2).sub(1).clamp(-1, 1)


class Generator(nn.Module):
    def __init__(self, latent, features):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(latent, features * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(features * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(features * 2, features, 4, 2, 1, bias=False),
            nn.BatchNorm2d(features),
            nn.ReLU(True),
            nn.ConvTranspose2d(features, 3, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, noise):
        return self.main(noise)


class Discriminator(nn.Module):
    def __init__(self, features, wrap):
        super().__init__()
        self.main = nn.Sequential(
            wrap(nn.Conv2d(3, features, 4, 2, 1, bias=False)),
            nn.LeakyReLU(0.2, inplace=True),
            wrap(nn.Conv2d(features, features * 2, 4, 2, 1, bias=False)),
            nn.BatchNorm2d(features * 2),
            nn.LeakyReLU(0.2, inplace=True),
            wrap(nn.Conv2d(features * 2, 1, 4, 1, 0, bias=False)),
            nn.Sigmoid(),
        )

    def forward(self, picture):
        return self.main(picture).view(-1)


def weights_init(module):
    name = module.__class__.__name__
    if "Conv" in name and not hasattr(module, "parametrizations"):
        nn.init.normal_(module.weight.data, 0.0, 0.02)
    elif "BatchNorm" in name:
        nn.init.normal_(module.weight.data, 1.0, 0.02)
        nn.init.constant_(module.bias.data, 0)


def make_grid(pictures, columns, padding=1):
    """One picture with all of them in rows."""
    rows = []
    for row in pictures.split(columns):
        padded = nn.functional.pad(row, (padding, padding, padding, padding))
        rows.append(torch.cat(padded.unbind(0), dim=2))
    return torch.cat(rows, dim=1)


def write_ppm(path, picture):
    values = ((picture + 1) * 127.5).round().clamp(0, 255).to(torch.uint8)
    _, height, width = values.shape
    pixels = values.permute(1, 2, 0).contiguous().numpy().tobytes()
    path.write_bytes(b"P6 %d %d 255\n" % (width, height) + pixels)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=999)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--latent", type=int, default=32)
    parser.add_argument("--features", type=int, default=24)
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--beta1", type=float, default=0.5)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--spectral-norm", action="store_true", help="in the discriminator")
    parser.add_argument("--log-every", type=int, default=100)
    parser.add_argument("--picture", type=pathlib.Path, help="where to write a grid, as PPM")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    device = torch.device(args.device)
    loader = iter(DataLoader(Blobs(args.seed), args.batch_size, num_workers=args.workers))
    netG = Generator(args.latent, args.features)
    netG.apply(weights_init)
    netD = Discriminator(args.features, spectral_norm if args.spectral_norm else lambda conv: conv)
    netD.apply(weights_init)
    netG, netD = netG.to(device), netD.to(device)
    criterion = nn.BCELoss()
    options = {"lr": args.lr, "betas": (args.beta1, 0.999)}
    optimizerD = torch.optim.Adam(netD.parameters(), **options)
    optimizerG = torch.optim.Adam(netG.parameters(), **options)
    fixed_noise = torch.randn(16, args.latent, 1, 1)

    for step in range(1, args.steps + 1):
        # The discriminator: to tell real from fake.
        netD.zero_grad()
        real = next(loader).to(device)
        label = torch.full((args.batch_size,), 0.9, device=device)
        output = netD(real)
        errD_real = criterion(output, label)
        errD_real.backward()
        D_x = output.mean().item()

        noise = torch.randn(args.batch_size, args.latent, 1, 1).to(device)
        fake = netG(noise)
        label.fill_(0.0)
        output = netD(fake.detach())
        errD_fake = criterion(output, label)
        errD_fake.backward()
        errD = errD_real + errD_fake
        optimizerD.step()

        # The generator: to be taken for real.
        netG.zero_grad()
        netD.requires_grad_(False)
        label.fill_(1.0)
        output = netD(fake)
        errG = criterion(output, label)
        errG.backward()
        netD.requires_grad_(True)
        D_G_z = output.mean().item()
        optimizerG.step()

        if step % args.log_every == 0 or step == args.steps:
            print(f"step {step:4}  loss_d {errD.item():.6f}  loss_g {errG.item():.6f}  "
                  f"d_real {D_x:.5f}  d_fake {D_G_z:.5f}")  # fmt: skip

    netG.eval()
    with torch.no_grad():
        fake = netG(fixed_noise.to(device)).cpu()
        real = torch.cat([next(loader) for _ in range(2)])
    for title, pictures in (("real", real), ("drawn", fake)):
        deviations, means = torch.std_mean(pictures, dim=(0, 2, 3))
        colours = zip("red green blue".split(), means.tolist(), deviations.tolist(), strict=True)
        print(f"{title:6}" + ", ".join(f"{name} {m:.3f} ± {d:.3f}" for name, m, d in colours))
    if args.picture:
        write_ppm(args.picture, make_grid(fake, columns=4))
        print(f"wrote {args.picture}")


if __name__ == "__main__":
    main()
