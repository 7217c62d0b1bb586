"""Dropout inside scaled_dot_product_attention: what is dropped, once and again in backward.

A device may drop weights within its own kernel; whichever way, the result and its gradients are
those of the formula with the same weights dropped.
"""

import math

import mindtorch_v2 as torch
import pytest

attend = torch.nn.functional.scaled_dot_product_attention
P = 0.25
KEYS = 16
NEAR = {"float32": 2e-5, "float16": 8e-3, "bfloat16": 6e-2}

# The shapes of query and of key and value, and how they are attended to.
CALLS = {
    "plain": ((2, 3, 8, 16), (2, 3, KEYS, 16), {}),
    "causal": ((2, 3, 8, 16), (2, 3, KEYS, 16), {"is_causal": True}),
    "scaled": ((2, 3, 8, 16), (2, 3, KEYS, 16), {"scale": 0.1}),
    "truths": ((2, 3, 8, 16), (2, 3, KEYS, 16), {"attn_mask": "truths"}),
    "numbers": ((2, 3, 8, 16), (2, 3, KEYS, 16), {"attn_mask": "numbers"}),
    "shared heads": ((2, 6, 8, 16), (2, 2, KEYS, 16), {"enable_gqa": True}),
    "three dims": ((3, 8, 16), (3, KEYS, 16), {}),
    "two dims": ((8, 16), (KEYS, 16), {}),
    "odd heads": ((2, 3, 7, 5), (2, 3, KEYS, 5), {}),
    "odd shared heads": ((1, 4, 7, 5), (1, 2, KEYS, 5), {"enable_gqa": True, "is_causal": True}),
    "broadcast": ((2, 3, 8, 16), (1, 3, KEYS, 16), {}),
}


def values(shape, seed, dtype="float32"):
    numbers = torch.arange(math.prod(shape), device="cpu", dtype=torch.float64)
    return torch.sin(numbers * 1.7 + seed).reshape(shape).to(getattr(torch, dtype))


def here(tensor):
    return tensor.to(torch.get_default_device())


def mask_of(options, dtype):
    kind = options.get("attn_mask")
    if kind == "truths":
        return values((8, KEYS), 5) > -0.6
    return None if kind is None else values((8, KEYS), 5, dtype)


def operands(name, dtype):
    query, key, _ = CALLS[name]
    return [values(query, 1, dtype), values(key, 2, dtype), values(key, 3, dtype)]


def run(name, tensors, seed, p=P):
    options = dict(CALLS[name][2])
    mask = mask_of(options, str(tensors[0].dtype)[6:])
    if mask is not None:
        options["attn_mask"] = here(mask)
    torch.manual_seed(seed)
    return attend(*tensors, dropout_p=p, **options)


def scores_shape(name):
    query, key, _ = CALLS[name]
    return (*torch.broadcast_shapes(query[:-2], (*key[:-3], *query[-3:-2])), query[-2], KEYS)


def noise_of(name, seed, dtype="float32"):
    """0 for each weight that is dropped, and 1 / (1 - p) for the others: of queries that look at
    all keys alike, and values that tell which key they are of."""
    query, key, options = CALLS[name]
    q = here(torch.zeros(query, dtype=getattr(torch, dtype), device="cpu"))
    k = here(torch.zeros(key, dtype=q.dtype, device="cpu"))
    one = torch.eye(KEYS, dtype=q.dtype, device="cpu").expand(*key[:-2], KEYS, KEYS)
    torch.manual_seed(seed)
    seen = attend(q, k, here(one), dropout_p=P, enable_gqa=options.get("enable_gqa", False))
    return (seen.cpu() > 0).double() / (1 - P)


def formula(name, tensors, noise):
    """In float64, on the CPU, step by step."""
    options = CALLS[name][2]
    q, k, v = tensors
    if options.get("enable_gqa"):
        k, v = (x.repeat_interleave(q.size(-3) // x.size(-3), -3) for x in (k, v))
    scores = q @ k.mT * options.get("scale", q.size(-1) ** -0.5)
    if options.get("is_causal"):
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device="cpu").tril()
        scores = scores.masked_fill(~seen, -torch.inf)
    mask = mask_of(options, "float64")
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, -torch.inf)
    elif mask is not None:
        scores = scores + mask
    return scores.softmax(-1) * noise @ v


def gradients(result, leaves, create_graph=False):
    weight = values(result.shape, 9).to(result.dtype).to(result.device)
    return torch.autograd.grad(result, leaves, weight, create_graph=create_graph)


def check(got, want, dtype):
    for ours, theirs in zip(got, want, strict=True):
        near = NEAR[dtype]
        torch.testing.assert_close(
            ours.detach().cpu().double(), theirs.detach(), rtol=near, atol=near
        )


@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("name", CALLS)
def test_backward_drops_what_forward_dropped(name, dtype):
    given = operands(name, dtype)
    noise = noise_of(name, 7, dtype)
    assert 0 < (noise == 0).double().mean() < 1
    leaves = [here(x).requires_grad_() for x in given]
    result = run(name, leaves, 7)
    exact = [x.double().requires_grad_() for x in given]
    wanted = formula(name, exact, noise)
    assert result.dtype == given[0].dtype
    found = [result, *gradients(result, leaves)]
    check(found, [wanted, *gradients(wanted, exact)], dtype)


