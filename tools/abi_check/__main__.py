"""Compares our declarations of CANN's interface with CANN's own headers:

    CANN_HOME=/usr/local/Ascend/ascend-toolkit/latest python tools/abi_check

Ends with 1 and a line for each difference: a signature, a constant, the size of a struct or the
place of a member. What the headers do not declare is a difference too, unless --allow-missing is
given (another release of CANN); what is known to be newer than 8.1.RC1 is only listed. The compiler
is $CXX, or c++.
"""

import argparse
import collections
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import make_acl_abi  # noqa: E402

TABLES = ROOT / "mindtorch" / "backends" / "ascend" / "abi"
TYPES = ("acl_types.h", "acl_types_newer.h")
FOLDERS = ("acl", "acl/error_codes", "acl/ops", "aclnn", "aclnnop", "aclnnop/level2", "hccl")


class Failed(Exception):
    pass


def guard_of(path):
    """The macro that keeps a header from being read twice, or None."""
    found = re.search(r"^\s*#\s*ifndef\s+(\w+)\s+#\s*define\s+\1\b", path.read_text(), re.M)
    return found and found[1]


def cann_includes(folder):
    """The #include lines of each translation unit: one for all headers, and one for each header
    that shares its guard with another, since only the first of those would be read."""
    found = [path for name in FOLDERS for path in sorted((folder / name).glob("*.h"))]
    if not found:
        raise Failed(f"no headers of CANN below {folder}")
    guards = {path: guard_of(path) for path in found}
    counts = collections.Counter(guards.values())
    together, apart = [], []
    for path, guard in guards.items():
        line = f'#include "{path.relative_to(folder)}"\n'
        (apart if guard and counts[guard] > 1 else together).append(line)
    return ["".join(together), *apart]


def compile_text(text, folder, *options):
    compiler = os.environ.get("CXX", "c++")
    with tempfile.TemporaryDirectory() as temporary:
        source = pathlib.Path(temporary) / "abi_check.cpp"
        source.write_text(text)
        command = [compiler, "-std=c++20", "-w", f"-I{folder}", f"-I{folder}/aclnnop"]
        command += [f"-I{folder}/aclnnop/level2", f"-I{ROOT}", *options, str(source)]
        return subprocess.run(command, capture_output=True, text=True)


def declared_words(includes, folder):
    """Every word of the headers, macros included."""
    done = compile_text(includes, folder, "-E", "-dD")
    if done.returncode:
        raise Failed(f"the headers do not compile:\n{done.stderr}")
    return set(re.findall(r"\w+", done.stdout))


def types_text():
    return "\n".join((TABLES / name).read_text() for name in TYPES)


def newer_names():
    """What no header of 8.1.RC1 declares."""
    names = {name for name, *_ in make_acl_abi.rows(TABLES / "functions_newer.tsv")}
    for name, *_ in make_acl_abi.rows(TABLES / "operators_newer.tsv"):
        names.update((name, f"{name}GetWorkspaceSize"))
    text = (TABLES / "acl_types_newer.h").read_text()
    names.update(re.findall(r"^  (\w+) = ", text, re.M))
    names.update(re.findall(r"^\} (\w+);", text, re.M))
    return names | set(re.findall(r"\(\*(\w+)\)", text))


def our_types():
    """Types, enums and structs without macros, so that they fit into a namespace."""
    parts = [types_text()]
    enums = make_acl_abi.constants_of(TABLES)
    parts.append("\n".join(re.findall(r"typedef enum \w+ \{.*?\} \w+;", enums, re.S)))
    parts.append((TABLES / "acl_structs.h").read_text())
    kept = [line for part in parts for line in part.splitlines() if not line.startswith("#")]
    return "\n".join(kept)


def same_type(name, expected):
    condition = f"std::is_same_v<decltype({name}), {expected}>"
    return f'static_assert({condition}, "{name} is not {expected}");'


def function_checks():
    readers = (make_acl_abi.read_functions, make_acl_abi.read_others, make_acl_abi.read_operators)
    for function in itertools.chain(*(read(TABLES) for read in readers)):
        expected = f"{function.result}({', '.join(function.arguments)})"
        yield function.name, same_type(function.name, expected)


