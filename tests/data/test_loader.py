"""DataLoader: batches and their order, with and without workers; compared with torch's."""

import json
import random
import subprocess
import sys

import mindtorch_v2 as torch
import numpy
import pytest

from tests.data import datasets

data = torch.utils.data
START_METHODS = ("fork", "spawn", "forkserver")


def values(batches):
    return [[part.tolist() for part in batch] for batch in batches]


def numbers(batches):
    return [batch.tolist() for batch in batches]


@pytest.mark.parametrize("workers", [0, 2])
def test_batches(workers):
    loader = data.DataLoader(datasets.Squares(5), batch_size=2, num_workers=workers)
    assert len(loader) == len(iter(loader)) == 3
    assert values(loader) == [
        [[[0.0, 0.0], [1.0, 1.0]], [0, 1]],
        [[[2.0, 2.0], [3.0, 3.0]], [4, 9]],
        [[[4.0, 4.0]], [16]],
    ]
    loader = data.DataLoader(datasets.Squares(5), 2, drop_last=True, num_workers=workers)
    assert len(loader) == len(list(loader)) == 2


@pytest.mark.parametrize("method", START_METHODS)
def test_start_methods(method):
    loader = data.DataLoader(datasets.Images(10), 4, num_workers=2, multiprocessing_context=method)
    seen = [(images.shape, images[:, 0, 0, 0].tolist()) for images, _ in loader]
    assert seen == [
        ((4, 3, 64, 64), [0.0, 1.0, 2.0, 3.0]),
        ((4, 3, 64, 64), [4.0, 5.0, 6.0, 7.0]),
        ((2, 3, 64, 64), [8.0, 9.0]),
    ]


# The orders are torch's: see test_same_as_torch, where torch is installed.
@pytest.mark.parametrize("workers", [0, 2])
def test_order_for_a_seed(workers):
    torch.manual_seed(7)
    loader = data.DataLoader(range(8), 3, shuffle=True, num_workers=workers)
    assert numbers(loader) == [[7, 0, 3], [1, 6, 2], [5, 4]]
    assert numbers(loader) == [[1, 0, 7], [3, 4, 6], [5, 2]]
    generator = torch.Generator().manual_seed(7)
    loader = data.DataLoader(range(8), 4, shuffle=True, generator=generator, num_workers=workers)
    assert numbers(loader) == [[1, 2, 3, 5], [7, 4, 6, 0]]


PROGRAM = """
import importlib, json, random, sys
import numpy
library, workers, persistent = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "True"
torch = importlib.import_module(library)
data = importlib.import_module(library + ".utils.data")

class Numbers(data.Dataset):
    def __len__(self):
        return 23
    def __getitem__(self, index):
        draw = torch.rand(1).item(), random.random(), numpy.random.rand()
        return index, *draw

class Stream(data.IterableDataset):
    def __iter__(self):
        info = data.get_worker_info()
        for value in range(7):
            yield value + (100 * info.id if info else 0)

def run(dataset, **options):
    loader = data.DataLoader(dataset, num_workers=workers, persistent_workers=persistent, **options)
    for _ in range(2):
        for batch in loader:
            results.append([part.tolist() for part in batch])

results = []
random.seed(0)
numpy.random.seed(0)
torch.manual_seed(11)
weights = [float(i + 1) for i in range(23)]
run(Numbers(), batch_size=4)
run(Numbers(), batch_size=4, shuffle=True)
run(Numbers(), batch_size=4, shuffle=True, drop_last=True)
run(Numbers(), batch_size=5, sampler=data.WeightedRandomSampler(weights, 12))
run(Numbers(), batch_size=5, sampler=data.RandomSampler(range(23), True, 9))
run(Numbers(), batch_sampler=data.BatchSampler(data.SubsetRandomSampler(range(3, 9)), 4, False))
run(Numbers(), batch_size=3, shuffle=True, generator=torch.Generator().manual_seed(5))
first, second = data.random_split(Numbers(), [0.25, 0.75])
run(first, batch_size=4)
run(second, batch_size=4, shuffle=True)
run(Stream(), batch_size=3, collate_fn=lambda batch: [torch.tensor(batch)])
results.append(torch.rand(3).tolist())
json.dump(results, sys.stdout)
"""


