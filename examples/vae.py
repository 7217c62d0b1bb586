"""Trains a variational autoencoder on pictures of digits drawn with seven segments.

    python -m mindtorch_v2 examples/vae.py
    python -m mindtorch_v2 examples/vae.py --device npu

The latent code is a distribution of `torch.distributions`; the weight of its divergence grows over
the first steps. At the end the model shows a digit, its reconstruction, what lies between two
digits, and new ones.
"""

import argparse
import itertools
import pathlib

import torch
import torch.nn.functional as F
from torch import distributions, nn
from torch.utils.data import DataLoader, TensorDataset

HEIGHT, WIDTH = 16, 12
# Rows and columns of the segments, and those that each digit has.
SEGMENTS = {
    "a": (slice(2, 4), slice(3, 9)), "b": (slice(3, 8), slice(8, 10)),
    "c": (slice(8, 13), slice(8, 10)), "d": (slice(12, 14), slice(3, 9)),
    "e": (slice(8, 13), slice(2, 4)), "f": (slice(3, 8), slice(2, 4)),
    "g": (slice(7, 9), slice(3, 9)),
}  # fmt: skip
DIGITS = ("abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abgfcd")


def make_digits(count, generator):
    """Pictures that are moved, blurred, noisy and of differing brightness; and what they show."""
    templates = torch.zeros(len(DIGITS), HEIGHT, WIDTH)
    for template, segments in zip(templates, DIGITS, strict=True):
        for segment in segments:
            template[SEGMENTS[segment]] = 1
    labels = torch.randint(len(DIGITS), (count,), generator=generator)
    pictures = templates[labels].unsqueeze(1)
    kernel = torch.outer(*[torch.tensor([0.25, 0.5, 0.25])] * 2).expand(1, 1, 3, 3)
    pictures = F.conv2d(pictures, kernel, padding="same")
    moves = torch.randint(-1, 2, (count, 2), generator=generator)
    rolled = [p.roll(m, dims=(-2, -1)) for p, m in zip(pictures, moves.tolist(), strict=True)]
    light = torch.empty(count, 1, 1, 1).uniform_(0.6, 1.0, generator=generator)
    noise = torch.empty(count, 1, HEIGHT, WIDTH).normal_(0, 0.05, generator=generator)
    return (torch.stack(rolled) * light + noise).clamp(0, 1), labels


