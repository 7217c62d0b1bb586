"""scaled_dot_product_attention: CANN's op where it takes the call, other ops where not."""

import pytest

FORWARD, BACKWARD = "aclnnFlashAttentionScore", "aclnnFlashAttentionScoreGrad"
MASKS = {
    "truths": lambda torch: torch.arange(40 * 48).view(40, 48) % 3 != 0,
    "truths by batch": lambda torch: torch.arange(2 * 48).view(2, 1, 1, 48) % 3 != 0,
    "truths by head": lambda torch: torch.arange(4 * 40 * 48).view(1, 4, 40, 48) % 5 != 0,
    "nothing to see": lambda torch: torch.arange(40).view(40, 1) % 3 != 0,
    "numbers": lambda torch: (torch.arange(40 * 48) % 7).view(40, 48) / 4,
}
FOUR = ((2, 4, 40, 16), (2, 4, 48, 16), (2, 4, 48, 16))
SHARED = ((2, 4, 40, 16), (2, 2, 48, 16), (2, 2, 48, 16))
# Shapes, options, the mask, and whether CANN's op takes it.
CALLS = {
    "plain": (FOUR, {}, None, True),
    "scaled": (FOUR, {"scale": 0.2}, None, True),
    "causal": (FOUR, {"is_causal": True}, None, True),
    "shared heads": (SHARED, {"enable_gqa": True}, None, True),
    "shared heads, causal": (SHARED, {"enable_gqa": True, "is_causal": True}, None, True),
    "three dims": (tuple(shape[1:] for shape in FOUR), {}, None, True),
    "two dims": (tuple(shape[2:] for shape in FOUR), {}, None, True),
    "truths": (FOUR, {}, "truths", True),
    "truths by batch": (FOUR, {}, "truths by batch", True),
    "truths by head": (FOUR, {}, "truths by head", True),
    "truths of shared heads": (SHARED, {"enable_gqa": True}, "truths by head", True),
    "nothing to see": (FOUR, {}, "nothing to see", True),
    "numbers": (FOUR, {}, "numbers", False),
    "numbers of shared heads": (SHARED, {"enable_gqa": True}, "numbers", False),
    "causal and truths": (FOUR, {"is_causal": True}, "truths", False),
    "odd heads": (((2, 4, 40, 6), (2, 4, 48, 6), (2, 4, 48, 6)), {}, None, False),
    "odd shared heads": (((2, 4, 40, 6), (2, 2, 48, 6), (2, 2, 48, 6)),
                         {"enable_gqa": True, "is_causal": True}, None, False),
    "wide values": (((2, 4, 40, 16), (2, 4, 48, 16), (2, 4, 48, 32)), {}, None, False),
    "five dims": (((1, 2, 4, 40, 16), (1, 2, 4, 48, 16), (1, 2, 4, 48, 16)), {}, None, False),
}  # fmt: skip


def operands(torch, shapes, dtype, device):
    made = []
    for number, shape in enumerate(shapes):
        torch.manual_seed(number)
        made.append(torch.randn(shape).to(dtype).to(device).requires_grad_())
    return made


def attend(torch, tensors, options, mask):
    if mask is not None:
        mask = MASKS[mask](torch).to(tensors[0].device)
    return torch.nn.functional.scaled_dot_product_attention(*tensors, mask, **options)


def results(torch, shapes, options, mask, dtype, device):
    tensors = operands(torch, shapes, dtype, device)
    result = attend(torch, tensors, options, mask)
    torch.manual_seed(9)
    result.backward(torch.randn(result.shape).to(dtype).to(device))
    return [each.detach().cpu().float() for each in (result, *(x.grad for x in tensors))]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", CALLS)
def test_like_the_cpu(torch, name, dtype):
    shapes, options, mask, _ = CALLS[name]
    near = {"float32": 1e-5, "float16": 6e-3, "bfloat16": 5e-2}[dtype]
    wanted, found = (
        results(torch, shapes, options, mask, getattr(torch, dtype), device)
        for device in ("cpu", "npu")
    )
    for got, want in zip(found, wanted, strict=True):
        torch.testing.assert_close(got, want, rtol=near, atol=near)


@pytest.mark.parametrize("name", CALLS)
def test_launches(torch, called, name):
    """One in each direction, beside those that make a mask as CANN wants it."""
    shapes, options, mask, fused = CALLS[name]
    tensors = operands(torch, shapes, torch.float16, "npu")
    made = []

    def launches(action):
        action()  # plans are made
        names = called(action)
        return [name for name in names if name.startswith("aclnn") and "Workspace" not in name]

    def forward():
        made.append(attend(torch, tensors, options, mask))

    def backward():
        torch.autograd.grad(made.pop(), tensors, grad)

    grad = torch.ones(*shapes[0][:-1], shapes[2][-1], dtype=torch.float16, device="npu")
    for action, op in ((forward, FORWARD), (backward, BACKWARD)):
        found = launches(action)
        assert found.count(op) == fused
        if fused and mask is None:
            assert found == [op]
        elif fused:
            assert found == ["aclnnLogicalNot", op]


