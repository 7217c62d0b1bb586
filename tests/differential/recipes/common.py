"""What recipes are written with."""

RECIPES = {}


def recipe(*names):
    def add(function):
        for name in names:
            RECIPES[name] = function
        return function

    return add


def some(w, **texts):
    """Each text, or nothing: the parameter then keeps its default half of the time."""
    return {name: text for name, text in texts.items() if w.chance(0.5)}


def sized(w, *shapes, dtype=None, style=None):
    """Tensors of these shapes, each of which may be wrong by one size."""
    dtype = dtype or w.dtype
    names = []
    for shape in shapes:
        shape = list(shape)
        if shape and w.chance(0.03):
            shape[w.random.randrange(len(shape))] = w.size()
        if w.chance(0.02):
            shape = list(w.shape())
        names.append(w.tensor(shape, w.some_dtype() if w.chance(0.15) else dtype, style))
    return names


def target(w):
    """A tensor, a dim of it as text, and that dim's number."""
    shape = w.shape()
    name = w.tensor(shape)
    dim = w.dim(len(shape))
    at = int(dim) if dim.lstrip("-").isdigit() else 0
    return name, shape, dim, at % len(shape) if shape else 0


def source_dtype(w, name):
    return w.variables[name].dtype if w.chance(0.8) else None
