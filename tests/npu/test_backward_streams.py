"""Backward on several streams: whatever ran on which, backward() is one call on the stream it is
called on. The simulator's race check, which every test of this folder ends with, sees the rest."""

import contextlib
import random

import pytest


def streams_of(torch, count, device=0):
    return [torch.npu.current_stream(device), *(torch.npu.Stream(device) for _ in range(count - 1))]


def handed(torch, tensor, stream, makers):
    """The tensor, for work that comes on `stream`: what a program does itself in forward."""
    if (maker := makers[id(tensor)]) != stream:
        stream.wait_stream(maker)
        tensor.record_stream(stream)
    return tensor


def test_a_gradient_goes_from_stream_to_stream(torch):
    main, side = streams_of(torch, 2)
    x = torch.arange(4.0, device="npu", requires_grad=True)
    side.wait_stream(main)
    with torch.npu.stream(side):
        y = (x * 2).exp()
    main.wait_stream(side)
    (y * 3).sum().backward()
    expected = (torch.arange(4.0) * 2).exp() * 6
    torch.testing.assert_close(x.grad.cpu(), expected)


def test_the_caller_waits_for_leaves_of_other_streams(torch):
    main, side = streams_of(torch, 2)
    side.wait_stream(main)
    with torch.npu.stream(side):
        x = torch.arange(4.0, device="npu", requires_grad=True)
        loss = (x * x).sum()
    main.wait_stream(side)
    loss.backward()  # begins with a gradient of the main stream
    assert x.grad.mul_(2).tolist() == [0, 4, 8, 12]
    loss = (x * 2).sum()
    side.wait_stream(main)
    with torch.npu.stream(side):
        loss.backward()
        assert x.grad.tolist() == [2, 6, 10, 14]


def test_two_streams_add_to_one_gradient(torch):
    main, *sides = streams_of(torch, 3)
    x = torch.arange(4.0, device="npu", requires_grad=True)
    y = x.exp()
    parts = []
    for side in sides:
        side.wait_stream(main)
        with torch.npu.stream(side):
            parts.append(y * len(parts) + y)
            y.record_stream(side)
    for part, side in zip(parts, sides, strict=True):
        main.wait_stream(side)
        part.record_stream(main)
    (parts[0] * parts[1]).sum().backward()
    torch.testing.assert_close(x.grad.cpu(), 4 * torch.arange(4.0).mul(2).exp())


def test_one_gradient_that_two_streams_read_is_not_written(torch):
    """a and y get the same memory, and only y's owner is left when y's next gradient comes."""
    main, side = streams_of(torch, 2)
    x, w = (torch.full((4,), 0.5, device="npu", requires_grad=True) for _ in range(2))
    y = w * 1
    three = y * 3
    side.wait_stream(main)
    with torch.npu.stream(side):
        a = x.exp()
    main.wait_stream(side)
    a.record_stream(main)
    s = a + y
    ((s * s).sum() + three.sum()).backward()
    torch.testing.assert_close(w.grad.cpu(), 2 * (torch.full((4,), 0.5).exp() + 0.5) + 3)


@pytest.mark.parametrize("captured", [False, True])
def test_captured_and_retained_gradients_may_be_used_at_once(torch, captured):
    main, side = streams_of(torch, 2)
    x = torch.arange(4.0, device="npu", requires_grad=True)
    side.wait_stream(main)
    with torch.npu.stream(side):
        y = x * 2
        loss = (y * y).sum()
    main.wait_stream(side)
    if captured:
        (grad,) = torch.autograd.grad(loss, y)
    else:
        y.retain_grad()
        loss.backward()
        grad = y.grad
    assert grad.add_(1).tolist() == [1, 5, 9, 13]


