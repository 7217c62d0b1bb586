"""What makes a program that was written for CANN find the simulator in CANN's place."""

import os
import shlex
import sys

from mindtorch_v2.npu.simulator import _library

_SEARCHED = "LD_LIBRARY_PATH"


def _variables():
    """Those of CANN's set_env.sh that programs read. The folders hold CANN's version, no more."""
    home = _library.folder() / "cann"
    return {
        "ASCEND_HOME_PATH": str(home),
        "ASCEND_TOOLKIT_HOME": str(home),
        "ASCEND_OPP_PATH": str(home / "opp"),
    }


def exports():
    """Lines for a shell."""
    folder = shlex.quote(str(_library.folder()))
    lines = [f"export {_SEARCHED}={folder}${{{_SEARCHED}:+:${_SEARCHED}}}"]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in _variables().items()]
    return "\n".join(lines)


def run(arguments, python=None):
    """Becomes an interpreter, this one or another, with the simulator in CANN's place."""
    before = os.environ.get(_SEARCHED)
    path = str(_library.folder()) + (os.pathsep + before if before else "")
    environment = os.environ | _variables() | {_SEARCHED: path}
    interpreter = python or sys.executable
    sys.stdout.flush()
    os.execvpe(interpreter, [interpreter, *arguments], environment)
