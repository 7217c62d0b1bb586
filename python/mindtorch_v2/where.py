"""`python -m mindtorch_v2.where add` prints where an op lives; see _where."""

import sys

if __name__ == "__main__":
    from mindtorch_v2._where import main

    sys.exit(main(sys.argv[1:]))

# Importing a submodule binds its name in the package, and this one is also a function's:
# `import mindtorch_v2.where` must leave torch.where what it is.
sys.modules[__name__] = getattr(sys.modules[__package__], "where", sys.modules[__name__])
