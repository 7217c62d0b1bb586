"""Trains a graph attention network to tell the communities of a graph apart.

    python examples/graph_attention.py
    MINDTORCH_NPU=sim python examples/graph_attention.py --device npu

The graph is drawn with a seed: nodes of one community are linked more often, and a node's features
say little of its community. The adjacency matrix is sparse, and so is the attention: a softmax
along its rows, whose product with the nodes' features is the next layer.
"""

import argparse

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2 import nn


def make_graph(nodes, communities, generator):
    """(adjacency with loops, features, community of each node)."""
    labels = torch.randint(communities, (nodes,), generator=generator)
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    chance = torch.where(same, 0.08, 0.01)
    links = torch.rand(nodes, nodes, generator=generator).triu(1)
    links = ((links > 0) & (links < chance)).float()
    adjacency = (links + links.t() + torch.eye(nodes)).to_sparse()
    centers = torch.randn(communities, 16, generator=generator)
    features = 0.5 * centers[labels] + torch.randn(nodes, 16, generator=generator)
    return adjacency, features, labels


class GraphAttention(nn.Module):
    """One head: each node becomes a mean of its neighbours, weighted by attention."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.project = nn.Linear(inputs, outputs, bias=False)
        self.score = nn.Linear(outputs, 2, bias=False)
        nn.init.xavier_uniform_(self.project.weight)
        nn.init.xavier_uniform_(self.score.weight)

    def forward(self, x, adjacency):
        hidden = self.project(x)
        to, since = self.score(hidden).unbind(1)
        row, col = adjacency.indices()
        scores = F.leaky_relu(to[row] + since[col], 0.2)
        attention = torch.sparse_coo_tensor(
            adjacency.indices(), scores, adjacency.shape, is_coalesced=True
        )
        return torch.sparse.mm(torch.sparse.softmax(attention, dim=1), hidden)


class Network(nn.Module):
    def __init__(self, inputs, hidden, outputs, heads):
        super().__init__()
        self.heads = nn.ModuleList(GraphAttention(inputs, hidden) for _ in range(heads))
        self.output = GraphAttention(hidden * heads, outputs)

    def forward(self, x, adjacency):
        x = F.elu(torch.cat([head(x, adjacency) for head in self.heads], dim=1))
        return self.output(x, adjacency)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--log-every", type=int, default=10)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    generator = torch.Generator().manual_seed(options.seed)
    adjacency, features, labels = make_graph(options.nodes, 4, generator)
    known = torch.rand(options.nodes, generator=generator) < 0.3
    model = Network(features.shape[1], 8, 4, heads=4).to(options.device)
    adjacency, features, labels, known = (
        each.to(options.device) for each in (adjacency, features, labels, known)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for step in range(1, options.steps + 1):
        optimizer.zero_grad()
        logits = model(features, adjacency)
        loss = F.cross_entropy(logits[known], labels[known])
        loss.backward()
        optimizer.step()
        if step % options.log_every == 0 or step == 1:
            print(f"step {step}: loss {loss.item():.6f}")
    right = model(features, adjacency).argmax(1) == labels
    print(f"right on the nodes it was not told: {right[~known].float().mean().item():.3f}")


if __name__ == "__main__":
    main()
