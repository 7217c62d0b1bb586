"""Eight threads on two devices."""

import threading

import pytest


def run_threads(count, work):
    problems = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


@pytest.mark.parametrize("own_stream", [False, True])
def test_threads_compute_side_by_side(torch, own_stream):
    inputs = [torch.randn(16, 16) for _ in range(8)]
    expected = [((x @ x).tanh() + x).sum(0) for x in inputs]

    def work(number):
        device = f"npu:{number % 2}"
        torch.npu.set_device(device)
        assert torch.npu.current_device() == number % 2
        stream = torch.npu.Stream() if own_stream else torch.npu.default_stream()
        with torch.npu.stream(stream):
            for _ in range(25):
                x = inputs[number].to(device)
                y = ((x @ x).tanh() + x).sum(0)
                assert y.device == torch.device(device)
                torch.testing.assert_close(y.cpu(), expected[number], rtol=1e-4, atol=1e-4)

    run_threads(8, work)


def test_every_thread_has_its_own_current_device(torch):
    torch.npu.set_device(0)
    ready = threading.Barrier(4)

    def work(number):
        torch.npu.set_device(number % 2)
        ready.wait()
        assert torch.npu.current_device() == number % 2
        assert torch.ones(2, device="npu").device == torch.device("npu", number % 2)

    run_threads(4, work)
    assert torch.npu.current_device() == 0


def test_a_tensor_goes_from_thread_to_thread(torch):
    """One thread makes it on its stream, the other waits for that stream's event."""
    for _ in range(20):
        event, box = torch.npu.Event(), []

        def produce(number, event=event, box=box):
            side = torch.npu.Stream()
            with torch.npu.stream(side):
                box.append(torch.full((64,), 3.0, device="npu") * 2)
                event.record()

        run_threads(1, produce)
        consumer = torch.npu.Stream()
        with torch.npu.stream(consumer):
            consumer.wait_event(event)
            assert box[0].sum().item() == 384


def test_threads_plan_the_same_call(torch):
    """Plans of one stream serve one thread at a time."""
    x = torch.randn(32, 32)
    y = x.to("npu")
    expected = x * x + x

    def work(number):
        for _ in range(200):
            z = y * y + y
        assert torch.equal(z.cpu(), expected)

    run_threads(8, work)
