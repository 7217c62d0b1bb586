"""Compares our declarations of CANN's interface with CANN's own headers:

    CANN_HOME=/usr/local/Ascend/ascend-toolkit/latest python tools/abi_check

Ends with 1 and a line for each difference: a signature, a constant, the size of a struct or the
place of a member. What the headers do not declare is a difference too, unless --allow-missing is
given (another release of CANN) or the function is known to be newer. The compiler is $CXX, or c++.
"""

import argparse
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
HEADERS = ("acl/*.h", "acl/error_codes/*.h", "aclnn/*.h", "aclnnop/*.h", "hccl/*.h")


class Failed(Exception):
    pass


def cann_includes(home):
    folder = home / "include"
    found = [path for pattern in HEADERS for path in sorted(folder.glob(pattern))]
    if not found:
        raise Failed(f"no headers of CANN below {folder}")
    return folder, "".join(f'#include "{path.relative_to(folder)}"\n' for path in found)


def compile_text(text, folder, *options):
    compiler = os.environ.get("CXX", "c++")
    with tempfile.TemporaryDirectory() as temporary:
        source = pathlib.Path(temporary) / "abi_check.cpp"
        source.write_text(text)
        command = [compiler, "-std=c++20", "-w", f"-I{folder}", f"-I{folder}/aclnnop", f"-I{ROOT}"]
        command += [*options, str(source)]
        return subprocess.run(command, capture_output=True, text=True)


def declared_words(includes, folder):
    """Every word of the headers, macros included."""
    done = compile_text(includes, folder, "-E", "-dD")
    if done.returncode:
        raise Failed(f"the headers do not compile:\n{done.stderr}")
    return set(re.findall(r"\w+", done.stdout))


def our_types():
    """Types, enums and structs without macros, so that they fit into a namespace."""
    parts = [(TABLES / "acl_types.h").read_text()]
    enums = make_acl_abi.constants_of(TABLES)
    parts.append("\n".join(re.findall(r"typedef enum \w+ \{.*?\} \w+;", enums, re.S)))
    parts.append((TABLES / "acl_structs.h").read_text())
    kept = [line for part in parts for line in part.splitlines() if not line.startswith("#")]
    return "\n".join(kept)


def same_type(name, expected):
    condition = f"std::is_same_v<decltype({name}), {expected}>"
    return f'static_assert({condition}, "{name} is not {expected}");'


def function_checks():
    for function in [*make_acl_abi.read_functions(TABLES), *make_acl_abi.read_operators(TABLES)]:
        expected = f"{function.result}({', '.join(function.arguments)})"
        yield function.name, same_type(function.name, expected)


def equal(what, left, right):
    return f'static_assert({left} == {right}, "{what} differs");'


def constant_checks():
    rows = [(name, value) for _, _, name, value in make_acl_abi.rows(TABLES / "constants.tsv")]
    rows += re.findall(r"^  (\w+) = (\w+),$", (TABLES / "acl_types.h").read_text(), re.M)
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
    text = (TABLES / "acl_types.h").read_text()
    for name in re.findall(r"^typedef (?!struct|enum)[\w ]+\*? (\w+);$", text, re.M):
        condition = f"std::is_same_v<ours::{name}, ::{name}>"
        yield name, f'static_assert({condition}, "the type {name} differs");'
    functions = re.findall(r"^typedef (\w[\w ]*\*?) \(\*(\w+)\)\((.*?)\);$", text, re.M | re.S)
    for result, name, arguments in functions:
        condition = f"std::is_same_v<{name}, {result} (*)({' '.join(arguments.split())})>"
        yield name, f'static_assert({condition}, "the type {name} differs");'


def compare(home, allow_missing):
    """(differences, number of things compared)"""
    folder, includes = cann_includes(home)
    words = declared_words(includes, folder)
    newer = {name for name, *_ in make_acl_abi.rows(TABLES / "functions_newer.tsv")}
    differences, asserts = [], []
    for check in (function_checks, constant_checks, struct_checks, typedef_checks):
        for name, text in check():
            if name in words:
                asserts.append(text)
            elif name not in newer and not allow_missing:
                differences.append(f"{name} is not declared")
    standard = "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n"
    source = f"{standard}#include <type_traits>\nnamespace ours {{\n{our_types()}\n}}\n"
    source += includes + "\n".join(asserts) + "\n"
    done = compile_text(source, folder, "-fsyntax-only", "-fmax-errors=0")
    errors = re.findall(r"error: (?:static assertion failed: )?(.*)", done.stderr)
    if done.returncode and not errors:
        raise Failed(done.stderr)
    return differences + errors, len(asserts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--allow-missing", action="store_true")
    arguments = parser.parse_args()
    home = os.environ.get("CANN_HOME")
    if not home:
        sys.exit("CANN_HOME is not set: there are no headers of CANN to compare with")
    try:
        differences, compared = compare(pathlib.Path(home), arguments.allow_missing)
    except Failed as failure:
        sys.exit(str(failure))
    for difference in differences:
        print(difference)
    print(f"{compared} declarations compared with {home}, {len(differences)} differences")
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
