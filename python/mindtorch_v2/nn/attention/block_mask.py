"""BlockMask: which blocks of an attention matrix a mask leaves."""

import mindtorch_v2 as torch

DEFAULT_BLOCK_SIZE = 128


def _block_pair(size):
    return (size, size) if isinstance(size, int) else tuple(size)


def _listed(wanted):
    """(number, indices) of the true entries of each row: first these, then the others."""
    count = wanted.sum(-1, dtype=torch.int32)
    order = torch.argsort(wanted.to(torch.int32), dim=-1, descending=True, stable=True)
    return count, order.to(torch.int32)


def _dense(count, indices):
    """What _listed() was given."""
    columns = torch.arange(indices.size(-1), device=indices.device)
    listed = columns < count.unsqueeze(-1)
    return torch.zeros_like(indices, dtype=torch.bool).scatter(-1, indices.long(), listed)


class BlockMask:
    """Which blocks of BLOCK_SIZE scores hold any that are wanted, and the mask itself: mask_mod(b,
    h, q_idx, kv_idx) is true where a score counts. Blocks that are wanted as a whole are listed as
    full. create_block_mask() makes one.
    """

    _TENSORS = (
        "kv_num_blocks",
        "kv_indices",
        "full_kv_num_blocks",
        "full_kv_indices",
        "q_num_blocks",
        "q_indices",
        "full_q_num_blocks",
        "full_q_indices",
    )

    def __init__(self, seq_lengths, BLOCK_SIZE, mask_mod, **tensors):
        self.seq_lengths = tuple(seq_lengths)
        self.BLOCK_SIZE = _block_pair(BLOCK_SIZE)
        self.mask_mod = mask_mod
        for name in self._TENSORS:
            setattr(self, name, tensors.get(name))
        if self.kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks=None,
        full_kv_indices=None,
        BLOCK_SIZE=DEFAULT_BLOCK_SIZE,
        mask_mod=None,
        seq_lengths=None,
        compute_q_blocks=True,
    ):
        """From the blocks of keys that each block of queries needs."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError(
                "full_kv_num_blocks and full_kv_indices must be both given or None"
            )
        size = _block_pair(BLOCK_SIZE)
        if seq_lengths is None:
            rows, columns = kv_num_blocks.size(-1), kv_indices.size(-1)
            seq_lengths = (rows * size[0], columns * size[1])
        tensors = {"kv_num_blocks": kv_num_blocks, "kv_indices": kv_indices}
        tensors |= {"full_kv_num_blocks": full_kv_num_blocks, "full_kv_indices": full_kv_indices}
        if compute_q_blocks:
            by_query = _dense(kv_num_blocks, kv_indices).transpose(-2, -1)
            tensors["q_num_blocks"], tensors["q_indices"] = _listed(by_query)
            if full_kv_indices is not None:
                by_query = _dense(full_kv_num_blocks, full_kv_indices).transpose(-2, -1)
                tensors["full_q_num_blocks"], tensors["full_q_indices"] = _listed(by_query)
        return cls(seq_lengths, size, mask_mod or noop_mask, **tensors)

    @property
    def shape(self):
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self):
        """The number of scores."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    def to_dense(self):
        """1 for every block that is needed, else 0."""
        needed = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_indices is not None:
            needed = needed | _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return needed.to(torch.int32)

    def sparsity(self):
        """How many scores of a hundred need not be computed."""
        blocks = self.kv_num_blocks.sum().item()
        if self.full_kv_num_blocks is not None:
            blocks += self.full_kv_num_blocks.sum().item()
        rows, columns = self.BLOCK_SIZE
        return 100 * (1 - blocks * rows * columns / self.numel())

    def as_tuple(self, flatten=True):
        """Lengths, tensors, block size and mask_mod."""
        head = self.seq_lengths if flatten else (self.seq_lengths,)
        size = self.BLOCK_SIZE if flatten else (self.BLOCK_SIZE,)
        return (*head, *(getattr(self, name) for name in self._TENSORS), *size, self.mask_mod)

    def _with(self, change):
        tensors = {name: getattr(self, name) for name in self._TENSORS}
        changed = {name: None if t is None else change(t) for name, t in tensors.items()}
        return type(self)(self.seq_lengths, self.BLOCK_SIZE, self.mask_mod, **changed)

    def to(self, device):
        """The same on another device; what mask_mod captured stays where it is."""
        return self._with(lambda tensor: tensor.to(device))

    def __getitem__(self, index):
        """The mask of some batches, heads or blocks of queries. mask_mod stays as it is."""
        part = self._with(lambda tensor: tensor[index])
        if isinstance(index, tuple) and len(index) > 2:
            rows = part.kv_num_blocks.size(-1) * self.BLOCK_SIZE[0]
            part.seq_lengths = (rows, self.seq_lengths[1])
        return part

    def __repr__(self):
        lines = [
            f"    {n}={getattr(self, n).shape},"
            for n in self._TENSORS
            if getattr(self, n) is not None
        ]
        name = getattr(self.mask_mod, "__name__", self.mask_mod)
        lines += [f"    BLOCK_SIZE={self.BLOCK_SIZE},", f"    shape={self.shape},"]
        lines += [f"    sparsity={self.sparsity():.2f}%,", f"    mask_mod={name}"]
        return "\n".join(("BlockMask(", *lines, ")"))


