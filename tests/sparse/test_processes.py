"""Sparse tensors between processes: workers of a loader, queues."""

import os

import pytest

LAYOUTS = ("sparse_coo", "sparse_csr", "sparse_csc")


class Graphs:
    def __init__(self, nodes):
        self.nodes = nodes

    def __len__(self):
        return 4

    def __getitem__(self, index):
        import mindtorch_v2 as torch

        dense = torch.diag(torch.full((self.nodes,), index + 1.0))
        each = {name: dense.to_sparse(layout=getattr(torch, name)) for name in LAYOUTS}
        return {**each, "list": [dense.to_sparse(), index]}


def first(batch):
    return batch[0]


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.parametrize("nodes", [3, 300])
def test_workers(torch, start, nodes):
    before = sorted(os.listdir("/dev/shm"))
    loader = torch.utils.data.DataLoader(
        Graphs(nodes), collate_fn=first, num_workers=1, multiprocessing_context=start
    )
    for number, batch in enumerate(loader):
        want = torch.diag(torch.full((nodes,), number + 1.0))
        for name in LAYOUTS:
            assert batch[name].layout is getattr(torch, name)
            assert torch.equal(batch[name].to_dense(), want)
        graph, index = batch["list"]
        assert graph.is_coalesced() and torch.equal(graph.to_dense(), want) and index == number
    del loader, batch, graph
    assert sorted(os.listdir("/dev/shm")) == before


def send(queue, received, nodes):
    sample = Graphs(nodes)[1]
    queue.put([sample["sparse_csr"], {"coo": sample["sparse_coo"]}])
    received.wait()


def test_queue(torch):
    context = torch.multiprocessing.get_context("fork")
    queue = context.Queue()
    received = context.Event()
    process = context.Process(target=send, args=(queue, received, 5))
    process.start()
    csr, named = queue.get(timeout=60)
    want = torch.eye(5) * 2
    assert torch.equal(csr.to_dense(), want) and torch.equal(named["coo"].to_dense(), want)
    received.set()
    process.join()
    assert process.exitcode == 0
