"""Teaches a policy to balance a pole on a cart, by advantage actor-critic.

    python -m mindtorch_v2 examples/actor_critic.py
    python -m mindtorch_v2 examples/actor_critic.py --device npu

The environment is in this file. Several carts are driven side by side by a copy of the policy on
the CPU; advantages are generalised estimates; the update runs on the device.
"""

import argparse
import copy
import dataclasses
import math
import pathlib
from collections import deque

import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn import functional as F
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class CartPole:
    """Carts side by side: a push to the left or to the right at each step; the pole must not fall.

    State: position, speed, angle and angular speed of each.
    """

    GRAVITY, POLE_MASS, TOTAL_MASS, HALF_LENGTH = 9.8, 0.1, 1.1, 0.5
    FORCE, SECONDS, REWARD = 10.0, 0.02, 0.05
    MAX_POSITION, MAX_ANGLE, MAX_STEPS = 2.4, math.radians(12), 200

    def __init__(self, carts, generator):
        self.generator = generator
        self.state = self._start(carts)
        self.age = torch.zeros(carts, dtype=torch.int32)

    def _start(self, carts):
        return torch.rand(carts, 4, generator=self.generator) * 0.1 - 0.05

    def step(self, actions):
        """(states, rewards, which ended, ages of those that ended)"""
        x, speed, angle, turn = self.state.unbind(1)
        force = torch.where(actions.bool(), self.FORCE, -self.FORCE)
        sine, cosine = angle.sin(), angle.cos()
        pole = self.POLE_MASS * self.HALF_LENGTH
        pull = (force + pole * turn.square() * sine) / self.TOTAL_MASS
        inertia = self.HALF_LENGTH * (4 / 3 - self.POLE_MASS * cosine**2 / self.TOTAL_MASS)
        turning = (self.GRAVITY * sine - cosine * pull) / inertia
        pushing = pull - pole * turning * cosine / self.TOTAL_MASS
        moved = torch.stack(
            [x + self.SECONDS * speed, speed + self.SECONDS * pushing,
             angle + self.SECONDS * turn, turn + self.SECONDS * turning],
            dim=1,
        )  # fmt: skip
        self.age += 1
        fallen = (moved[:, 0].abs() > self.MAX_POSITION) | (moved[:, 2].abs() > self.MAX_ANGLE)
        ended = fallen.logical_or(self.age >= self.MAX_STEPS)
        ages = self.age[ended].tolist()
        self.state = torch.where(ended[:, None], self._start(len(moved)), moved)
        self.age.masked_fill_(ended, 0)
        return self.state, torch.full((len(moved),), self.REWARD), ended, ages


class Policy(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, hidden))
        self.actor = nn.Linear(hidden, 2)
        self.critic = nn.Linear(hidden, 1)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.orthogonal_(module.weight, gain=nn.init.calculate_gain("tanh"))
                nn.init.zeros_(module.bias)
        nn.init.orthogonal_(self.actor.weight, gain=0.01)
        self.register_buffer("scale", torch.tensor([2.4, 3.0, 0.21, 3.0]))

    def forward(self, states):
        hidden = self.body(states / self.scale).tanh()
        return Categorical(logits=self.actor(hidden)), self.critic(hidden).squeeze(-1)


@dataclasses.dataclass
class Rollout:
    """What happened, each of shape (time, carts)."""

    states: torch.Tensor
    actions: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor

    def to(self, device):
        return Rollout(
            *(getattr(self, field.name).to(device) for field in dataclasses.fields(self))
        )


@torch.no_grad()
def drive(policy, carts, horizon, gamma, lam, ages):
    """Drives for a while; the lengths of games that end go to ages."""
    states, actions, rewards, going, values = [], [], [], [], []
    for _ in range(horizon):
        distribution, value = policy(carts.state)
        action = distribution.sample()
        states.append(carts.state)
        actions.append(action)
        values.append(value)
        _, reward, ended, finished = carts.step(action)
        rewards.append(reward)
        going.append((~ended).float())
        ages.extend(finished)
    values.append(policy(carts.state)[1])
    advantages, running = [], torch.zeros_like(values[0])
    for t in reversed(range(horizon)):
        delta = rewards[t] + gamma * values[t + 1] * going[t] - values[t]
        running = delta + gamma * lam * going[t] * running
        advantages.insert(0, running)
    advantages = torch.stack(advantages)
    returns = advantages + torch.stack(values[:-1])
    std, mean = torch.std_mean(advantages)
    advantages = (advantages - mean) / (std + 1e-8)
    return Rollout(torch.stack(states), torch.stack(actions), advantages, returns)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=500, help="updates")
    parser.add_argument("--seed", type=int, default=543)
    parser.add_argument("--carts", type=int, default=16)
    parser.add_argument("--horizon", type=int, default=20)
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--lam", type=float, default=0.95)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--entropy", type=float, default=0.01)
    parser.add_argument("--log-every", type=int, default=50)
    parser.add_argument(
        "--checkpoints", type=pathlib.Path, help="a folder: one is saved with every line"
    )
    parser.add_argument("--resume", type=pathlib.Path, help="a checkpoint to go on from")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    carts = CartPole(args.carts, generator)
    policy = Policy().to(args.device)
    driver = copy.deepcopy(policy).cpu().requires_grad_(False)
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr, eps=1e-5)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: max(0.05, 1 - n / 1000))
    ages, done = deque(maxlen=50), 0
    if args.resume:
        saved = torch.load(args.resume, weights_only=False)
        policy.load_state_dict(saved["policy"])
        optimizer.load_state_dict(saved["optimizer"])
        scheduler.load_state_dict(saved["scheduler"])
        carts.state, carts.age = saved["carts"]
        generator.set_state(saved["generator"])
        torch.set_rng_state(saved["rng"])
        ages, done = saved["ages"], saved["step"]
        vector_to_parameters(parameters_to_vector(policy.parameters()).cpu(), driver.parameters())

    for step in range(done + 1, args.steps + 1):
        rollout = drive(driver, carts, args.horizon, args.gamma, args.lam, ages).to(args.device)
        distribution, values = policy(rollout.states)
        policy_loss = -(distribution.log_prob(rollout.actions) * rollout.advantages).mean()
        value_loss = F.smooth_l1_loss(values, rollout.returns)
        entropy = distribution.entropy().mean()
        loss = policy_loss + 0.5 * value_loss - args.entropy * entropy
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), max_norm=0.5)
        optimizer.step()
        scheduler.step()
        with torch.no_grad():
            vector = parameters_to_vector(policy.parameters()).cpu()
            vector_to_parameters(vector, driver.parameters())
        if step % args.log_every == 0 or step == args.steps:
            mean_age = sum(ages) / max(1, len(ages))
            print(f"step {step:4}  loss {loss.item():.6f}  value_loss {value_loss.item():.6f}  "
                  f"entropy {entropy.item():.6f}  balanced {mean_age:.2f}")  # fmt: skip
            if args.checkpoints:
                torch.save(
                    {
                        "policy": policy.state_dict(),
                        "optimizer": optimizer.state_dict(),
                        "scheduler": scheduler.state_dict(),
                        "carts": (carts.state, carts.age),
                        "generator": generator.get_state(),
                        "rng": torch.get_rng_state(),
                        "ages": ages,
                        "step": step,
                    },
                    args.checkpoints / f"step-{step}.pt",
                )


if __name__ == "__main__":
    main()
