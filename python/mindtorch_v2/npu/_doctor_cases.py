"""What the doctor runs for an op: the examples of its definition, on the names below."""

PRELUDE = """
>>> x = torch.tensor([[3.0, 1.0, 2.0], [9.0, 7.0, 8.0]])
>>> i = torch.tensor([1, 3, 3, 2, 1])
>>> rows = torch.tensor([1, 0])
>>> places = torch.tensor([[0, 1, 1], [1, 0, 0]])
>>> F = torch.nn.functional
>>> grad = torch.autograd.grad
>>> image = torch.arange(32.0).view(2, 1, 4, 4).requires_grad_()
>>> volume = image.view(1, 2, 2, 2, 4)
>>> gates = (torch.arange(24.0).view(8, 3) / 24).requires_grad_()
>>> state = torch.zeros(1, 1, 2)
>>> kernel = torch.arange(4.0).view(1, 1, 2, 2).requires_grad_()
>>> heads = (torch.arange(64.0).view(2, 2, 16) / 32).requires_grad_()
"""

# By type: what the ops over lists of tensors get.
_LIST_ARGUMENTS = {
    "Tensor[]": "[x.clone()]",
    "Scalar": "2",
    "Scalar[]": "[2]",
    "Tensor": "torch.tensor(2.0)",
}


def _list_example(op):
    """Of an op over lists: what it gives, and what it has made of its first argument."""
    types = [param["type"] for param in op["params"] if not param["keyword_only"]]
    given = [_LIST_ARGUMENTS[each] for each in types if each in _LIST_ARGUMENTS]
    if op["name"].startswith("_foreach_addc") and types[-1] == "Tensor":
        given[-1] = "torch.tensor([2.0], device='cpu')"  # the numbers of all tensors
    first, *others = given
    if first != _LIST_ARGUMENTS["Tensor[]"]:
        return f">>> torch.{op['name']}({', '.join(given)})\n"
    call = ", ".join(["tensors", *others])
    return f">>> tensors = {first}\n>>> torch.{op['name']}({call})\n>>> tensors\n"


def example(op):
    """A text of examples for an op; empty if there is none."""
    if op["device_example"]:
        return f"{PRELUDE}>>> {op['device_example']}\n"
    return PRELUDE + _list_example(op) if op["name"].startswith("_foreach_") else op["example"]