@pytest.mark.parametrize("name", CALLS)
def test_gradients_of_gradients(name):
    given = operands(name, "float32")
    noise = noise_of(name, 7)

    def second(leaves, result):
        first = gradients(result, leaves, create_graph=True)
        return torch.autograd.grad(sum((g * g).sum() for g in first), leaves)

    leaves = [here(x).requires_grad_() for x in given]
    exact = [x.double().requires_grad_() for x in given]
    wanted = second(exact, formula(name, exact, noise))
    for ours, theirs in zip(second(leaves, run(name, leaves, 7)), wanted, strict=True):
        torch.testing.assert_close(ours.cpu().double(), theirs, rtol=2e-4, atol=2e-4)


def test_gradient_of_the_mask():
    q, k, v = operands("numbers", "float32")
    mask, exact = mask_of({"attn_mask": "numbers"}, "float32"), None
    noise = noise_of("numbers", 3)
    leaf = here(mask).requires_grad_()
    torch.manual_seed(3)
    result = attend(here(q), here(k), here(v), leaf, dropout_p=P)
    exact = mask.double().requires_grad_()
    scores = q.double() @ k.double().mT * q.size(-1) ** -0.5 + exact
    wanted = scores.softmax(-1) * noise @ v.double()
    check(gradients(result, [leaf]), gradients(wanted, [exact]), "float32")


def test_one_seed_gives_one_result():
    tensors = [here(x) for x in operands("plain", "float32")]
    first, again, other = (run("plain", tensors, seed) for seed in (3, 3, 4))
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert not torch.equal(first, attend(*tensors, dropout_p=P))  # the next numbers


def test_the_mean_over_many_seeds():
    tensors = [here(x) for x in operands("plain", "float32")]
    seeds = 400
    mean = sum(run("plain", tensors, seed) for seed in range(seeds)) / seeds
    plain = attend(*tensors)
    # The deviation of one result is below 0.2: 1 / sqrt(seeds) of it, five times.
    torch.testing.assert_close(mean.cpu(), plain.cpu(), rtol=0, atol=0.05)
    kept = sum((noise_of("plain", seed) > 0).double().mean().item() for seed in range(40)) / 40
    assert abs(kept - (1 - P)) < 0.02  # of 40 * 768 weights


@pytest.mark.parametrize("dtype", NEAR)
def test_nothing_dropped_and_everything(dtype):
    tensors = [here(x).requires_grad_() for x in operands("plain", dtype)]
    state = generator().get_state()
    assert torch.equal(attend(*tensors, dropout_p=0.0), attend(*tensors))
    result = attend(*tensors, dropout_p=1.0)
    assert not result.any() and not any(g.any() for g in gradients(result, tensors))
    assert torch.equal(generator().get_state(), state)  # nothing is drawn


def generator():
    device = torch.get_default_device()
    if device.type == "cpu":
        return torch.default_generator
    return getattr(torch, device.type).default_generators[device.index or 0]


def test_the_generator_moves_on_as_by_dropout():
    """Both draw once: what comes afterwards is the same."""
    tensors = [here(x) for x in operands("plain", "float32")]
    weights = here(torch.ones(scores_shape("plain"), device="cpu"))
    torch.manual_seed(5)
    attend(*tensors, dropout_p=P)
    state, following = generator().get_state(), torch.rand(4)
    torch.manual_seed(5)
    torch.dropout(weights, P, True)
    assert torch.equal(generator().get_state(), state) and torch.equal(torch.rand(4), following)


def test_a_second_run_of_a_checkpoint_drops_the_same():
    leaves = [here(x).requires_grad_() for x in operands("causal", "float32")]
    plain = gradients(run("causal", leaves, 5), leaves)
    torch.manual_seed(5)
    result = torch.utils.checkpoint.checkpoint(
        lambda *x: attend(*x, dropout_p=P, is_causal=True), *leaves, use_reentrant=False
    )
    for ours, theirs in zip(gradients(result, leaves), plain, strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("name", CALLS)
def test_pipelines_draw_the_same(name):
    leaves = [here(x).requires_grad_() for x in operands(name, "float32")]

    def step():
        total = [torch.rand(3)]
        for _ in range(2):
            result = attend(*leaves, dropout_p=P) if not CALLS[name][2] else run(name, leaves, 2)
            total += [result, *gradients(result, leaves), torch.rand(2)]
        return total

    torch.manual_seed(11)
    eager = [x for _ in range(4) for x in step()]
    torch.manual_seed(11)
    recorded = []
    for _ in range(4):
        with torch.pipeline():
            recorded += step()
    for got, want in zip(recorded, eager, strict=True):
        torch.testing.assert_close(got.cpu(), want.cpu(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_batches_of_samples(randomness):
    q, k, v = (here(x) for x in operands("plain", "float32"))
    torch.manual_seed(1)
    found = torch.vmap(lambda q: attend(q, k[0], v[0], dropout_p=P), randomness=randomness)(q)
    assert found.shape == q.shape and not torch.equal(found, attend(q, k, v))
    with pytest.raises(RuntimeError, match="randomness error mode"):
        torch.vmap(lambda q: attend(q, k[0], v[0], dropout_p=P))(q)


def test_samples_of_one_gradient():
    """The gradients of many results at once are those of one after the other."""
    leaves = [here(x).requires_grad_() for x in operands("three dims", "float32")]
    result = run("three dims", leaves, 2)
    weights = here(torch.stack([values(result.shape, seed) for seed in range(3)]))
    each = [torch.autograd.grad(result, leaves, w, retain_graph=True) for w in weights]
    batched = torch.autograd.grad(result, leaves, weights, is_grads_batched=True)
    for i, got in enumerate(batched):
        want = torch.stack([grads[i] for grads in each])
        torch.testing.assert_close(got.cpu(), want.cpu(), rtol=1e-5, atol=1e-5)
