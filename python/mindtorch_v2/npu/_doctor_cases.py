"""What the doctor runs for ops that have no example of their own."""

PRELUDE = """
>>> x = torch.tensor([[3.0, 1.0, 2.0], [9.0, 7.0, 8.0]])
>>> i = torch.tensor([1, 3, 3, 2, 1])
>>> rows = torch.tensor([1, 0])
>>> places = torch.tensor([[0, 1, 1], [1, 0, 0]])
>>> heads = torch.arange(64.0).view(2, 2, 16) / 32
"""

CASES = {
    "_index": "x[rows]",
    "_index_put_": "x.index_put((rows,), torch.tensor(5.0))",
    "_masked_fill": "x.masked_fill(x > 2, 0.0)",
    "_masked_select": "x.masked_select(x > 2)",
    "_pointwise": "torch._C._internal_functions['_pointwise']("
    "[x, x], 0, [], torch.float32, torch.float32)",
    "_scaled_dot_product_flash_attention": "F.scaled_dot_product_attention(heads, heads, heads)",
    "_scaled_dot_product_flash_attention_backward": "torch.autograd.functional.vjp("
    "lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), heads, heads)",
    "_tensordot": "torch.tensordot(x, x, dims=([1], [1]))",
    "_to_copy": "x.to(torch.float16)",
    "_unique2": "i.unique(return_inverse=True, return_counts=True)",
    "_unique_consecutive": "i.unique_consecutive()",
    "alias": "x.detach()",
    "arange.start_step": "torch.arange(1, 9, 3)",
    "argsort.stable": "i.argsort(stable=True)",
    "bernoulli.p": "torch.bernoulli(x, 0.5)",
    "bernoulli_.float": "x.clone().bernoulli_(0.5)",
    "clamp_max.Tensor": "x.clamp_max(torch.tensor([4.0, 2.0, 1.0]))",
    "clamp_min.Tensor": "x.clamp_min(torch.tensor([4.0, 2.0, 1.0]))",
    "div.Tensor_mode": "torch.div(x, torch.tensor(2.0), rounding_mode='floor')",
    "eye.m": "torch.eye(2, 3)",
    "index.Tensor": "x[rows, rows]",
    "linalg_vector_norm": "torch.linalg.vector_norm(x)",
    "max.dim": "x.max(1)",
    "median.dim": "x.median(1)",
    "min.dim": "x.min(1)",
    "nanmedian.dim": "x.nanmedian(1)",
    "nonzero_numpy": "i.nonzero(as_tuple=True)",
    "normal.Tensor_float": "torch.normal(x, 1.0)",
    "normal.float_Tensor": "torch.normal(0.0, x)",
    "normal.float_float": "torch.normal(0.0, 1.0, (2, 3))",
    "randint.low": "torch.randint(2, 5, (3,))",
    "randint_like.low_dtype": "torch.randint_like(i, 2, 5)",
    "random_.from": "i.clone().random_(2, 5)",
    "random_.to": "i.clone().random_(5)",
    "round.decimals": "x.round(decimals=1)",
    "scatter_.reduce": "x.scatter(0, places, x, reduce='add')",
    "scatter_.value": "x.scatter(0, places, 1.5)",
    "scatter_.value_reduce": "x.scatter(0, places, 2.0, reduce='multiply')",
    "slice.Tensor": "x[:, 1:3]",
    "sort.stable": "i.sort(stable=True)",
    "std": "x.std(False)",
    "std.dim": "x.std(1, unbiased=False)",
    "std_mean": "torch.std_mean(x, False)",
    "std_mean.dim": "torch.std_mean(x, 1, unbiased=False)",
    "tensor_split.tensor_indices_or_sections": "x.tensor_split(rows.cpu().sort().values, 1)",
    "unique_dim": "x.unique(dim=0)",
    "var": "x.var(False)",
    "var.dim": "x.var(1, unbiased=False)",
    "var_mean": "torch.var_mean(x, False)",
    "var_mean.dim": "torch.var_mean(x, 1, unbiased=False)",
    "view.dtype": "x.view(torch.int32)",
    "where": "torch.where(x > 2)",
}


def example(op):
    """A text of examples for an op: its own, or one from here; empty if there is none."""
    own = CASES.get(op["full_name"])
    return f"{PRELUDE}>>> {own}\n" if own else op["example"]
