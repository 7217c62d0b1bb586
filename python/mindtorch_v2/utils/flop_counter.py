"""torch.utils.flop_counter: how many operations on numbers the products, convolutions and attention
of a program take, module by module.
"""

import math
from collections import defaultdict

import mindtorch_v2 as torch
from mindtorch_v2.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode"]

_ENTER, _LEAVE = "flop_counter enters ", "flop_counter leaves "


def _product(left, right):
    return 2 * math.prod(left) * right[-1]


def _convolution(shapes, values):
    image, weight = shapes[:2]
    stride, padding, dilation, transposed = values[3:7]
    settings = (_each(value, image) for value in (stride, padding, dilation))
    positions = [
        (size + 2 * pad - spread * (kernel - 1) - 1) // step + 1
        for size, kernel, step, pad, spread in zip(image[2:], weight[2:], *settings, strict=True)
    ]
    positions = image[2:] if transposed else positions
    return 2 * image[0] * math.prod(positions) * math.prod(weight)


def _each(value, image):
    """A number for each spatial dimension; one may stand for all."""
    value = value if isinstance(value, (list, tuple)) else [value]
    return value if len(value) == len(image) - 2 else [*value] * (len(image) - 2)


def _convolution_backward(shapes, values):
    grad, image, weight = shapes[:3]
    transposed = values[6]
    of_image, of_weight = values[9:11]
    places = math.prod((image if transposed else grad)[2:])
    count = 2 * image[0] * places * math.prod(weight) if of_image else 0
    if of_weight:  # groups are not taken into account, as in torch
        count += 2 * image[0] * places * math.prod(weight[2:]) * image[1] * grad[1]
    return count


def _attention(products):
    """Of a function whose first tensors are query, key and value, or come before those."""

    def count(shapes, values):
        first = len(products) - 2 and 1  # the gradient of the result comes first
        query, key, value = shapes[first : first + 3]
        scores = math.prod(query[:-1]) * key[-2]
        return sum(2 * scores * (query if p == "q" else value)[-1] for p in products)

    return count


_FORWARD, _BACKWARD = _attention("qv"), _attention("qvvqq")
_COUNTS = {
    "mm": lambda shapes, values: _product(shapes[0], shapes[1]),
    "bmm": lambda shapes, values: _product(shapes[0], shapes[1]),
    "addmm": lambda shapes, values: _product(shapes[1], shapes[2]),
    "baddbmm": lambda shapes, values: _product(shapes[1], shapes[2]),
    "convolution": _convolution,
    "convolution_backward": _convolution_backward,
    "_scaled_dot_product_flash_attention": _FORWARD,
    "_scaled_dot_product_efficient_attention": _FORWARD,
    "_scaled_dot_product_flash_attention_backward": _BACKWARD,
    "_scaled_dot_product_efficient_attention_backward": _BACKWARD,
}


class _Marks(ModuleTracker):
    """Leaves marks among the profiler's events where modules begin and end."""

    def _enter(self, name):
        super()._enter(name)
        with torch.profiler.record_function(_ENTER + name):
            pass

    def _leave(self, name):
        super()._leave(name)
        with torch.profiler.record_function(_LEAVE + name):
            pass


class FlopCounterMode:
    """Counts inside a with-block; `display` prints a table at its end.

    >>> from mindtorch_v2.utils.flop_counter import FlopCounterMode
    >>> with FlopCounterMode(display=False) as counter:
    ...     _ = torch.ones(2, 3) @ torch.ones(3, 4)
    >>> counter.get_total_flops()
    48
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        if custom_mapping:
            raise NotImplementedError("FlopCounterMode: custom_mapping is not supported")
        self.depth, self.display = depth, display
        self.flop_counts = defaultdict(lambda: defaultdict(int))

    def __enter__(self):
        self.flop_counts.clear()
        self._profile = torch.profiler.profile(record_shapes=True)
        self._profile.__enter__()
        self._marks = _Marks().__enter__()
        return self

    def __exit__(self, *error):
        self._marks.__exit__(*error)
        self._profile.__exit__(*error)
        self._count(sorted(self._profile.events(), key=lambda event: event.time_range.start))
        self._profile = self._marks = None
        if self.display:
            print(self.get_table(self.depth))
        return False

    def _count(self, events):
        parents = {"Global"}
        for event in events:
            name = event.name.removeprefix("aten::")
            if name.startswith(_ENTER):
                parents.add(name.removeprefix(_ENTER))
            elif name.startswith(_LEAVE):
                parents.discard(name.removeprefix(_LEAVE))
            elif name in _COUNTS:
                flops = _COUNTS[name](event.input_shapes, event.concrete_inputs)
                packet = getattr(torch.ops.aten, name)
                for parent in parents:
                    self.flop_counts[parent][packet] += flops

    def get_total_flops(self):
        """Of the whole block."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self):
        """{module: {operator: count}}; "Global" has all."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth=None):
        """The counts as text, of modules down to a depth."""
        depth = self.depth if depth is None else depth
        depth = 999999 if depth is None else depth
        total = max(self.get_total_flops(), 1)
        names = sorted(self.flop_counts, key=lambda name: (name != "Global", name))
        rows = [("Module", "FLOP", "% Total")]
        for name in names:
            if name.count(".") >= depth:
                continue
            counts = self.flop_counts[name]
            rows.append((name, *_shown(sum(counts.values()), total)))
            rows += [(f"- {op}", *_shown(count, total)) for op, count in counts.items()]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        rows.insert(1, tuple("-" * width for width in widths))
        return "\n".join(
            f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows
        )


def _shown(count, total):
    for power, suffix in ((12, "T"), (9, "B"), (6, "M"), (3, "K")):
        if total >= 10**power:
            return f"{count / 10**power:.3f}{suffix}", f"{count / total * 100:.2f}%"
    return str(count), f"{count / total * 100:.2f}%"