@pytest.mark.parametrize(
    ("workers", "persistent"), [(0, False), (2, False), (2, True)], ids=("0", "2", "2 persistent")
)
def test_same_as_torch(torch_gives, workers, persistent):
    def batches(library):
        arguments = [library.__name__, str(workers), str(persistent)]
        command = [sys.executable, "-c", PROGRAM, *arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    assert batches(torch) == torch_gives(batches)


def test_random_numbers_of_workers_are_fixed_by_the_seed():
    def run():
        torch.manual_seed(1)
        loader = data.DataLoader(datasets.RandomNumbers(4), 2, num_workers=2)
        return values(loader)

    first = run()
    assert first == run()
    assert first[0][0] != first[1][0]
    # torch's numbers for this seed
    assert first[0][0][0] == pytest.approx([0.5113104581832886, 0.2310420274734497])
    assert first[0][1][0] == pytest.approx(0.4495910966205341)
    assert first[1][2][0] == pytest.approx([0.49401011740198875, 0.7704628272085052])


def test_random_numbers_of_this_process_are_left_alone():
    random.seed(3)
    numpy.random.seed(3)
    expected = random.random(), numpy.random.rand()
    random.seed(3)
    numpy.random.seed(3)
    list(data.DataLoader(range(3), num_workers=2))
    assert (random.random(), numpy.random.rand()) == expected


@pytest.mark.filterwarnings("ignore:This DataLoader will create 3 worker processes")
@pytest.mark.parametrize("workers", [0, 1, 3])
def test_iterable_dataset(workers):
    loader = data.DataLoader(datasets.Shards(11), batch_size=2, num_workers=workers)
    batches = numbers(loader)
    assert sorted(value for batch in batches for value in batch) == list(range(11))
    if workers == 3:
        assert batches == [[0, 3], [1, 4], [2, 5], [6, 9], [7, 10], [8]]


def test_persistent_workers():
    loader = data.DataLoader(
        datasets.Shards(11), batch_size=2, num_workers=2, persistent_workers=True
    )
    expected = numbers(loader)
    pids = [worker.pid for worker in loader._iterator._workers]
    for _ in range(2):
        assert numbers(loader) == expected
        assert [worker.pid for worker in loader._iterator._workers] == pids
    batches = iter(loader)
    next(batches)  # an epoch that is left early does not show in the next
    assert numbers(loader) == expected


def test_single_samples():
    loader = data.DataLoader(datasets.Squares(3), batch_size=None, num_workers=1)
    assert [(x.tolist(), y) for x, y in loader] == [
        ([0.0, 0.0], 0),
        ([1.0, 1.0], 1),
        ([2.0, 2.0], 4),
    ]


@pytest.mark.parametrize("collate", [datasets.plus_ten, datasets.ragged, datasets.first])
def test_memory_is_not_used_again_while_a_batch_lives(collate):
    def run(workers):
        loader = data.DataLoader(
            datasets.Images(60), 3, num_workers=workers, collate_fn=collate, prefetch_factor=None
        )
        return list(loader)

    for ours, expected in zip(run(2), run(0), strict=True):
        ours = ours[0] if isinstance(ours, tuple) else ours
        expected = expected[0] if isinstance(expected, tuple) else expected
        assert torch.equal(ours, expected)


def test_memory_is_used_again():
    loader = data.DataLoader(datasets.Images(120), 4, num_workers=1)
    addresses = {images.data_ptr() for images, _ in loader}
    assert len(addresses) < 8


def test_a_batch_that_was_sent_on_is_not_overwritten():
    loader = iter(data.DataLoader(datasets.Images(160), 4, num_workers=1))
    queue = torch.multiprocessing.SimpleQueue()
    queue.put(next(loader)[0])
    received = queue.get()
    for _ in loader:
        pass
    assert received[:, 0, 0, 0].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_batch_that_a_forked_process_has_is_not_overwritten():
    process_context = torch.multiprocessing.get_context("fork")
    batches = iter(data.DataLoader(datasets.Images(160), 4, num_workers=1))
    images, _ = next(batches)
    go_on, answer = process_context.Event(), process_context.SimpleQueue()

    def look(images):
        go_on.wait()
        answer.put(images[:, 0, 0, 0].tolist())

    process = process_context.Process(target=look, args=(images,))
    process.start()
    del images
    for _ in batches:
        pass
    go_on.set()
    assert answer.get() == [0.0, 1.0, 2.0, 3.0]
    process.join()


def test_a_worker_may_keep_what_it_sent():
    loader = data.DataLoader(datasets.KeepsBatches(), None, num_workers=1)
    shapes = [tuple(image.shape) for image in loader]
    assert shapes == [(3, 64, 64), (1, 64, 64)] * 3


def test_batches_are_shared_memory():
    images, labels = next(iter(data.DataLoader(datasets.Images(4), 4, num_workers=1)))
    assert images.is_shared()
    assert labels.tolist() == [0, 1, 2, 3]


def test_out_of_order():
    loader = data.DataLoader(range(12), 2, num_workers=2, in_order=False)
    assert sorted(map(tuple, numbers(loader))) == [(i, i + 1) for i in range(0, 12, 2)]


def test_worker_init_fn_and_info():
    loader = data.DataLoader(datasets.Shards(4), num_workers=2, worker_init_fn=datasets.set_offset)
    assert sorted(numbers(loader)) == [[0], [1], [2], [3]]
    assert data.get_worker_info() is None


def test_large_index_lists_do_not_block():
    batches = [list(range(200_000))] * 6
    loader = data.DataLoader(range(200_000), batch_sampler=batches, num_workers=2)
    assert [len(batch) for batch in loader] == [200_000] * 6


def test_many_tensors_in_a_message():
    class Many(data.Dataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return [torch.full((5000,), float(i)) for i in range(300)]

    for sample in data.DataLoader(Many(), None, num_workers=1):
        assert [tensor[0].item() for tensor in sample] == list(map(float, range(300)))


def test_warnings():
    with pytest.warns(UserWarning, match="This DataLoader will create 1000 worker processes"):
        data.DataLoader(range(3), num_workers=1000)

    class Wrong(datasets.Shards):
        def __len__(self):
            return 2

    loader = data.DataLoader(Wrong(4))
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="was reported to be 2.*but 3 samples have been fetched"):
        list(loader)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"num_workers": -1}, "num_workers option should be non-negative"),
        ({"timeout": -1}, "timeout option should be non-negative"),
        ({"prefetch_factor": 2}, "prefetch_factor option could only be specified in multiproc"),
        ({"prefetch_factor": -2, "num_workers": 1}, "prefetch_factor option should be non-neg"),
        ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
        ({"sampler": [1], "shuffle": True}, "sampler option is mutually exclusive with shuffle"),
        ({"batch_sampler": [[1]], "batch_size": 2}, "batch_sampler option is mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, "batch_size=None option disables auto-batch"),
        ({"batch_size": 0}, "batch_size should be a positive integer value"),
        ({"multiprocessing_context": "fork"}, "multiprocessing_context can only be used with"),
        ({"multiprocessing_context": "x", "num_workers": 1}, "should specify a valid start method"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_mistakes(options, error):
    with pytest.raises(ValueError, match=error):
        data.DataLoader([1, 2, 3], **options)


@pytest.mark.parametrize("name", ["shuffle", "sampler", "batch_sampler"])
def test_mistakes_with_iterable_datasets(name):
    with pytest.raises(ValueError, match=f"expected unspecified {name} option, but got {name}="):
        data.DataLoader(datasets.Shards(), **{name: True})


def test_fixed_attributes():
    loader = data.DataLoader([1, 2])
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoad"):
        loader.batch_size = 3
    loader.collate_fn = sum
    assert list(loader) == [1, 2]
