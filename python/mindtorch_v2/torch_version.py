"""torch.torch_version: versions as text that compares as versions do."""

import re

__all__ = ["TorchVersion"]

# 2.13.0rc1.post2.dev3+local: the parts of PEP 440 that versions of torch have.
_PATTERN = re.compile(
    r"v?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[._-]?(?P<stage>alpha|beta|preview|pre|rc|a|b|c)[._-]?(?P<stage_number>\d*))?"
    r"(?:[._-]?(?:post|rev|r)[._-]?(?P<post>\d*))?"
    r"(?:[._-]?dev[._-]?(?P<dev>\d*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[._-][a-z0-9]+)*))?",
    re.IGNORECASE,
)
_STAGES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}


def _sort_key(version):
    """What orders versions; None for text that is none."""
    if isinstance(version, (tuple, list)):
        version = ".".join(str(part) for part in version)
    found = _PATTERN.fullmatch(str(version).strip())
    if found is None:
        return None
    release = [int(part) for part in found["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    number = {
        name: None if found[name] is None else int(found[name] or 0) for name in ("post", "dev")
    }
    if found["stage"]:
        stage = (_STAGES[found["stage"].lower()], int(found["stage_number"] or 0))
    elif number["dev"] is not None and number["post"] is None:
        stage = (-1, 0)  # 2.0.dev1 comes before 2.0a1
    else:
        stage = (3, 0)
    local = found["local"]
    parts = () if local is None else re.split("[._-]", local.lower())
    return (
        tuple(release),
        stage,
        -1 if number["post"] is None else number["post"],
        float("inf") if number["dev"] is None else number["dev"],
        # A number comes after a word.
        tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts),
    )


class TorchVersion(str):
    """Text that compares with other versions, given as text or as a tuple, by their numbers.

    >>> version = torch.torch_version.TorchVersion("2.13.0")
    >>> version >= (2, 4), version < "2.4", version.startswith("2.13")
    (True, False, True)
    """

    __slots__ = ()
    __hash__ = str.__hash__

    def _compared(self, other, compare):
        mine, theirs = _sort_key(self), _sort_key(other)
        if mine is None or theirs is None:  # such as "parrot": compared as text
            return getattr(super(), compare)(other)
        return getattr(mine, compare)(theirs)

    def __lt__(self, other):
        return self._compared(other, "__lt__")

    def __le__(self, other):
        return self._compared(other, "__le__")

    def __gt__(self, other):
        return self._compared(other, "__gt__")

    def __ge__(self, other):
        return self._compared(other, "__ge__")

    def __eq__(self, other):
        return self._compared(other, "__eq__")

    def __ne__(self, other):
        return self._compared(other, "__ne__")