def test_memory_of_gradients_is_not_given_away_too_early(torch, simulator):
    """A gradient of the side stream is read on the main one, and freed while that still reads."""
    main, side = streams_of(torch, 2)
    side.wait_stream(main)
    with torch.npu.stream(side):
        x = torch.ones(1000, device="npu", requires_grad=True)
        loss = (x * 3).sum()
    main.wait_stream(side)
    simulator.hang(main)
    loss.backward()
    seen = x.grad * 2
    x.grad = None
    with torch.npu.stream(side):
        torch.zeros(1000, device="npu")  # without the rule: into the memory that is still read
    simulator.release()
    assert seen.tolist() == [6] * 1000


@pytest.mark.parametrize("custom", [False, True])
def test_memory_that_backward_frees_is_not_given_away_too_early(torch, custom):
    """The side stream's node is the last to hold x, which the main stream may have again."""
    main, side = streams_of(torch, 2)

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            return grad * b, grad * a

    w, u = (torch.ones(5000, device="npu", requires_grad=True) for _ in range(2))
    early = (u * 3).exp()
    x = torch.full((5000,), 2.0, device="npu")
    side.wait_stream(main)
    with torch.npu.stream(side):
        y = Product.apply(w, x) if custom else w * x
    main.wait_stream(side)
    del x
    (y.sum() + early.sum()).backward()
    assert w.grad.tolist() == [2] * 5000


def test_hooks_run_on_the_stream_of_the_node(torch):
    main, side = streams_of(torch, 2)
    x = torch.ones(4, device="npu", requires_grad=True)
    seen = []

    def note(*_):
        seen.append(torch.npu.current_stream() == side)

    side.wait_stream(main)
    with torch.npu.stream(side):
        y = x * 2
        y.register_hook(note)
        y.grad_fn.register_prehook(note)
        y.grad_fn.register_hook(note)
        x.register_hook(note)
        x.register_post_accumulate_grad_hook(note)
    main.wait_stream(side)
    y.sum().backward()
    assert seen == [True] * 5
    assert torch.npu.current_stream() == main


def test_functions_of_python_run_on_the_stream_of_their_forward(torch):
    main, side = streams_of(torch, 2)
    seen = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seen.append(torch.npu.current_stream() == side)
            return grad * 2

    x = torch.ones(4, device="npu", requires_grad=True)
    side.wait_stream(main)
    with torch.npu.stream(side):
        y = Double.apply(x)
    main.wait_stream(side)
    (y * 3).sum().backward()
    assert seen == [True] and x.grad.tolist() == [6, 6, 6, 6]


def test_writes_to_views_run_on_their_stream(torch):
    main, side = streams_of(torch, 2)
    x = torch.arange(4.0, device="npu", requires_grad=True)
    y = x * 1
    side.wait_stream(main)
    with torch.npu.stream(side):
        y[1:3].mul_(2)
        y.record_stream(side)
    main.wait_stream(side)
    (y * 3).sum().backward()
    assert x.grad.tolist() == [3, 6, 6, 3]


def test_two_devices_with_two_streams_each(torch):
    main, side = streams_of(torch, 2)
    other = torch.npu.Stream("npu:1")
    x = torch.arange(4.0, device="npu", requires_grad=True)
    side.wait_stream(main)
    with torch.npu.stream(side), torch.npu.stream(other):
        y = (x * 2).to("npu:1") * 3
    main.wait_stream(side)
    torch.npu.current_stream(1).wait_stream(other)
    (y.to("npu:0") * x).sum().backward()
    assert x.grad.tolist() == [0, 12, 24, 36]


def test_sparse_gradients_and_batched_ones(torch):
    main, side = streams_of(torch, 2)
    weight = torch.ones(5, 2, device="npu", requires_grad=True)
    places = torch.tensor([0, 3, 3], device="npu")
    side.wait_stream(main)
    with torch.npu.stream(side):
        rows = torch.nn.functional.embedding(places, weight, sparse=True)
    main.wait_stream(side)
    (rows * 2).sum().backward()
    assert weight.grad.to_dense()[:, 0].tolist() == [2, 0, 0, 4, 0]
    x = torch.arange(4.0, device="npu", requires_grad=True)
    side.wait_stream(main)
    with torch.npu.stream(side):
        y = x * x
    main.wait_stream(side)
    z = y * 2
    rows = torch.eye(4, device="npu")
    (jacobian,) = torch.autograd.grad(z, x, rows, is_grads_batched=True)
    assert jacobian.diagonal().tolist() == [0, 4, 8, 12]


