"""torch.nn.utils.rnn: sequences of different lengths in one tensor."""

from collections import namedtuple

import mindtorch_v2 as torch

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]

_Fields = namedtuple(
    "PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"]
)


class PackedSequence(_Fields):
    """Sequences, longest first, step after step: batch_sizes says how many have each step.

    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).data
    tensor([1, 3, 2])
    """

    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None and isinstance(data, (tuple, list)):
            data, batch_sizes = data
        if batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. "
                "Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence "
                "and pack_padded_sequences in nn.utils.rnn. "
                "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def __getnewargs__(self):
        return tuple(self)

    def to(self, *args, **kwargs):
        """The same sequences on another device or in another dtype."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = (
            None if index is None else index.to(data.device)
            for index in (self.sorted_indices, self.unsorted_indices)
        )
        return type(self)(data, self.batch_sizes, *indices)

    def cpu(self):
        """The same sequences on the CPU."""
        return self.to("cpu")

    def cuda(self, *args, **kwargs):
        """The same sequences on a GPU."""
        return self.to("cuda")

    def double(self):
        """The same sequences as float64."""
        return self.to(dtype=torch.float64)

    def float(self):
        """The same sequences as float32."""
        return self.to(dtype=torch.float32)

    def half(self):
        """The same sequences as float16."""
        return self.to(dtype=torch.float16)

    def long(self):
        """The same sequences as int64."""
        return self.to(dtype=torch.int64)

    def int(self):
        """The same sequences as int32."""
        return self.to(dtype=torch.int32)

    def pin_memory(self):
        """The same sequences in pinned memory."""
        return type(self)(
            self.data.pin_memory(), self.batch_sizes, self.sorted_indices, self.unsorted_indices
        )

    @property
    def is_cuda(self):
        """Whether they are on a GPU."""
        return self.data.is_cuda

    def is_pinned(self):
        """Whether they are in pinned memory."""
        return self.data.is_pinned()


def invert_permutation(permutation):
    """The order that undoes an order.

    >>> torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    places = torch.arange(permutation.numel(), device=permutation.device)
    return torch.empty_like(permutation).scatter_(0, permutation, places)


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Packs padded sequences (T, N, ...), or (N, T, ...) with batch_first.

    >>> packed = torch.nn.utils.rnn.pack_padded_sequence(
    ...     torch.tensor([[1, 2], [3, 0]]), [2, 1], batch_first=True)
    >>> packed.data, packed.batch_sizes
    (tensor([1, 3, 2]), tensor([2, 1]))
    """
    lengths = torch.as_tensor(lengths, dtype=torch.int64, device="cpu")
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = torch.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if batch_first:
        input = input.transpose(0, 1)
    values = lengths.tolist()
    if len(values) != input.size(1):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(values)} "
            f"(batch_size={input.size(1)})"
        )
    if not values or min(values) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if any(a < b for a, b in zip(values, values[1:], strict=False)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
            "You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    sizes = [sum(length > t for length in values) for t in range(values[0])]
    data = torch.cat([input[t, :size] for t, size in enumerate(sizes)])
    return PackedSequence(data, torch.tensor(sizes, device="cpu"), sorted_indices)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """(padded sequences, lengths): the inverse of pack_padded_sequence.

    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    sizes = sequence.batch_sizes.tolist()
    steps = len(sizes)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, "
                f"but got total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    pad = torch.nn.functional.pad
    rows, tail = [], [0, 0] * (sequence.data.dim() - 1)
    for part in sequence.data.split(sizes):
        rows.append(pad(part, [*tail, 0, sizes[0] - part.size(0)], value=padding_value))
    blank = torch.full_like(rows[0], padding_value)
    rows += [blank] * (steps - len(rows))
    padded = torch.stack(rows, 1 if batch_first else 0)
    lengths = torch.tensor([sum(size > i for size in sizes) for i in range(sizes[0])], device="cpu")
    order = sequence.unsorted_indices
    if order is not None:
        return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]
    return padded, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Sequences of different lengths in one tensor (T, N, ...) or (N, T, ...).

    >>> torch.nn.utils.rnn.pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], True)
    tensor([[1, 2],
            [3, 0]])
    """
    if isinstance(sequences, torch.Tensor):
        sequences = sequences.unbind(0)
    elif not hasattr(sequences, "__iter__"):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"padding_side should be either 'right' or 'left' (got {padding_side})")
    longest = max(sequence.size(0) for sequence in sequences)
    pad = torch.nn.functional.pad
    rows = []
    for sequence in sequences:
        missing = longest - sequence.size(0)
        sides = [0, missing] if padding_side == "right" else [missing, 0]
        rows.append(pad(sequence, [0, 0] * (sequence.dim() - 1) + sides, value=padding_value))
    return torch.stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences of a padded tensor, each of its own length.

    >>> padded = torch.tensor([[1, 2], [3, 0]])
    >>> torch.nn.utils.rnn.unpad_sequence(padded, torch.tensor([2, 1]), batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    rows = zip(padded_sequences.unbind(0), lengths.tolist(), strict=True)
    return [row[:length] for row, length in rows]


def pack_sequence(sequences, enforce_sorted=True):
    """Packs a list of sequences.

    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).batch_sizes
    tensor([2, 1])
    """
    lengths = torch.tensor([sequence.size(0) for sequence in sequences], device="cpu")
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The sequences of a PackedSequence, as a list.

    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> torch.nn.utils.rnn.unpack_sequence(packed)
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