def equal(what, left, right):
    return f'static_assert({left} == {right}, "{what} differs");'


def constant_checks():
    rows = [(name, value) for _, _, name, value in make_acl_abi.rows(TABLES / "constants.tsv")]
    rows += re.findall(r"^  (\w+) = (\w+),$", types_text(), re.M)
    for name, value in rows:
        yield name, equal(f"{name} is not {value}: it", f"(long long)({name})", f"{value}LL")


def struct_checks():
    text = re.sub(r"/\*.*?\*/", "", our_types(), flags=re.S)
    for name, body in re.findall(r"typedef (?:struct|union) (\w+) \{(.*?)\} \1;", text, re.S):
        checks = [equal(f"sizeof({name})", f"sizeof(ours::{name})", f"sizeof(::{name})")]
        for member in re.findall(r"(\w+)(?:\[\d+\])?;", body):
            place = [f"offsetof({space}::{name}, {member})" for space in ("ours", "")]
            size = [f"sizeof({space}::{name}::{member})" for space in ("ours", "")]
            checks.append(equal(f"the place of {name}.{member}", *place))
            checks.append(equal(f"the size of {name}.{member}", *size))
        yield name, "\n".join(checks)


def typedef_checks():
    text = types_text()
    for name in re.findall(r"^typedef (?!struct|enum)[\w ]+\*? (\w+);$", text, re.M):
        condition = f"std::is_same_v<ours::{name}, ::{name}>"
        yield name, f'static_assert({condition}, "the type {name} differs");'
    functions = re.findall(r"^typedef (\w[\w ]*\*?) \(\*(\w+)\)\((.*?)\);$", text, re.M | re.S)
    for result, name, arguments in functions:
        condition = f"std::is_same_v<{name}, {result} (*)({' '.join(arguments.split())})>"
        yield name, f'static_assert({condition}, "the type {name} differs");'


class Unit:
    """A translation unit: some of the headers, and what is checked of them."""

    def __init__(self, includes, folder):
        self.includes, self.folder = includes, folder
        self.words = declared_words(includes, folder)
        self.asserts = []

    def errors(self):
        standard = "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n"
        source = f"{standard}#include <type_traits>\nnamespace ours {{\n{our_types()}\n}}\n"
        source += self.includes + "\n".join(self.asserts) + "\n"
        done = compile_text(source, self.folder, "-fsyntax-only", "-fmax-errors=0")
        errors = re.findall(r"error: (?:static assertion failed: )?(.*)", done.stderr)
        if done.returncode and not errors:
            raise Failed(done.stderr)
        return errors


def compare(home, allow_missing):
    """(differences, names that are newer than the headers, number of things compared)"""
    folder = home / "include"
    units = [Unit(includes, folder) for includes in cann_includes(folder)]
    known_as_newer = newer_names()
    differences, newer = [], []
    for check in (function_checks, constant_checks, struct_checks, typedef_checks):
        for name, text in check():
            unit = next((unit for unit in units if name in unit.words), None)
            if unit:
                unit.asserts.append(text)
            elif name in known_as_newer:
                newer.append(name)
            elif not allow_missing:
                differences.append(f"{name} is not declared")
    for unit in units:
        differences += unit.errors()
    return differences, newer, sum(len(unit.asserts) for unit in units)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--allow-missing", action="store_true")
    arguments = parser.parse_args()
    home = os.environ.get("CANN_HOME")
    if not home:
        sys.exit("CANN_HOME is not set: there are no headers of CANN to compare with")
    try:
        differences, newer, compared = compare(pathlib.Path(home), arguments.allow_missing)
    except Failed as failure:
        sys.exit(str(failure))
    for difference in differences:
        print(difference)
    for name in newer:
        print(f"{name} is newer than these headers")
    counts = f"{len(differences)} differences, {len(newer)} newer than its headers"
    print(f"{compared} declarations compared with {home}, {counts}")
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