def test_one_stream_costs_no_events(torch, called):
    def step():
        x = torch.ones(4, device="npu", requires_grad=True)
        ((x * 2).exp() + x).sum().backward()

    step()
    names = called(step)
    assert not any("Event" in name for name in names), names
    side = torch.npu.Stream()
    with torch.npu.stream(side):
        step()
        names = called(step)
    assert not any("Event" in name for name in names), names


def test_a_pipeline_on_one_stream_is_one_window(torch, simulator):
    side = torch.npu.Stream()
    with torch.npu.stream(side), torch.pipeline() as pipe:
        x = torch.ones(4, device="npu", requires_grad=True)
        ((x * 2).exp() + x).sum().backward()
        assert x.grad._pending and not pipe.last_flush_reason


class Program:
    """Random ops on random streams, correct by itself; twice forward and backward."""

    def __init__(self, torch, seed, count):
        self.torch, self.random = torch, random.Random(seed)
        self.steps = []
        known = 3
        for _ in range(self.random.randint(4, 14)):
            kind = self.random.choice(["mul", "add", "tanh", "write", "function", "cat"])
            inputs = [self.random.randrange(known) for _ in range(2)]
            self.steps.append((kind, inputs, self.random.randrange(count)))
            known += 1
        self.callers = [self.random.randrange(count) for _ in range(2)]
        self.captures = self.random.random() < 0.3
        self.made_on = [self.random.randrange(count) for _ in range(3)]

    def op(self, kind, a, b):
        torch = self.torch

        class Half(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                ctx.save_for_backward(a)
                return (a + b) / 2

            @staticmethod
            def backward(ctx, grad):
                (a,) = ctx.saved_tensors
                grad = grad / 2
                return grad + a * 0, grad

        if kind == "mul":
            return a * b
        if kind == "add":
            return a + b
        if kind == "tanh":
            return a.tanh()
        if kind == "write":
            made = a * 1
            made[1:3].mul_(b[1:3])
            return made
        if kind == "cat":
            return torch.cat([a[:2], b[2:]])
        return Half.apply(a, b)

    def run(self, device, streams):
        torch = self.torch
        makers = {}

        def on(stream):
            return torch.npu.stream(streams[stream]) if streams else contextlib.nullcontext()

        def take(tensor, stream):
            return handed(torch, tensor, streams[stream], makers) if streams else tensor

        def made(tensor, stream):
            if streams:
                makers[id(tensor)] = streams[stream]
            return tensor

        leaves = []
        for i, stream in enumerate(self.made_on):
            with on(stream):
                leaf = torch.full((4,), 0.5 + i / 4, device=device, requires_grad=True)
                leaves.append(made(leaf, stream))
        found = []
        for caller in self.callers:
            values = list(leaves)
            for kind, inputs, stream in self.steps:
                with on(stream):
                    taken = [take(values[i], stream) for i in inputs]
                    values.append(made(self.op(kind, *taken), stream))
            with on(caller):
                loss = sum(take(v, caller).sum() for v in values)
                if self.captures:
                    grads = torch.autograd.grad(loss, leaves)
                else:
                    loss.backward()
                    grads = [leaf.grad.mul_(0.5) for leaf in leaves]
                found += [grad.cpu().clone() for grad in grads]
                # The next pass writes to these on other streams: the program orders that itself.
                for other in streams or []:
                    other.wait_stream(streams[caller])
        return found


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("pipeline", [False, True])
def test_programs(torch, count, seed, pipeline):
    program = Program(torch, seed, count)
    expected = program.run("cpu", None)
    with torch.pipeline() if pipeline else contextlib.nullcontext():
        found = program.run("npu", streams_of(torch, count))
    for got, want in zip(found, expected, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
