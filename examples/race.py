"""A race between two streams, found without an NPU, and its correction.

A side stream reads what the default stream writes. On a card the wrong program gives the right
numbers nearly always; the simulator says what is wrong, with both lines, every time.
"""

import mindtorch_v2 as torch

torch.npu.simulator.enable(print=False)


def statistics(values, side, ordered):
    """The mean of values * 2, taken on another stream."""
    scaled = values * 2
    if ordered:
        side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        mean = scaled.mean()
    if ordered:
        # Also the way back: the default stream may go on to use, or to free, these tensors.
        torch.npu.current_stream().wait_stream(side)
    return mean


def main():
    values = torch.arange(1000, dtype=torch.float32).npu()
    side = torch.npu.Stream()
    try:
        with torch.npu.simulator.checked():
            statistics(values, side, ordered=False)
    except torch.npu.simulator.SimulatorReport as error:
        print("without an order:", error.reports[0], sep="\n  ")
    else:
        raise SystemExit("the race was not found")
    with torch.npu.simulator.checked():
        mean = statistics(values, side, ordered=True)
    print(f"with one: {mean.item()}, and nothing to report")


main()
