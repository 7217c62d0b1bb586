"""A GPT trained in one go, and one whose training is interrupted and resumed from a file."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[2] / "examples"))

from shared import gpt

STEPS, CUT = 12, 5


class Training:
    def __init__(self, torch, device):
        self.torch, self.device = torch, device
        size = gpt.Size(layers=1, width=16, heads=2, tokens=8, vocabulary=11, dropout=0.2)
        self.model = gpt.make(torch, size).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, STEPS)
        self.order = torch.Generator().manual_seed(3)
        self.tokens = torch.arange(200) ** 2 % 11

    def step(self):
        starts = self.torch.randint(0, 190, (4, 1), generator=self.order)
        pieces = self.tokens[starts + self.torch.arange(9)].to(self.device)
        scores = self.model(pieces[:, :-1]).flatten(0, 1)
        loss = self.torch.nn.functional.cross_entropy(scores, pieces[:, 1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        return loss.item()

    def random_states(self):
        module = self.torch if self.device == "cpu" else getattr(self.torch, self.device)
        return module.get_rng_state, module.set_rng_state

    def save(self, path):
        parts = ("model", "optimizer", "schedule")
        checkpoint = {name: getattr(self, name).state_dict() for name in parts}
        checkpoint["order"] = self.order.get_state()
        checkpoint["random"] = self.random_states()[0]()
        self.torch.save(checkpoint, path)

    def load(self, path):
        checkpoint = self.torch.load(path)
        for name in ("model", "optimizer", "schedule"):
            getattr(self, name).load_state_dict(checkpoint[name])
        self.order.set_state(checkpoint["order"])
        self.random_states()[1](checkpoint["random"])


def check(torch, device, path):
    """The resumed run has the losses of the other, to the last bit."""
    torch.manual_seed(0)
    whole = Training(torch, device)
    expected = []
    for step in range(STEPS):
        if step == CUT:
            whole.save(path)
        expected.append(whole.step())
    torch.manual_seed(99)
    resumed = Training(torch, device)
    torch.rand(17, device=device)
    resumed.load(path)
    assert [resumed.step() for _ in range(CUT, STEPS)] == expected[CUT:]
    assert len(set(expected)) == STEPS
