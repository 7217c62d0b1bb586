"""What the doctor runs for ops that have no example of their own."""

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

CASES = {
    "_adaptive_avg_pool2d": "F.adaptive_avg_pool2d(image, 2)",
    "_adaptive_avg_pool2d_backward": "grad(F.adaptive_avg_pool2d(image, 2).sum(), image)",
    "_adaptive_avg_pool3d": "F.adaptive_avg_pool3d(volume, 2)",
    "_adaptive_avg_pool3d_backward": "grad(F.adaptive_avg_pool3d(volume, 2).sum(), image)",
    "_batch_norm": "F.batch_norm(image, None, None, training=True)",
    "_batch_norm_backward": "grad(F.batch_norm(image, None, None, training=True).square().sum(), "
    "image)",
    "_conj_physical": "torch.tensor([1 + 2j]).conj()",
    "_coo_add": "torch.eye(2).to_sparse() + torch.ones(2, 2).to_sparse()",
    "_coo_dense": "torch.eye(2).to_sparse().to_dense()",
    "_coo_dot": "grad((torch.sparse_coo_tensor(torch.stack([rows, rows]), gates[0, :2]) @ x).sum(),"
    " gates)",
    "_coo_merge": "torch.eye(2).to_sparse().requires_grad_() + torch.ones(2, 2).to_sparse()",
    "_coo_mm": "torch.sparse_coo_tensor(torch.stack([rows, rows]), x[0, :2]) @ x",
    "_copy_list_": "torch._foreach_copy_([x], [x + 1])",
    "_ctc_loss": "F.ctc_loss(image[0].log_softmax(2), rows[:1], [1] * 4, [1, 0, 0, 0])",
    "_ctc_loss_backward": "torch.autograd.grad(F.ctc_loss(image[0].log_softmax(2), rows[:1], "
    "[1] * 4, [1, 0, 0, 0]), image)",
    "_fused_adagrad_": "torch._fused_adagrad_([x], [x + 1], [x * x], [torch.tensor(2.0)], "
    "lr=0.1, lr_decay=0.0, weight_decay=0.1, eps=1e-8, maximize=False)",
    "_fused_adagrad_.tensor_lr": "torch._fused_adagrad_([x], [x + 1], [x * x], [torch.tensor("
    "2.0)], lr=torch.tensor(0.1), lr_decay=0.0, weight_decay=0.1, eps=1e-8, maximize=False)",
    "_fused_adam_": "torch._fused_adam_([x], [x + 1], [x / 2], [x * x], [], [torch.tensor(2.0)], "
    "lr=0.1, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=1e-8, amsgrad=False, maximize=False)",
    "_fused_adam_.tensor_lr": "torch._fused_adam_([x], [x + 1], [x / 2], [x * x], [], "
    "[torch.tensor(2.0)], lr=torch.tensor(0.1), beta1=0.9, beta2=0.99, weight_decay=0.1, "
    "eps=1e-8, amsgrad=False, maximize=False)",
    "_fft_c2c": "torch.fft.fft(x + 0j)",
    "_fft_c2r": "torch.fft.irfft(x + 0j)",
    "_fft_r2c": "torch.fft.rfft(x)",
    "_fused_adamw_": "torch._fused_adamw_([x], [x + 1], [x / 2], [x * x], [], [torch.tensor("
    "2.0)], lr=0.1, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=1e-8, amsgrad=False, "
    "maximize=False)",
    "_fused_adamw_.tensor_lr": "torch._fused_adamw_([x], [x + 1], [x / 2], [x * x], [], "
    "[torch.tensor(2.0)], lr=torch.tensor(0.1), beta1=0.9, beta2=0.99, weight_decay=0.1, "
    "eps=1e-8, amsgrad=False, maximize=False)",
    "_fused_rms_norm": "F.rms_norm(image, (4,))",
    "_fused_rms_norm_backward": "grad(F.rms_norm(image, (4,)).square().sum(), image)",
    "_fused_sgd_": "torch._fused_sgd_([x], [x + 1], [x * 2], weight_decay=0.1, momentum=0.9, "
    "lr=0.1, dampening=0.0, nesterov=True, maximize=False, is_first_step=False)",
    "_fused_sgd_.tensor_lr": "torch._fused_sgd_([x], [x + 1], [x * 2], weight_decay=0.1, "
    "momentum=0.9, lr=torch.tensor(0.1), dampening=0.0, nesterov=True, maximize=False, "
    "is_first_step=False)",
    "_gru_layer": "torch.gru(x[:, None], state, [gates[:6], gates[:6, :2]], False, 1, 0.0, "
    "False, False, False)",
    "_gru_layer_backward": "grad(torch.gru(x[:, None], state, [gates[:6], gates[:6, :2]], False, "
    "1, 0.0, False, False, False)[0].sum(), gates)",
    "_index": "x[rows]",
    "_index_put_": "x.index_put((rows,), torch.tensor(5.0))",
    "_interpolate": "F.interpolate(image, 8, mode='bilinear')",
    "_interpolate_backward": "grad(F.interpolate(image, 8, mode='bilinear').sum(), image)",
    "_linalg_cholesky": "torch.linalg.cholesky(x @ x.T)",
    "_linalg_det": "torch.linalg.det(x[:, :2])",
    "_linalg_eig": "torch.linalg.eig(x[:, :2])",
    "_linalg_eigh": "torch.linalg.eigh(x[:, :2])",
    "_linalg_geqrf": "torch.geqrf(x)",
    "_linalg_householder_product": "torch.linalg.householder_product(x.T, x[0, :2])",
    "_linalg_inv": "torch.linalg.inv(x[:, :2])",
    "_linalg_ldl_factor": "torch.linalg.ldl_factor(x[:, :2])",
    "_linalg_ldl_solve": "torch.linalg.ldl_solve(x[:, :2], places[0, 1:].int(), x)",
    "_linalg_lstsq": "torch.linalg.lstsq(x, x)",
    "_linalg_lu_factor": "torch.linalg.lu_factor(x)",
    "_linalg_lu_solve": "torch.linalg.lu_solve(x[:, :2], places[0, 1:].int(), x)",
    "_linalg_matrix_exp": "torch.linalg.matrix_exp(x[:, :2])",
    "_linalg_ormqr": "torch.ormqr(x.T, x[0, :2], x.T)",
    "_linalg_permutation": "torch.lu_unpack(x, places[0, 1:].int())",
    "_linalg_pinv": "torch.linalg.pinv(x)",
    "_linalg_qr": "torch.linalg.qr(x)",
    "_linalg_slogdet": "torch.linalg.slogdet(x[:, :2])",
    "_linalg_solve": "torch.linalg.solve(x[:, :2], x)",
    "_linalg_solve_triangular": "torch.linalg.solve_triangular(x[:, :2], x, upper=False)",
    "_linalg_svd": "torch.linalg.svd(x)",
    "_log_softmax_backward_data": "grad(image.log_softmax(-1).square().sum(), image)",
    "_lstm_layer": "torch.lstm(x[:, None], (state, state), [gates[:8], gates[:8, :2]], False, 1, "
    "0.0, False, False, False)",
    "_lstm_layer_backward": "grad(torch.lstm(x[:, None], (state, state), [gates[:8], gates[:8, "
    ":2]], False, 1, 0.0, False, False, False)[0].sum(), gates)",
    "_masked_fill": "x.masked_fill(x > 2, 0.0)",
    "_masked_select": "x.masked_select(x > 2)",
    "_norm_list": "torch._foreach_norm([x])",
    "_pointwise": "torch._C._internal_functions['_pointwise']([x, x], 0, [], torch.float32, "
    "torch.float32)",
    "_pointwise_list": "torch._foreach_mul([x], [x])",
    "_pointwise_list_": "torch._foreach_add_([x], 2)",
    "_rnn_layer": "torch.rnn_tanh(x[:, None], state, [gates[:2], gates[:2, :2]], False, 1, 0.0, "
    "False, False, False)",
    "_rnn_layer_backward": "grad(torch.rnn_tanh(x[:, None], state, [gates[:2], gates[:2, :2]], "
    "False, 1, 0.0, False, False, False)[0].sum(), gates)",
    "_scaled_dot_product_flash_attention": "F.scaled_dot_product_attention(heads, heads, heads)",
    "_scaled_dot_product_flash_attention_backward": "grad(F.scaled_dot_product_attention(heads, "
    "heads, heads, is_causal=True).sum(), heads)",
    "_squared_difference": "F.mse_loss(x, x + 1)",
    "_smooth_l1": "F.smooth_l1_loss(x, x + 1)",
    "_softmax_backward_data": "grad(image.softmax(-1).square().sum(), image)",
    "_stft": "torch.stft(x[0], 2, 1, window=torch.ones(2), return_complex=True)",
    "_tensordot": "torch.tensordot(x, x, dims=([1], [1]))",
    "_to_copy": "x.to(torch.float16)",
    "_unique2": "i.unique(return_inverse=True, return_counts=True)",
    "_unique_consecutive": "i.unique_consecutive()",
    "_unscale_list_": "torch._amp_foreach_non_finite_check_and_unscale_([x], torch.zeros(1), "
    "torch.tensor(0.5))",
    "_zero_list_": "torch._foreach_zero_([x])",
    "adaptive_max_pool1d": "torch.adaptive_max_pool1d(image[0], 2)",
    "adaptive_max_pool2d": "F.adaptive_max_pool2d(image, 2, return_indices=True)",
    "adaptive_max_pool2d_backward": "grad(F.adaptive_max_pool2d(image, 2).sum(), image)",
    "adaptive_max_pool3d": "F.adaptive_max_pool3d(volume, 2, return_indices=True)",
    "adaptive_max_pool3d_backward": "grad(F.adaptive_max_pool3d(volume, 2).sum(), image)",
    "alias": "x.detach()",
    "arange.start_step": "torch.arange(1, 9, 3)",
    "argsort.stable": "i.argsort(stable=True)",
    "avg_pool2d": "F.avg_pool2d(image, 2)",
    "avg_pool2d_backward": "grad(F.avg_pool2d(image, 2).sum(), image)",
    "avg_pool3d": "F.avg_pool3d(volume, 2)",
    "avg_pool3d_backward": "grad(F.avg_pool3d(volume, 2).sum(), image)",
    "batch_norm": "F.batch_norm(image, torch.zeros(1), torch.ones(1))",
    "bernoulli.p": "torch.bernoulli(x, 0.5)",
    "bernoulli_.float": "x.clone().bernoulli_(0.5)",
    "clamp_max.Tensor": "x.clamp_max(torch.tensor([4.0, 2.0, 1.0]))",
    "clamp_min.Tensor": "x.clamp_min(torch.tensor([4.0, 2.0, 1.0]))",
    "conj_physical_": "torch.tensor([1 + 2j]).conj_physical_()",
    "conv1d.padding": "torch.conv1d(image[:, :, 0], kernel[:, :, 0], padding='same')",
    "conv2d": "torch.conv2d(image, kernel)",
    "conv2d.padding": "torch.conv2d(image, kernel, padding='same')",
    "conv3d": "torch.conv3d(image.view(2, 1, 1, 4, 4), kernel[None])",
    "conv3d.padding": "torch.conv3d(image.view(2, 1, 1, 4, 4), kernel[None], padding='same')",
    "conv_transpose1d": "torch.conv_transpose1d(image[:, :, 0], kernel[:, :, 0])",
    "conv_transpose2d.input": "torch.conv_transpose2d(image, kernel)",
    "conv_transpose3d.input": "torch.conv_transpose3d(image.view(2, 1, 1, 4, 4), kernel[None])",
    "convolution_backward": "grad(F.conv2d(image, kernel).sum(), (image, kernel))",
    "cross_entropy_loss": "F.cross_entropy(x, rows)",
    "ctc_loss.Tensor": "F.ctc_loss(volume[0, 0, :, :1], torch.tensor([[1]]), "
    "torch.tensor([2]), torch.tensor([1]))",
    "div.Tensor_mode": "torch.div(x, torch.tensor(2.0), rounding_mode='floor')",
    "embedding_dense_backward": "grad(F.embedding(rows, kernel.view(2, 2)).sum(), kernel)",
    "eye.m": "torch.eye(2, 3)",
    "grid_sampler_2d": "torch.grid_sampler_2d(image, torch.zeros(2, 1, 1, 2), 0, 0, False)",
    "grid_sampler_2d_backward": "grad(torch.grid_sampler(image, torch.zeros(2, 1, 1, 2), 0, 0, "
    "True).sum(), image)",
    "grid_sampler_3d": "torch.grid_sampler_3d(volume, torch.zeros(1, 1, 1, 1, 3), 0, 0, False)",
    "grid_sampler_3d_backward": "grad(torch.grid_sampler(volume, torch.zeros(1, 1, 1, 1, 3), 0, "
    "0, True).sum(), image)",
    "group_norm": "F.group_norm(volume, 1)",
    "gru.data": "torch.gru(x, torch.ones(2, dtype=torch.int64, device='cpu'), state, [gates[:6], "
    "gates[:6, :2]], False, 1, 0.0, False, False)",
    "gru.input": "torch.gru(x[:, None], state, [gates[:6], gates[:6, :2]], False, 1, 0.0, False, "
    "False, False)",
    "index.Tensor": "x[rows, rows]",
    "instance_norm": "F.instance_norm(image)",
    "linalg_cond.p_str": "torch.linalg.cond(x[:, :2], 'fro')",
    "linalg_matrix_norm.str_ord": "torch.linalg.matrix_norm(x, 'fro')",
    "linalg_matrix_rank": "torch.linalg.matrix_rank(x, 0.5)",
    "linalg_matrix_rank.atol_rtol_tensor": "torch.linalg.matrix_rank(x, atol=torch.tensor(0.5))",
    "linalg_matrix_rank.tol_tensor": "torch.linalg.matrix_rank(x, torch.tensor(0.5))",
    "linalg_norm.ord_str": "torch.linalg.norm(x, 'fro')",
    "linalg_pinv": "torch.linalg.pinv(x, 0.5)",
    "linalg_pinv.atol_rtol_tensor": "torch.linalg.pinv(x, atol=torch.tensor(0.5))",
    "linalg_pinv.rcond_tensor": "torch.linalg.pinv(x, torch.tensor(0.5))",
    "linalg_vector_norm": "torch.linalg.vector_norm(x)",
    "lstm.data": "torch.lstm(x, torch.ones(2, dtype=torch.int64, device='cpu'), (state, state), "
    "[gates[:8], gates[:8, :2]], False, 1, 0.0, False, False)",
    "lstm.input": "torch.lstm(x[:, None], (state, state), [gates[:8], gates[:8, :2]], False, 1, "
    "0.0, False, False, False)",
    "max.dim": "x.max(1)",
    "max_pool1d_with_indices": "F.max_pool1d(image[0], 2, return_indices=True)",
    "max_pool2d": "torch.max_pool2d(image, 2)",
    "max_pool2d_with_indices": "F.max_pool2d(image, 2, return_indices=True)",
    "max_pool2d_with_indices_backward": "grad(F.max_pool2d(image, 2).sum(), image)",
    "max_pool3d": "torch.max_pool3d(volume, 2)",
    "max_pool3d_with_indices": "F.max_pool3d(volume, 2, return_indices=True)",
    "max_pool3d_with_indices_backward": "grad(F.max_pool3d(volume, 2).sum(), image)",
    "median.dim": "x.median(1)",
    "min.dim": "x.min(1)",
    "nanmedian.dim": "x.nanmedian(1)",
    "native_group_norm": "F.group_norm(volume, 2)",
    "native_group_norm_backward": "grad(F.group_norm(volume, 2).square().sum(), image)",
    "native_layer_norm": "F.layer_norm(image, (4,))",
    "native_layer_norm_backward": "grad(F.layer_norm(image, (4,)).square().sum(), image)",
    "nll_loss2d_backward": "grad(F.nll_loss(volume[0], torch.zeros(2, 2, 4, dtype=torch.int64)), "
    "image)",
    "nll_loss2d_forward": "F.nll_loss(volume[0], torch.zeros(2, 2, 4, dtype=torch.int64))",
    "nll_loss_backward": "grad(F.nll_loss(kernel.view(2, 2), rows), kernel)",
    "nll_loss_forward": "F.nll_loss(x, rows)",
    "nll_loss_nd": "F.nll_loss(volume, torch.zeros(1, 2, 2, 4, dtype=torch.int64))",
    "nonzero_numpy": "i.nonzero(as_tuple=True)",
    "normal.Tensor_float": "torch.normal(x, 1.0)",
    "normal.float_Tensor": "torch.normal(0.0, x)",
    "normal.float_float": "torch.normal(0.0, 1.0, (2, 3))",
    "randint.low": "torch.randint(2, 5, (3,))",
    "randint_like.low_dtype": "torch.randint_like(i, 2, 5)",
    "random_.from": "i.clone().random_(2, 5)",
    "random_.to": "i.clone().random_(5)",
    "rnn_relu.data": "torch.rnn_relu(x, torch.ones(2, dtype=torch.int64, device='cpu'), state, "
    "[gates[:2], gates[:2, :2]], False, 1, 0.0, False, False)",
    "rnn_relu.input": "torch.rnn_relu(x[:, None], state, [gates[:2], gates[:2, :2]], False, 1, "
    "0.0, False, False, False)",
    "rnn_tanh.data": "torch.rnn_tanh(x, torch.ones(2, dtype=torch.int64, device='cpu'), state, "
    "[gates[:2], gates[:2, :2]], False, 1, 0.0, False, False)",
    "rnn_tanh.input": "torch.rnn_tanh(x[:, None], state, [gates[:2], gates[:2, :2]], False, 1, "
    "0.0, False, False, False)",
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
    """A text of examples for an op: its own, or one from here; empty if there is none."""
    own = CASES.get(op["full_name"])
    if own is None and op["name"].startswith("_foreach_"):
        return PRELUDE + _list_example(op)
    return f"{PRELUDE}>>> {own}\n" if own else op["example"]
