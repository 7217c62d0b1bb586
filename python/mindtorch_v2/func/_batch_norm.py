"""Batch norms inside vmap."""


def replace_all_batch_norm_modules_(root):
    """Takes the running statistics from all batch norms of a module, in place: inside vmap they
    would be one tensor that all samples write.

    >>> net = torch.func.replace_all_batch_norm_modules_(torch.nn.BatchNorm1d(2))
    >>> net.running_mean is None
    True
    """
    from mindtorch_v2.nn.modules.batchnorm import _BatchNorm

    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root