class Encoder(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 4, stride=2, padding=1), nn.ELU(),
            nn.Conv2d(16, 32, 4, stride=2, padding=1), nn.ELU(), nn.Flatten(),
            nn.Linear(32 * (HEIGHT // 4) * (WIDTH // 4), 64), nn.LayerNorm(64), nn.ELU(),
        )  # fmt: skip
        self.mean = nn.Linear(64, latent)
        self.log_variance = nn.Linear(64, latent)

    def forward(self, x):
        hidden = self.features(x)
        return distributions.Normal(self.mean(hidden), (0.5 * self.log_variance(hidden)).exp())


class Decoder(nn.Sequential):
    """Codes to the logits of pixels."""

    def __init__(self, latent):
        super().__init__(
            nn.Linear(latent, 64), nn.ELU(),
            nn.Linear(64, 32 * (HEIGHT // 4) * (WIDTH // 4)), nn.ELU(),
            nn.Unflatten(1, (32, HEIGHT // 4, WIDTH // 4)),
            nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1), nn.ELU(),
            nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False),
            nn.Conv2d(16, 1, 3, padding=1),
        )  # fmt: skip


class VAE(nn.Module):
    def __init__(self, latent=8):
        super().__init__()
        self.encoder = Encoder(latent)
        self.decoder = Decoder(latent)
        self.register_buffer("prior_mean", torch.zeros(latent))
        self.register_buffer("prior_scale", torch.ones(latent))
        self.apply(self._initialize)

    @staticmethod
    def _initialize(module):
        if isinstance(module, (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)):
            nn.init.xavier_uniform_(module.weight)
            nn.init.constant_(module.bias, 0.0)

    @property
    def prior(self):
        return distributions.Normal(self.prior_mean, self.prior_scale)

    def forward(self, x, noise):
        """Logits of the reconstruction, and the distribution of the code."""
        posterior = self.encoder(x)
        code = posterior.mean + posterior.stddev * noise
        return self.decoder(code), posterior

    def loss(self, x, noise, beta=1.0):
        logits, posterior = self(x, noise)
        per_pixel = F.binary_cross_entropy_with_logits(logits, x, reduction="none")
        reconstruction = per_pixel.flatten(1).sum(1).mean()
        divergence = distributions.kl_divergence(posterior, self.prior).sum(-1).mean()
        return reconstruction + beta * divergence, reconstruction, divergence


def show(pictures):
    """Pictures side by side, in characters."""
    shades = " .:-=+*#%@"
    levels = (pictures.squeeze(1) * (len(shades) - 1)).round().long().clamp(0, 9)
    rows = torch.cat(list(F.pad(levels, (0, 2))), dim=1)
    return "\n".join("".join(shades[level] for level in row) for row in rows.tolist())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--pictures", type=int, default=2000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--latent", type=int, default=8)
    parser.add_argument("--warmup", type=int, default=200, help="steps until beta is 1")
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--log-every", type=int, default=50)
    parser.add_argument(
        "--checkpoints", type=pathlib.Path, help="a folder: one is saved after every epoch"
    )
    parser.add_argument("--resume", type=pathlib.Path, help="a checkpoint to go on from")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    # Noise comes from a generator on the CPU: the losses are the same on every device.
    generator = torch.Generator().manual_seed(args.seed)
    pictures, labels = make_digits(args.pictures, generator)
    held_out = len(pictures) // 10
    loader = DataLoader(
        TensorDataset(pictures[held_out:], labels[held_out:]),
        batch_size=args.batch_size, shuffle=True, generator=generator,
    )  # fmt: skip
    model = VAE(args.latent).to(args.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, betas=(0.9, 0.98))
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.998)
    first = 0
    if args.resume:
        saved = torch.load(args.resume, map_location=args.device, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        scheduler.load_state_dict(saved["scheduler"])
        generator.set_state(saved["generator"].cpu())
        first = saved["step"]

    endless = itertools.chain.from_iterable(itertools.repeat(loader))
    model.train()
    for step, (batch, _) in zip(range(first + 1, args.steps + 1), endless, strict=False):
        batch = batch.to(args.device)
        noise = torch.randn(len(batch), args.latent, generator=generator).to(args.device)
        beta = min(1.0, step / args.warmup)
        loss, reconstruction, divergence = model.loss(batch, noise, beta)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if step % args.log_every == 0 or step == args.steps:
            print(f"step {step:4}  loss {loss.item():.5f}  reconstruction "
                  f"{reconstruction.item():.5f}  divergence {divergence.item():.5f}")  # fmt: skip
        if args.checkpoints and step % len(loader) == 0:
            torch.save(
                {
                    "model": model.state_dict(),
                    "optimizer": optimizer.state_dict(),
                    "scheduler": scheduler.state_dict(),
                    "generator": generator.get_state(),
                    "step": step,
                },
                args.checkpoints / f"step-{step}.pt",
            )

    model.eval()
    test = pictures[:held_out].to(args.device)
    with torch.inference_mode():
        codes = model.encoder(test).mean
        logits = model.decoder(codes)
        error = F.mse_loss(logits.sigmoid(), test)
        bits = -distributions.ContinuousBernoulli(logits=logits).log_prob(test).mean()
        between = torch.stack([codes[0].lerp(codes[1], w) for w in (0.0, 0.25, 0.5, 0.75, 1.0)])
        torch.manual_seed(args.seed)
        fresh = distributions.Normal(0.0, 1.0).sample((5, args.latent)).to(args.device)
        print(f"held out  mse {error.item():.6f}  nll {bits.item():.6f}")
        for title, images in (
            ("held-out digits", test[:5]),
            ("reconstructed", logits[:5].sigmoid()),
            ("from the first to the second", model.decoder(between).sigmoid()),
            ("new ones", model.decoder(fresh).sigmoid()),
        ):
            print(f"\n{title}\n{show(images.cpu())}")


if __name__ == "__main__":
    main()
