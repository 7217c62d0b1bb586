"""The long run: python -m tests.differential --calls 1000000 --seed 0 [--op add]"""

import argparse
from pathlib import Path

from tests.differential import runner


def lines_of(report, group, device, mode, examples):
    yield f"{report.count(group)} of {report.calls} calls"
    for (op, kind), count, rows in report.grouped(group, examples):
        yield f"\n{count:6d}  {op}  {kind}"
        for row in rows:
            yield f"        {runner.reproducer(row, device, mode)}"
            yield f"            {row['detail']}"


def text_lines(report, device, mode):
    texts = report.texts()
    yield f"{len(texts)} pairs of texts differ"
    for (torch_text, our_text), count, row in texts:
        yield f"\n{count:6d}  {row['op']}"
        yield f"        torch: {torch_text}"
        yield f"        ours:  {our_text}"
        yield f"        {runner.reproducer(row, device, mode)}"


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the number of the first call")
    parser.add_argument("--op", help="one op: its name, or operator, or indexing")
    parser.add_argument("--device", default="cpu", choices=("cpu", "npu"))
    parser.add_argument("--mode", default="eager", choices=("eager", "pipeline"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--examples", type=int, default=3, help="reproducers per op and kind")
    parser.add_argument("--reports", help="write one file per group here, not to the screen")
    options = parser.parse_args()

    def print_report(report):
        print(f"{report.calls} calls, {len(report.rows)} differences", flush=True)

    report = runner.run(
        options.calls, options.seed, options.op, options.device, options.mode, options.jobs,
        options.start, print_report if options.calls > runner.BATCH else None,
    )  # fmt: skip
    for group in runner.GROUPS:
        if group == "text":
            lines = text_lines(report, options.device, options.mode)
        else:
            lines = lines_of(report, group, options.device, options.mode, options.examples)
        if options.reports:
            path = Path(options.reports) / f"{group}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(lines) + "\n")
        else:
            print(f"\n== {group}")
            print("\n".join(lines))
    reasons = {}
    for why, _ in report.known:
        reasons[why] = reasons.get(why, 0) + 1
    print(f"\n{report.calls} calls, torch raised in {report.raised}; known differences:")
    for why, count in sorted(reasons.items(), key=lambda item: -item[1]):
        print(f"{count:6d}  {why}")
    for name, rate in report.rates().items():
        print(f"{rate:8.2f}  {name}")


if __name__ == "__main__":
    main()