def noop_mask(batch, head, token_q, token_kv):
    """True everywhere."""
    return batch.new_ones((), dtype=torch.bool)


def or_masks(*mask_mods):
    """The mask of scores that any of these wants."""
    return _combined(mask_mods, torch.logical_or, False)


def and_masks(*mask_mods):
    """The mask of scores that all of these want."""
    return _combined(mask_mods, torch.logical_and, True)


def _combined(mask_mods, combine, start):
    if not all(callable(mod) for mod in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def mask_mod(b, h, q_idx, kv_idx):
        result = b.new_full((), start, dtype=torch.bool)
        for mod in mask_mods:
            result = combine(result, mod(b, h, q_idx, kv_idx))
        return result

    return mask_mod


def places(B, H, Q_LEN, KV_LEN, device):
    """The indices that a mask or score function gets, of shapes that broadcast to all scores."""
    for dim, size in enumerate((B, H, Q_LEN, KV_LEN)):
        shape = [1, 1, 1, 1]
        shape[dim] = size
        yield torch.arange(size, device=device).reshape(shape)


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """A mask or score function as a tensor of shape (B, H, Q_LEN, KV_LEN).

    >>> from mindtorch_v2.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q_idx, kv_idx: q_idx >= kv_idx, 1, 1, 2, 2)[0, 0]
    tensor([[ True, False],
            [ True,  True]])
    """
    import inspect

    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    where = list(places(*shape, device))
    if len(inspect.signature(mod_fn).parameters) == 5:  # a score function: of zeros
        mask = mod_fn(torch.zeros(shape, device=device), *where)
    else:
        mask = mod_fn(*where)
    return mask.expand(shape).contiguous()


def create_block_mask(
    mask_mod,
    B,
    H,
    Q_LEN,
    KV_LEN,
    device=None,
    BLOCK_SIZE=DEFAULT_BLOCK_SIZE,
    _compile=False,
    separate_full_blocks=True,
):
    """The BlockMask of a mask function. B or H of None: the same for all batches or heads.

    >>> from mindtorch_v2.nn.attention.flex_attention import create_block_mask
    >>> causal = create_block_mask(lambda b, h, q, k: q >= k, None, None, 4, 4, BLOCK_SIZE=2)
    >>> causal.to_dense()[0, 0]
    tensor([[1, 0],
            [1, 1]], dtype=torch.int32)
    """
    rows, columns = _block_pair(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    padding = (0, -KV_LEN % columns, 0, -Q_LEN % rows)
    mask = torch.nn.functional.pad(mask.to(torch.int32), padding)
    batch, heads, length, width = mask.shape
    blocks = mask.reshape(batch, heads, length // rows, rows, width // columns, columns)
    wanted = blocks.sum((3, 5))
    full = wanted == rows * columns
    if not separate_full_blocks:
        full = torch.zeros_like(full)
    return BlockMask.from_kv_blocks(
        *_listed((wanted > 0) & ~full),
        *(_listed(full) if separate_full_blocks else (None, None)),
        BLOCK_SIZE=(rows, columns),
        mask_mod=mask_mod,
        seq_lengths=(Q_LEN, KV_LEN),
    )
