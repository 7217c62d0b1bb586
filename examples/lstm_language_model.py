"""Trains an LSTM language model, word by word, on sentences of a small grammar.

    python -m mindtorch_v2 examples/lstm_language_model.py
    python -m mindtorch_v2 examples/lstm_language_model.py --device npu

Truncated backpropagation through time: the hidden state of a batch is the beginning of the next
one. Prints losses and perplexities, keeps the best model, and writes a few sentences with it.
"""

import argparse
import math
import pathlib
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

GRAMMAR = {
    "SENTENCE": ["NOUN_PHRASE VERB_PHRASE .", "NOUN_PHRASE VERB_PHRASE , CONNECTIVE SENTENCE"],
    "NOUN_PHRASE": ["ARTICLE NOUN", "ARTICLE ADJECTIVE NOUN", "ARTICLE NOUN PLACE"],
    "VERB_PHRASE": ["VERB_ALONE", "VERB NOUN_PHRASE", "VERB_ALONE PLACE"],
    "PLACE": ["PREPOSITION ARTICLE NOUN"],
    "ARTICLE": ["the", "a", "every"],
    "NOUN": ["cat", "dog", "engineer", "river", "house", "machine", "bird", "tree", "child"],
    "ADJECTIVE": ["old", "small", "red", "quiet", "strange"],
    "VERB": ["sees", "builds", "follows", "likes", "finds"],
    "VERB_ALONE": ["sleeps", "runs", "waits", "sings"],
    "PREPOSITION": ["near", "behind", "under"],
    "CONNECTIVE": ["and", "but", "because"],
}


def sentence(rng, symbol="SENTENCE"):
    if symbol not in GRAMMAR:
        return [symbol]
    rule = rng.choice(GRAMMAR[symbol])
    return [word for part in rule.split() for word in sentence(rng, part)]


