"""Calls whose dtypes autocast decides: `a` is (4, 4), `v` (4,), `i` and `j` images, `c` classes."""

PRODUCTS = """
a @ b
a.mm(b)
torch.mv(a, v)
torch.dot(v, v)
torch.addmm(a, a, b)
torch.addmv(v, a, v)
torch.addr(a, v, v)
torch.addbmm(a, i[0], i[0])
torch.baddbmm(i[0], i[0], i[0])
torch.bmm(i[0], i[0])
torch.chain_matmul(a, a, b)
torch.einsum("ij,jk->ik", a, b)
torch.tensordot(a, b, 1)
F.linear(a, b)
F.linear(a, b, v)
F.bilinear(a, a, i[0], None)
F.conv1d(i[0], i[0])
F.conv2d(i, i)
F.conv2d(i, i, padding="same")
F.conv3d(i[None], i[:, :, None].expand(4, 4, 1, 4, 4))
F.conv_transpose1d(i[0], i[0])
F.conv_transpose2d(i, i)
F.scaled_dot_product_attention(i, i, i)
torch.nn.GRUCell(4, 4)(a.float(), b.float())
"""

FUNCTIONS = """
a + b
a.exp()
a.pow(2)
a.abs().log()
a.softmax(0)
a.log_softmax(0)
a.sum()
a.sum(0)
a.prod()
a.prod(0)
a.cumsum(0)
a.cumprod(0)
a.norm()
a.mean()
a.trace()
a.tan()
a.reciprocal()
a.abs().rsqrt()
torch.cat([a, a.float()])
torch.stack([a, a.float()])
torch.cat([a, a])
torch.addcmul(a, a, a.float())
torch.addcdiv(a, a, a.float())
torch.atan2(a, a.float())
torch.dist(a, b)
torch.logsumexp(a, 0)
a.index_copy(0, torch.tensor([1]), a[:1])
a.index_put((torch.tensor([1]),), a[:1])
a.scatter_add(0, torch.zeros(4, 4, dtype=torch.int64), a)
F.relu(a)
F.gelu(a)
F.softplus(a)
F.prelu(a, v)
F.layer_norm(a, (4,))
F.layer_norm(a, (4,), v, v)
F.group_norm(i[0], 2)
F.batch_norm(i, torch.zeros(4), torch.ones(4))
F.rms_norm(a, (4,))
F.cosine_similarity(a, b)
F.pairwise_distance(a, b)
F.normalize(a)
F.dropout(a, 0.0)
F.embedding(c, a)
F.max_pool2d(i, 2)
F.avg_pool2d(i, 2)
F.max_pool3d(i[None], 2)
F.avg_pool3d(i[None], 2)
F.adaptive_avg_pool2d(i, 2)
F.adaptive_avg_pool3d(i[None], 2)
F.adaptive_max_pool3d(i[None], 2)
F.interpolate(i, scale_factor=2)
F.interpolate(i, scale_factor=2, mode="bilinear")
F.interpolate(i, scale_factor=2, mode="bicubic")
F.grid_sample(i, i[:, 0, :, :2][:, None], align_corners=False)
F.pad(i, (1, 1, 1, 1))
F.pad(i, (1, 1, 1, 1), mode="reflect")
F.pad(i, (1, 1, 1, 1), mode="replicate")
F.pad(i[0], (1, 1), mode="reflect")
F.pad(i[0], (1, 1), mode="replicate")
F.max_unpool2d(i, torch.arange(16).view(1, 1, 4, 4).repeat(4, 4, 1, 1), 1)
"""

LOSSES = """
F.cross_entropy(a, c)
F.cross_entropy(a, b.softmax(1))
F.nll_loss(a, c)
F.mse_loss(a, b)
F.l1_loss(a, b)
F.smooth_l1_loss(a, b)
F.huber_loss(a, b)
F.kl_div(a, b)
F.poisson_nll_loss(a, b)
F.soft_margin_loss(a, b)
F.hinge_embedding_loss(a, b)
F.margin_ranking_loss(v, v, v)
F.multi_margin_loss(a, c)
F.multilabel_margin_loss(a, c[None].repeat(4, 1))
F.triplet_margin_loss(a, b, a)
F.cosine_embedding_loss(a, b, v)
F.binary_cross_entropy_with_logits(a, b)
F.binary_cross_entropy(a.sigmoid(), b.sigmoid())
F.gaussian_nll_loss(a, b, a.abs())
"""


def lines(text):
    return [line for line in text.splitlines() if line]


ALL = lines(PRODUCTS) + lines(FUNCTIONS) + lines(LOSSES)


def arguments(torch, dtype, device="cpu"):
    """The same numbers for every library."""
    steps = torch.arange(256).view(4, 4, 4, 4).to(torch.float32)
    i = (steps * 0.37).sin().to(device, getattr(torch, dtype))
    return {
        "torch": torch,
        "F": torch.nn.functional,
        "i": i,
        "a": i[0, 0],
        "b": i[1, 1],
        "v": i[0, 0, 0],
        "c": torch.tensor([0, 1, 2, 3]).to(device),
    }
