"""Tensors on several threads."""

import threading

import numpy as np
import pytest


def in_threads(count, work):
    """Runs work(number) in many threads at once; the first error is raised here."""
    errors = []
    start = threading.Barrier(count)

    def run(number):
        try:
            start.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_many_threads_compute(torch):
    def work(number):
        array = np.arange(300, dtype=np.float64).reshape(20, 15) + number
        x = torch.from_numpy(array.copy())
        for turn in range(60):
            y = (x * 2 + turn).t().contiguous()
            assert torch.equal(y, torch.from_numpy((array * 2 + turn).T.copy()))
            assert y.sum().item() == (array * 2 + turn).sum()
            assert (x @ x.t()).shape == (20, 20)
            assert x[x > 100].numel() == (array > 100).sum()
            assert x.sort(1, descending=True).values[0, 0].item() == array[0].max()
            x.add_(0)

    in_threads(8, work)


def test_threads_share_a_tensor(torch):
    shared = torch.arange(10000.0)

    def work(number):
        for _ in range(50):
            assert shared.sum().item() == 49995000
            assert shared[number::10].shape == (1000,)
            assert (shared + number)[0].item() == number

    in_threads(8, work)
    assert shared._version == 0


def test_threads_free_what_others_made(torch):
    pools = [[torch.full((n + 1,), n) for n in range(300)] for _ in range(6)]

    def work(number):
        mine = pools[number]
        theirs = pools[(number + 1) % 6]
        for n in range(300):
            value = mine[n] + 1
            assert value[0].item() == n + 1
            theirs[n] = theirs[n].clone() if n % 2 else theirs[n]
            del value

    in_threads(6, work)


def test_large_ops_in_threads(torch):
    """Ops big enough to use the library's own threads, from several of the user's."""
    x = torch.ones(1 << 18)

    def work(number):
        for _ in range(5):
            assert (x + number).sum().item() == (1 + number) * (1 << 18)
            assert x.exp().shape == (1 << 18,)

    in_threads(4, work)


def test_set_num_threads(torch):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert torch.get_num_threads() == 1
        one = torch.ones(1 << 18).sum().item()
        torch.set_num_threads(2)
        assert torch.get_num_threads() == 2
        assert torch.ones(1 << 18).sum().item() == one
        with pytest.raises(RuntimeError, match="positive"):
            torch.set_num_threads(0)
        with pytest.raises((TypeError, RuntimeError)):
            torch.set_num_threads(1.5)
    finally:
        torch.set_num_threads(before)


def test_default_dtype_is_seen_by_threads(torch, default_dtype):
    default_dtype(torch.float64)
    seen = []
    in_threads(2, lambda number: seen.append(torch.ones(1).dtype))
    assert seen == [torch.float64] * 2


def test_generators_in_threads(torch):
    """Every number is drawn once: the default generator is locked."""
    torch.manual_seed(0)
    expected = set(torch.rand(4000, dtype=torch.float64).tolist())
    torch.manual_seed(0)
    drawn = []
    in_threads(
        4,
        lambda number: drawn.extend(
            torch.rand(10, dtype=torch.float64).tolist() for _ in range(100)
        ),
    )
    flat = [value for piece in drawn for value in piece]
    assert len(set(flat)) == 4000 and set(flat) == expected
