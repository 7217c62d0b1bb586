"""torch.utils.model_zoo: the old name of torch.hub.load_state_dict_from_url."""

from mindtorch_v2.hub import load_state_dict_from_url

load_url = load_state_dict_from_url

__all__ = ["load_state_dict_from_url", "load_url"]

try:
    from tqdm.auto import tqdm
except ImportError:  # a plain one, for libraries that take torch's

    class tqdm:
        """Counts what is done: the methods of tqdm that downloads use."""

        def __init__(self, iterable=None, total=None, disable=False, **kwargs):
            self.iterable, self.total, self.disable, self.n = iterable, total, disable, 0

        def __iter__(self):
            for item in self.iterable:
                yield item
                self.update(1)

        def update(self, n=1):
            """Notes that `n` more are done."""
            self.n += n

        def set_description(self, *args, **kwargs):
            """There is no bar to describe."""

        def close(self):
            """There is no bar to close."""

        def __enter__(self):
            return self

        def __exit__(self, *exc_info):
            self.close()
