"""The environment variables that this package reads: `python -m mindtorch_v2.options` prints them
with their values. The tables are `mindtorch/base/options.h` and the
`options.h` of each backend; `docs/options.md` is made from them."""

from . import _C

__all__ = ["describe", "main"]


def describe():
    """One dict per variable: `name`, `type`, `default`, `meaning`, `value` (None: not set), and
    `problem` (what is wrong with the value, or "")."""
    return _C._options()


def main():
    """Prints the table."""
    for option in describe():
        default = option["default"] or "(empty)"
        value = "not set" if option["value"] is None else option["value"]
        print(f"{option['name']}: {option['type']}, default {default}; now {value}")
        print(f"    {option['meaning']}")
        if option["problem"]:
            print(f"    {option['problem']}")


if __name__ == "__main__":
    main()