@pytest.mark.parametrize("name", [name for name in CALLS if name != "causal and truths"])
def test_dropout_stays_inside(torch, called, name):
    """A mask is drawn once, and CANN's op reads it in both directions."""
    shapes, options, mask, fused = CALLS[name]
    tensors = operands(torch, shapes, torch.float16, "npu")
    made = []

    def launches(action):
        names = called(action)
        return [name for name in names if name.startswith("aclnn") and "Workspace" not in name]

    def forward():
        made.append(attend(torch, tensors, {**options, "dropout_p": 0.25}, mask))

    def backward():
        torch.autograd.grad(made.pop(), tensors, grad)

    grad = torch.ones(*shapes[0][:-1], shapes[2][-1], dtype=torch.float16, device="npu")
    forward()  # what is made once is made
    for action, op in ((forward, FORWARD), (backward, BACKWARD)):
        found = launches(action)
        assert found.count(op) == fused
        assert found.count("aclnnDropoutGenMaskV2") == (op == FORWARD)
        others = {"aclnnDropoutGenMaskV2", op, *(["aclnnLogicalNot"] if mask else [])}
        assert set(found) <= others if fused else "aclnnDropoutDoMask" in found


def test_double_dropout(torch):
    """CANN multiplies no matrices of float64: that is what is refused, not the dropout."""
    tensors = operands(torch, FOUR, torch.float64, "npu")
    with pytest.raises(NotImplementedError, match="torch.float64"):
        attend(torch, tensors, {"dropout_p": 0.5}, None)


def test_layouts(torch):
    shapes, options, mask, _ = CALLS["causal"]
    wanted = results(torch, shapes, options, mask, torch.float32, "npu")
    tensors = [
        x.detach().transpose(1, 2).contiguous().transpose(1, 2).requires_grad_()
        for x in operands(torch, shapes, torch.float32, "npu")
    ]
    result = attend(torch, tensors, options, mask)
    assert result.stride() == tensors[0].stride()
    torch.manual_seed(9)
    result.backward(torch.randn(result.shape).to("npu"))
    for got, want in zip((result, *(x.grad for x in tensors)), wanted, strict=True):
        torch.testing.assert_close(got.detach().cpu(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["plain", "causal", "shared heads", "odd heads"])
def test_pipeline(torch, name):
    shapes, options, mask, _ = CALLS[name]
    eager = results(torch, shapes, options, mask, torch.float32, "npu")
    with torch.pipeline():
        recorded = results(torch, shapes, options, mask, torch.float32, "npu")
    for got, want in zip(recorded, eager, strict=True):
        assert torch.equal(got, want)


@pytest.mark.parametrize("sizes", [((2, 3, 0, 16), (2, 3, 5, 16)), ((2, 3, 4, 16), (2, 3, 0, 16)),
                                   ((0, 3, 4, 16), (0, 3, 5, 16))])  # fmt: skip
def test_empty(torch, sizes):
    query, key = sizes
    found = results(torch, (query, key, key), {}, None, torch.float32, "npu")
    for got, shape in zip(found, (query, query, key, key), strict=True):
        assert got.shape == shape and not got.any()


def test_causal_in_a_graph(torch):
    """A graph that is recorded before the first call makes its own mask."""
    shapes, options, _, _ = CALLS["causal"]
    tensors = [x.detach() for x in operands(torch, shapes, torch.float16, "npu")]
    stream = torch.npu.Stream()  # has no mask yet
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph, stream=stream):
        result = attend(torch, tensors, options, None)
    for step in range(2):
        tensors[0].mul_(step + 1)
        graph.replay()
        torch.testing.assert_close(result, attend(torch, tensors, options, None))


def test_the_causal_mask_takes_nothing_from_the_allocator(torch):
    """It is made once for a stream and stays: a segment with it could not be given back."""
    shapes, options, _, _ = CALLS["causal"]
    tensors = [x.detach() for x in operands(torch, shapes, torch.float16, "npu")]
    torch.npu.synchronize()
    before = torch.npu.memory_allocated()
    with torch.npu.stream(torch.npu.Stream()):
        attend(torch, tensors, options, None)
        torch.npu.synchronize()
    assert torch.npu.memory_allocated() == before
