"""A line search for the strong Wolfe conditions: enough descent, and a much flatter slope."""


def _cubic_minimum(x1, f1, g1, x2, f2, g2, bounds=None):
    """Where the cubic through two points with these slopes is least, within the bounds."""
    low, high = bounds if bounds is not None else (min(x1, x2), max(x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if square < 0:
        return (low + high) / 2.0
    d2 = square**0.5
    if x1 <= x2:
        place = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        place = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(place, low), high)


class _Point:
    """A length along the direction with what the function is there."""

    def __init__(self, length, loss, grad, slope):
        self.length, self.loss, self.grad, self.slope = length, loss, grad, slope


def strong_wolfe(
    probe, length, direction, loss, grad, slope, c1=1e-4, c2=0.9, tolerance=1e-9, max_steps=25
):
    """(loss, gradient, length, evaluations) of a good step; probe(length) gives loss, gradient."""
    largest = float(direction.abs().max())
    start = _Point(0, loss, grad.clone(), slope)

    def at(length):
        loss, grad = probe(length)
        return _Point(length, loss, grad.clone(), float(grad.dot(direction)))

    def too_high(point):
        return point.loss > start.loss + c1 * point.length * start.slope

    def is_flat(point):
        return abs(point.slope) <= -c2 * start.slope

    previous, point, evaluations, steps = start, at(length), 1, 0
    bracket = None
    while steps < max_steps:
        if too_high(point) or (steps > 1 and point.loss >= previous.loss):
            bracket = [previous, point]
            break
        if is_flat(point):
            return point.loss, point.grad, point.length, evaluations
        if point.slope >= 0:
            bracket = [previous, point]
            break
        low = point.length + 0.01 * (point.length - previous.length)
        high = point.length * 10
        length = _cubic_minimum(
            previous.length,
            previous.loss,
            previous.slope,
            point.length,
            point.loss,
            point.slope,
            bounds=(low, high),
        )
        previous, point = point, at(length)
        evaluations += 1
        steps += 1
    if bracket is None:
        bracket = [start, point]
    return _zoom(bracket, at, too_high, is_flat, largest, tolerance, steps, max_steps, evaluations)


def _zoom(bracket, at, too_high, is_flat, largest, tolerance, steps, max_steps, evaluations):
    """Narrows the bracket until a point in it fits."""
    stalled = False
    low, high = _order(bracket)
    while steps < max_steps:
        ends = sorted((bracket[0].length, bracket[1].length))
        if (ends[1] - ends[0]) * largest < tolerance:
            break
        length = _cubic_minimum(
            bracket[0].length,
            bracket[0].loss,
            bracket[0].slope,
            bracket[1].length,
            bracket[1].loss,
            bracket[1].slope,
        )
        # Too near an end twice in a row: a tenth into the bracket instead.
        margin = 0.1 * (ends[1] - ends[0])
        if min(ends[1] - length, length - ends[0]) < margin:
            if stalled or length >= ends[1] or length <= ends[0]:
                nearer_end = abs(length - ends[1]) < abs(length - ends[0])
                length = ends[1] - margin if nearer_end else ends[0] + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        point = at(length)
        evaluations += 1
        steps += 1
        if too_high(point) or point.loss >= bracket[low].loss:
            bracket[high] = point
            low, high = _order(bracket)
            continue
        if is_flat(point):
            return point.loss, point.grad, point.length, evaluations
        if point.slope * (bracket[high].length - bracket[low].length) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = point
    best = bracket[low]
    return best.loss, best.grad, best.length, evaluations


def _order(bracket):
    """(place of the lower end, place of the higher one)."""
    return (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