class Corpus:
    """Text as numbers of words, in a part for training and one for validation."""

    def __init__(self, sentences, seed):
        rng = random.Random(seed)
        words = [word for _ in range(sentences) for word in sentence(rng)]
        self.words = sorted(set(words))
        numbers = {word: number for number, word in enumerate(self.words)}
        tokens = torch.tensor([numbers[word] for word in words], dtype=torch.long)
        self.train, self.valid = tokens.split([len(tokens) * 9 // 10, -(-len(tokens) // 10)])

    def number(self, word):
        return self.words.index(word)


def batchify(tokens, batch_size, device):
    """Columns of text that are read side by side: (length, batch_size)."""
    length = tokens.size(0) // batch_size
    return tokens[: length * batch_size].view(batch_size, -1).t().contiguous().to(device)


class LanguageModel(nn.Module):
    def __init__(self, vocabulary, width, layers, dropout):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(vocabulary, width)
        self.rnn = nn.LSTM(width, width, layers, dropout=dropout)
        self.decoder = nn.Linear(width, vocabulary)
        self.decoder.weight = self.encoder.weight
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        for name, parameter in self.rnn.named_parameters():
            if name.startswith("weight_hh"):
                nn.init.orthogonal_(parameter)
            elif name.startswith("bias_ih"):
                with torch.no_grad():  # remember at first: the forget gate is open
                    parameter.zero_()
                    parameter[self.rnn.hidden_size : 2 * self.rnn.hidden_size].fill_(1.0)

    def forward(self, tokens, hidden):
        embedded = self.drop(self.encoder(tokens))
        self.rnn.flatten_parameters()
        output, hidden = self.rnn(embedded, hidden)
        return self.decoder(self.drop(output)), hidden

    def init_hidden(self, batch_size):
        weight = next(self.parameters())
        shape = (self.rnn.num_layers, batch_size, self.rnn.hidden_size)
        return weight.new_zeros(shape), weight.new_zeros(shape)


def repackage(hidden):
    """The same states, cut from their history."""
    return tuple(state.detach() for state in hidden)


def windows(source, bptt):
    for start in range(0, source.size(0) - 1, bptt):
        length = min(bptt, source.size(0) - 1 - start)
        yield source[start : start + length], source[start + 1 : start + 1 + length]


def evaluate(model, source, bptt):
    model.eval()
    hidden = model.init_hidden(source.size(1))
    total = torch.zeros((), device=source.device)
    with torch.inference_mode():
        for tokens, targets in windows(source, bptt):
            scores, hidden = model(tokens, hidden)
            total += F.cross_entropy(scores.flatten(0, 1), targets.flatten(), reduction="sum")
    return (total / ((source.size(0) - 1) * source.size(1))).item()


@torch.no_grad()
def write(model, corpus, sentences, temperature, device):
    model.eval()
    hidden = model.init_hidden(1)
    token = torch.full((1, 1), corpus.number("."), dtype=torch.long, device=device)
    words = []
    while words.count(".") < sentences and len(words) < 40 * sentences:
        scores, hidden = model(token, hidden)
        weights = scores.squeeze().div(temperature).exp().cpu()
        token.fill_(torch.multinomial(weights, 1)[0])
        words.append(corpus.words[token.item()])
    return " ".join(words).replace(" .", ".").replace(" ,", ",")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sentences", type=int, default=4000)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--bptt", type=int, default=24)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--lr", type=float, default=20.0)
    parser.add_argument("--clip", type=float, default=0.25)
    parser.add_argument("--log-every", type=int, default=20)
    parser.add_argument("--valid-every", type=int, default=60)
    parser.add_argument(
        "--checkpoints", type=pathlib.Path, help="a folder: one is saved at every validation"
    )
    parser.add_argument("--resume", type=pathlib.Path, help="a checkpoint to go on from")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    corpus = Corpus(args.sentences, args.seed)
    train_data = batchify(corpus.train, args.batch_size, args.device)
    valid_data = batchify(corpus.valid, args.batch_size, args.device)
    model = LanguageModel(len(corpus.words), args.width, args.layers, args.dropout).to(args.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
    print(f"{len(corpus.train)} words for training, {len(corpus.words)} different ones; "
          f"{sum(p.numel() for p in model.parameters())} parameters")  # fmt: skip

    step, best, best_state = 0, math.inf, model.state_dict()
    if args.resume:
        saved = torch.load(args.resume, map_location=args.device)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        scheduler.load_state_dict(saved["scheduler"])
        torch.set_rng_state(saved["rng"].cpu())
        step, best, best_state = saved["step"], saved["best"], saved["best_state"]

    positions = list(windows(train_data, args.bptt))
    hidden = model.init_hidden(args.batch_size)
    if args.resume:
        hidden = tuple(saved["hidden"])
    running = 0.0
    while step < args.steps:
        if step % len(positions) == 0:
            hidden = model.init_hidden(args.batch_size)
        tokens, targets = positions[step % len(positions)]
        model.train()
        optimizer.zero_grad()
        scores, hidden = model(tokens, repackage(hidden))
        loss = F.cross_entropy(scores.view(-1, len(corpus.words)), targets.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        running += loss.item()
        step += 1
        if step % args.log_every == 0:
            mean = running / args.log_every
            print(f"step {step:4}  loss {mean:.6f}  perplexity {math.exp(mean):.4f}")
            running = 0.0
        if step % args.valid_every == 0 or step == args.steps:
            valid = evaluate(model, valid_data, args.bptt)
            scheduler.step(valid)
            if valid < best:
                best, best_state = valid, {k: v.clone() for k, v in model.state_dict().items()}
            print(f"step {step:4}  valid_loss {valid:.6f}  lr {scheduler.get_last_lr()[0]:.4f}")
            if args.checkpoints:
                torch.save(
                    {
                        "model": model.state_dict(),
                        "optimizer": optimizer.state_dict(),
                        "scheduler": scheduler.state_dict(),
                        "hidden": repackage(hidden),
                        "rng": torch.get_rng_state(),
                        "step": step,
                        "best": best,
                        "best_state": best_state,
                    },
                    args.checkpoints / f"step-{step}.pt",
                )

    model.load_state_dict(best_state)
    print(f"best validation loss {best:.6f}; the model writes:")
    print(write(model, corpus, sentences=4, temperature=0.8, device=args.device))


if __name__ == "__main__":
    main()
