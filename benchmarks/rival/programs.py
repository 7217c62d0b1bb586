"""What is timed: ops, and programs. `torch` is either library."""


def ops(torch):
    """{name: a call}, of tensors so small that the host alone counts."""
    F = torch.nn.functional

    def ones(*shape, **options):
        return torch.ones(*shape, **options).to("npu")

    a, b, matrix = ones(16), ones(16), ones(4, 4)
    x, weight = ones(4, 64), ones(64)
    heads = ones(1, 2, 16, 64, dtype=torch.float16)
    linear = torch.nn.Linear(64, 64).to("npu").requires_grad_(False)
    index = torch.zeros(4, dtype=torch.int64).to("npu")
    table, mask = ones(10, 16), torch.ones(16, dtype=torch.bool).to("npu")
    return {
        "a + b": lambda: a + b,
        "a * 2": lambda: a * 2.0,
        "relu": lambda: a.relu(),
        "where": lambda: torch.where(mask, a, b),
        "sum": lambda: a.sum(),
        "softmax": lambda: torch.softmax(matrix, -1),
        "cat": lambda: torch.cat((a, b)),
        "embedding": lambda: F.embedding(index, table),
        "mm": lambda: matrix @ matrix,
        "linear": lambda: linear(x),
        "layer_norm": lambda: F.layer_norm(x, (64,), weight, weight),
        "sdpa": lambda: F.scaled_dot_product_attention(heads, heads, heads),
        "dropout": lambda: F.dropout(x, 0.5, True),
    }


def programs(torch):
    """{name: a step}."""
    steps = {"MLP with AdamW": mlp(torch), "GPT with AdamW": gpt(torch)}
    return steps | {"Llama decode": llama(torch)}


def mlp(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).to("npu")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = torch.ones(8, 64).to("npu"), torch.zeros(8, dtype=torch.int64).to("npu")

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def gpt(torch, vocabulary=128, width=64, heads=4, layers=2, length=16):
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            shape = (*x.shape[:2], heads, width // heads)
            parts = self.qkv(self.norms[0](x)).split(width, 2)
            q, k, v = (part.view(shape).transpose(1, 2) for part in parts)
            scores = torch.softmax((q @ k.transpose(-2, -1)) * (width // heads) ** -0.5, -1)
            x = x + self.out((scores @ v).transpose(1, 2).reshape(x.shape))
            return x + self.down(F.gelu(self.up(self.norms[1](x))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(vocabulary, width)
            self.places = nn.Parameter(torch.zeros(length, width))
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.last, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

        def forward(self, ids):
            x = self.tokens(ids) + self.places
            for block in self.blocks:
                x = block(x)
            return self.head(self.last(x))

    model = Model().to("npu")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ids = torch.zeros(2, length, dtype=torch.int64).to("npu")

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(ids).view(-1, vocabulary), ids.view(-1)).backward()
        optimizer.step()

    return step


def llama(torch, vocabulary=128, width=64, heads=4, layers=2, length=32):
    """One token against a cache, in plain ops, as libraries of models write them."""
    nn, F = torch.nn, torch.nn.functional

    def norm(x, weight):
        return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))

    def turned(x):
        left, right = x.chunk(2, -1)
        return torch.cat((-right, left), -1)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.out = (
                nn.Linear(width, width, bias=False) for _ in range(4)
            )
            self.gate, self.up = (nn.Linear(width, 2 * width, bias=False) for _ in range(2))
            self.down = nn.Linear(2 * width, width, bias=False)
            self.before, self.between = (nn.Parameter(torch.ones(width)) for _ in range(2))
            shape = (1, heads, length, width // heads)
            self.register_buffer("keys", torch.zeros(shape))
            self.register_buffer("values", torch.zeros(shape))

        def forward(self, x, place, cos, sin):
            y = norm(x, self.before)
            parts = (f(y).view(1, 1, heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
            q, k, v = parts
            q, k = q * cos + turned(q) * sin, k * cos + turned(k) * sin
            self.keys.index_copy_(2, place, k)
            self.values.index_copy_(2, place, v)
            scores = torch.softmax(q @ self.keys.transpose(2, 3) * 0.25, -1)
            x = x + self.out((scores @ self.values).transpose(1, 2).reshape(1, 1, width))
            y = norm(x, self.between)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(vocabulary, width)
            self.layers = nn.ModuleList(Layer() for _ in range(layers))
            self.last = nn.Parameter(torch.ones(width))
            self.head = nn.Linear(width, vocabulary, bias=False)

        def forward(self, ids, place, cos, sin):
            x = self.tokens(ids)
            for layer in self.layers:
                x = layer(x, place, cos, sin)
            return self.head(norm(x, self.last)).argmax(-1)

    model = Model().to("npu").requires_grad_(False)
    token = torch.zeros(1, 1, dtype=torch.int64).to("npu")
    place = torch.zeros(1, dtype=torch.int64).to("npu")
    cos, sin = torch.ones(16).to("npu"), torch.ones(16).to("npu")
    return lambda: model(token, place, cos, sin)
