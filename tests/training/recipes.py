"""Ways in which programs train, beyond the plain loop. Each yields a function that makes one step
and returns its loss; the library is an argument.
"""

import numpy


def data(torch, *shapes):
    rng = numpy.random.default_rng(5)
    return [torch.from_numpy(rng.standard_normal(shape).astype("float32")) for shape in shapes]


def network(torch, activation=None):
    nn = torch.nn
    return nn.Sequential(nn.Linear(5, 9), activation or nn.Tanh(), nn.Linear(9, 3))


def loop(model, optimizer, loss, after=lambda: None):
    def step():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        after()
        optimizer.step()
        return value

    return step


def squares(model, x, y):
    return ((model(x) - y) ** 2).mean()


def gradient_penalty(torch):
    """The loss contains a gradient."""
    model = network(torch, torch.nn.Softplus())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    (x,) = data(torch, (8, 5))

    def loss():
        at = x.clone().requires_grad_()
        y = model(at)
        (slope,) = torch.autograd.grad(y.sum(), at, create_graph=True)
        return y.mean() + 10 * ((slope.norm(2, 1) - 1) ** 2).mean()

    return loop(model, optimizer, loss)


def tied_weights(torch):
    nn = torch.nn
    embedding, head = nn.Embedding(7, 6), nn.Linear(6, 7, bias=False)
    head.weight = embedding.weight
    model = nn.Sequential(embedding, nn.LayerNorm(6), head)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    tokens = torch.arange(7)
    return loop(
        model, optimizer, lambda: nn.functional.cross_entropy(model(tokens), tokens.flip(0))
    )


def accumulated_gradients(torch):
    """Several passes per step; gradients are kept, and set to zero."""
    model = network(torch)
    x, y = data(torch, (8, 5), (8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad(set_to_none=False)
        for rows in (slice(0, 4), slice(4, 8)):
            value = squares(model, x[rows], y[rows]) / 2
            value.backward()
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.05)
        optimizer.step()
        return value

    return step


def frozen_layer(torch):
    model = network(torch, torch.nn.ReLU(inplace=True))
    model[0].requires_grad_(False)
    trained = [p for p in model.parameters() if p.requires_grad]
    x, y = data(torch, (8, 5), (8, 3))
    optimizer = torch.optim.RMSprop(trained, lr=0.01)
    return loop(model, optimizer, lambda: squares(model, x, y))


def hooks(torch):
    model = network(torch)
    model[0].weight.register_hook(lambda grad: grad * 0.5)
    model[1].register_full_backward_hook(lambda module, inputs, outputs: (inputs[0] * 2,))
    model[2].register_forward_hook(lambda module, inputs, output: output + 0.1)
    x, y = data(torch, (8, 5), (8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return loop(model, optimizer, lambda: squares(model, x, y))


def updates_in_backward(torch):
    """Each parameter is updated when its gradient is there."""
    model = network(torch)
    x, y = data(torch, (8, 5), (8, 3))
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}

    def update(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(update)

    def step():
        value = squares(model, x, y)
        value.backward()
        return value

    return step


def checkpointed(torch):
    """With dropout: the forward pass is run twice, with the same random numbers."""
    model = network(torch, torch.nn.Dropout(0.3))
    x, y = data(torch, (8, 5), (8, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def loss():
        output = torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False)
        return ((output - y) ** 2).mean()

    return loop(model, optimizer, loss)


def random_code(torch):
    """A variational autoencoder."""
    encoder, decoder = torch.nn.Linear(6, 8), torch.nn.Linear(4, 6)
    x = data(torch, (8, 6))[0].sigmoid()
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)

    def loss():
        mean, log_variance = encoder(x).chunk(2, 1)
        code = mean + torch.randn_like(mean) * (log_variance * 0.5).exp()
        same = torch.nn.functional.binary_cross_entropy(decoder(code).sigmoid(), x)
        return same - 0.05 * (1 + log_variance - mean.pow(2) - log_variance.exp()).mean()

    return loop(None, optimizer, loss)


def averaged_model(torch):
    """The loss is that of the moving average of the weights."""
    model = network(torch)
    utils = torch.optim.swa_utils
    average = utils.AveragedModel(model, multi_avg_fn=utils.get_ema_multi_avg_fn(0.9))
    x, y = data(torch, (8, 5), (8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    plain = loop(model, optimizer, lambda: squares(model, x, y))

    def step():
        plain()
        average.update_parameters(model)
        return squares(average, x, y)

    return step


def by_hand(torch):
    """Without modules and optimizers; with reductions, choices and indexing in the loss."""
    w, b = torch.randn(5, 4, requires_grad=True), torch.zeros(4, requires_grad=True)
    x, y = data(torch, (8, 5), (8, 4))
    classes = torch.arange(8) % 4

    def step():
        h = x @ w + b
        logs = h.log_softmax(1)
        value = torch.logsumexp(h, 1).mean() - (h * y.softmax(1)).sum(1).mean()
        value = value - logs.gather(1, classes[:, None]).mean() + 0.1 * h.abs().max()
        value = value + torch.where(logs > -1, logs, logs * 2).std() + logs.topk(2, 1).values.mean()
        value = value + torch.einsum("ij,kj->ik", logs, logs).tril().mean()
        value = value + logs.cumsum(1).var() + logs[classes].sort(1).values[:, 0].mean()
        value.backward()
        with torch.no_grad():
            for p in (w, b):
                p -= 0.05 * p.grad
                p.grad = None
        return value

    return step


RECIPES = (gradient_penalty, tied_weights, accumulated_gradients, frozen_layer, hooks,
           updates_in_backward, checkpointed, random_code, averaged_model, by_hand)  # fmt: skip
