"""What the host pays on an NPU, beside Huawei's torch_npu: both on the simulator, which computes
and checks nothing. Needs `make test-torch-npu` once, for the environment with torch_npu.

python benchmarks/torch_npu.py            ops and programs, each side in processes of its own
python benchmarks/torch_npu.py --card     also where phase one costs the host 40 us, and a repeat 8
python benchmarks/torch_npu.py --quick    fewer rounds
python benchmarks/torch_npu.py --check    exits with 1 when a threshold is missed
python benchmarks/torch_npu.py --json FILE
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
THEIR_PYTHON = ROOT / "build" / "torch_npu" / "bin" / "python"

# At most so much of what the best of torch_npu takes.
OP = 0.1
BROAD_OPS = dict.fromkeys(("layer_norm", "linear", "sdpa", "dropout"), 0.2)
PROGRAMS = {"MLP with AdamW": 0.08, "GPT with AdamW": 0.15, "Llama decode": 0.12}
PIPELINE_TO_EAGER = 0.8

# Where torch_npu does what: 0: all in the calling thread; 1: launches in another; 2: planning, too.
QUEUES = (0, 1, 2)
CARD = {"MINDTORCH_SIM_PHASE_ONE": "40", "MINDTORCH_SIM_REPEAT": "8"}


def folder():
    command = [sys.executable, "-m", "mindtorch_v2.npu.simulator", "--folder"]
    return subprocess.check_output(command, text=True).strip()


def environment(**more):
    settings = {"MINDTORCH_SIM_COMPUTE": "0", "MINDTORCH_SIM_CHECKS": "none"}
    # The log holds one step at a time.
    threads = {"OMP_NUM_THREADS": "1", "MINDTORCH_SIM_DEVICES": "1"}
    return os.environ | settings | threads | {"RIVAL_FOLDER": folder()} | more


def last_line(command, variables):
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def worker(side, quick, **more):
    arguments = [str(HERE / "rival" / "worker.py"), side, *(["quick"] if quick else [])]
    if side == "theirs":
        run = ["-m", "mindtorch_v2.npu.simulator", "run", "--python", str(THEIR_PYTHON)]
        return last_line([sys.executable, *run, *arguments], environment(**more))
    return last_line([sys.executable, *arguments], environment(MINDTORCH_NPU="sim", **more))


def simulator_cost(**more):
    """Of one op, in microseconds of the calling thread."""
    with tempfile.TemporaryDirectory() as scratch:
        program = pathlib.Path(scratch) / "cost"
        source = HERE / "rival" / "simulator_cost.c"
        include = [f"-I{ROOT}", f"-I{ROOT / 'build' / 'release' / 'generated'}"]
        libraries = [f"-L{folder()}", "-Wl,--no-as-needed", "-lopapi", "-lnnopbase", "-lascendcl"]
        compiler = os.environ.get("CC", "cc")
        command = [compiler, "-O2", *include, str(source), "-o", str(program), *libraries, "-ldl"]
        subprocess.run(command, check=True)
        return last_line([str(program)], environment(LD_LIBRARY_PATH=folder(), **more))


def phases(calls):
    """How many ops a step plans, and how many it launches."""
    ops = {name: count for name, count in calls.items() if name.startswith("aclnn")}
    planned = sum(count for name, count in ops.items() if name.endswith("GetWorkspaceSize"))
    return planned, sum(ops.values()) - planned


def own_us(entry, cost, side, queue=0):
    """The simulator's part of a time, as far as the calling thread has it."""
    planned, launched = phases(entry["calls"])
    if queue == 2:
        return 0.0
    if queue == 1:  # launches are another thread's
        return planned * (cost["planned"] - cost["repeated"])
    again = cost["cached" if side == "theirs" else "repeated"]
    return planned * cost["planned"] + max(launched - planned, 0) * again


def net(entry, cost, side, queue=0):
    return max(entry["host_us"] - own_us(entry, cost, side, queue), 0.01)


def events(calls):
    names = ("aclrtRecordEvent", "aclrtStreamWaitEvent")
    return sum(calls.get(name, 0) for name in names)


def limit(name):
    return PROGRAMS.get(name) or BROAD_OPS.get(name, OP)


def table(cost, ours, pipeline, theirs):
    """Lines to print, and those that miss their threshold."""
    heads = ["", "ours", *(f"theirs {q}" for q in QUEUES), "ratio", "at most", "calls", "theirs"]
    heads += ["launches", "theirs", "events", "theirs"]
    lines, missed = [f"{heads[0]:16}" + "".join(f"{head:>10}" for head in heads[1:])], []

    def row(name, entry, rivals, ratio, most):
        counts = []
        for count in (lambda c: sum(c.values()), lambda c: phases(c)[1], events):
            counts += [count(entry["calls"]), count(rivals["calls"]) if rivals else ""]
        return f"{name:16}" + ratio + f"{most:10}" + "".join(f"{count:>10}" for count in counts)

    for name, entry in ours.items():
        mine = net(entry, cost, "ours")
        other = [net(theirs[queue][name], cost, "theirs", queue) for queue in QUEUES]
        times = "".join(f"{time:10.2f}" for time in (mine, *other, mine / min(other)))
        lines.append(row(name, entry, theirs[0][name], times, limit(name)))
        if mine / min(other) > limit(name):
            missed.append(f"{name}: {mine / min(other):.3f} of torch_npu's, at most {limit(name)}")
    lines += ["", "in a pipeline, against our own eager"]
    for name, entry in pipeline.items():
        mine, eager = net(entry, cost, "ours"), net(ours[name], cost, "ours")
        times = f"{mine:10.2f}{eager:10.2f}{'':20}{mine / eager:10.2f}"
        lines.append(row(name, entry, ours[name], times, PIPELINE_TO_EAGER))
        if mine / eager > PIPELINE_TO_EAGER:
            missed.append(f"{name} in a pipeline: {mine / eager:.3f}, at most {PIPELINE_TO_EAGER}")
    return lines, missed


def compare(quick, **settings):
    cost = simulator_cost(**settings)
    ours, pipeline = worker("ours", quick, **settings), worker("pipeline", quick, **settings)
    theirs = {
        queue: worker("theirs", quick, TASK_QUEUE_ENABLE=str(queue), **settings) for queue in QUEUES
    }
    return {"simulator": cost, "ours": ours, "pipeline": pipeline, "theirs": theirs}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--card", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    chosen = parser.parse_args()
    if not THEIR_PYTHON.exists():
        sys.exit("there is no torch_npu: tools/setup_torch_npu.sh installs it")
    found, missed = {}, []
    for name, settings in {"as the simulator is": {}, "as a card": CARD}.items():
        if settings and not chosen.card:
            continue
        found[name] = result = compare(chosen.quick, **settings)
        cost = result["simulator"]
        print(f"\nmicroseconds of the calling thread, {name}")
        if settings:  # what an op takes stands for CANN, and is no cost of the simulator's own
            cost = dict.fromkeys(cost, 0.0)
        else:
            print("without the simulator's own for each op: " + json.dumps(cost))
        lines, late = table(cost, result["ours"], result["pipeline"], result["theirs"])
        print("\n".join(lines))
        if not settings:  # there a queue in another thread hides what a card costs
            missed += late
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1))
    print("\n" + "\n".join(["missed:", *missed] if missed else ["every threshold is met"]))
    sys.exit(bool(missed) and chosen.check)


if __name__ == "__main__":
    main()
