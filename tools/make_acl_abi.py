"""Writes C and C++ from the tables of CANN's interface: make_acl_abi.py TABLES OUT.

OUT/mindtorch/backends/ascend/acl_abi.h    every constant and prototype, in C
OUT/simulator/<library>_symbols.cpp        every symbol a library exports that its sources
                                           leave out: it answers "not supported", by name
OUT/simulator/opapi_execute.cpp            the second phase of every op
OUT/simulator/nnopbase_tensors.cpp         the names of every op's tensors, in order
"""

import pathlib
import sys

# Where CANN has the functions of the headers beside those of runtime, ops and collectives.
HEADER_LIBRARIES = {
    "acl/acl_mdl.h": "ascendcl",
    "acl/acl_op.h": "ascendcl",
    "acl/acl_op_compiler.h": "acl_op_compiler",
    "acl/acl_dump.h": "ascend_dump",
    "acl/acl_prof.h": "msprofiler",
    "acl/acl_tdt.h": "acl_tdt_channel",
    "acl/acl_tdt_queue.h": "acl_tdt_queue",
    "acl/ops/acl_cblas.h": "acl_cblas",
    "acl/ops/acl_dvpp.h": "acl_dvpp",
    "acl/ops/acl_fv.h": "acl_retr",
    "profiling/aprof_pub.h": "profapi",
    "runtime/kernel.h": "runtime",
    "runtime/rt_ffts.h": "runtime",
    "opbase": "nnopbase",  # of no header: programs look them up by name
}
# Programs find these in the runtime's library as well, which brings the other one.
ALSO_IN = {"msprofiler": "ascendcl"}
# Programs are linked to the last two, and take nothing from them.
LIBRARIES = tuple(
    dict.fromkeys(
        ("ascendcl", "nnopbase", "opapi", "hccl", *HEADER_LIBRARIES.values(), "ge_runner", "graph")
    )
)
# Functions of the first table that are declared in those headers too.
APART = {
    "aclCreateGraphDumpOpt": "acl_op_compiler",
    "aclDestroyGraphDumpOpt": "acl_op_compiler",
    "aclGenGraphAndDumpForOp": "acl_op_compiler",
    "aclGetCompileopt": "acl_op_compiler",
    "aclGetCompileoptSize": "acl_op_compiler",
    "aclSetCompileopt": "acl_op_compiler",
    "acldumpUnregCallback": "ascend_dump",
}
NNOPBASE_RESULTS = {
    f"acl{kind}*"
    for kind in (
        "Tensor", "Scalar", "IntArray", "FloatArray", "BoolArray", "TensorList", "ScalarList"
    )
}  # fmt: skip
PHASE_ONE_TAIL = ["uint64_t* workspaceSize", "aclOpExecutor** executor"]
# In the parameters' place: not public; not exported, but named in the list of all functions.
UNTYPED, LEFT_OUT = UNKNOWN = ("?", "-")
PHASE_TWO = [
    "void* workspace", "uint64_t workspaceSize", "aclOpExecutor* executor", "aclrtStream stream"
]  # fmt: skip


def rows(path):
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            yield line.split("\t")


def parameters(text):
    return [part.strip() for part in text.split(";") if part.strip()]


class Function:
    def __init__(self, library, name, result, arguments):
        self.library, self.name, self.result, self.arguments = library, name, result, arguments

    def prototype(self):
        return f"{self.result} {self.name}({', '.join(self.arguments) or 'void'})"


def read_functions(tables):
    for path in (tables / "functions.tsv", tables / "functions_newer.tsv"):
        if not path.exists():
            continue
        for name, result, *arguments in rows(path):
            if name.startswith("Hccl"):
                library = "hccl"
            elif name in APART:
                library = APART[name]
            elif name.startswith(("aclStft", "aclRfft", "aclnn")):  # beside the table of ops
                library = "opapi"
            elif result == "aclnnStatus" or result in NNOPBASE_RESULTS:
                library = "nnopbase"
            else:
                library = "ascendcl"
            result = "const char*" if result == "char*" else result
            yield Function(library, name, result, parameters("".join(arguments)))


def read_others(tables):
    """Of the other headers, whose types we do not declare."""
    for name, result, arguments, header in rows(tables / "functions_others.tsv"):
        yield Function(HEADER_LIBRARIES[header], name, result, parameters(arguments))


def read_operators(tables):
    """Those whose parameters are known."""
    every = [*rows(tables / "operators.tsv"), *rows(tables / "operators_newer.tsv")]
    for name, *arguments in every:
        if arguments and arguments[0] in UNKNOWN:
            continue
        first = parameters("".join(arguments)) + PHASE_ONE_TAIL
        yield Function("opapi", f"{name}GetWorkspaceSize", "aclnnStatus", first)
        yield Function("opapi", name, "aclnnStatus", PHASE_TWO)


def read_unknown(tables, mark):
    return [name for name, *rest in rows(tables / "operators_newer.tsv") if rest == [mark]]


def constants_of(tables):
    """C text of the enums and constants."""
    enums, lines = {}, []
    for _, group, name, value in rows(tables / "constants.tsv"):
        if group in ("constant", "define"):
            lines.append(f"#define {name} {value}")
        else:
            enums.setdefault(group, []).append((name, value))
    for group, members in enums.items():
        body = "".join(f"  {name} = {value},\n" for name, value in members)
        lines.append(f"typedef enum {group} {{\n{body}}} {group};")
    return "\n".join(lines)


def error_names(tables):
    """The first name of every error code."""
    names = {}
    for _, group, name, value in rows(tables / "constants.tsv"):
        if group in ("constant", "define") and "ERR" in name and value.isdigit():
            names.setdefault(int(value), name)
    return "".join(f'{{{code}, "{name}"}},\n' for code, name in sorted(names.items()) if code)


def header(tables, functions):
    prototypes = "\n".join(f"{function.prototype()};" for function in functions)
    return f"""/* Written by tools/make_acl_abi.py. CANN's C interface, without CANN's headers. */
#ifndef MINDTORCH_BACKENDS_ASCEND_ACL_ABI_H
#define MINDTORCH_BACKENDS_ASCEND_ACL_ABI_H

#include "mindtorch/backends/ascend/abi/acl_types.h"
#include "mindtorch/backends/ascend/abi/acl_types_newer.h"

{constants_of(tables)}

#include "mindtorch/backends/ascend/abi/acl_structs.h"

#ifdef __cplusplus
extern "C" {{
#endif
#pragma GCC visibility push(default)

{prototypes}

#pragma GCC visibility pop
#ifdef __cplusplus
}}
#endif

#endif
"""


def unsupported(function):
    """A weak definition: what the library's sources define themselves wins."""
    named = [argument for argument in function.arguments if argument != "..."]
    names = [argument.split("[")[0].split()[-1].lstrip("*") for argument in named]
    unused = "".join(f"  (void){name};\n" for name in names)
    if function.result in ("aclError", "aclnnStatus", "HcclResult"):
        code = {"aclError": "kNotSupported", "aclnnStatus": "kNoKernel"}.get(
            function.result, "kHcclNotSupported"
        )
        call = f'sim::unsupported("{function.name}", sim::{code})'
        answer = f"  return static_cast<{function.result}>({call});\n"
    else:
        answer = f'  sim::unsupported("{function.name}", sim::kNotSupported);\n'
        if function.result != "void":
            answer += "  return {};\n"
    return f"__attribute__((weak)) {function.prototype()} {{\n{unused}{answer}}}\n"


def unsupported_other(function):
    """The same for a function whose types are unknown: the caller passes what it likes."""
    answers = {"aclError": ("int", ""), "void": ("void", ""), "double": ("double", "0")}
    answers |= dict.fromkeys(("int32_t", "rtError_t"), answers["aclError"])
    answers |= {"aclDataType": ("int", "-1"), "aclFormat": ("int", "-1")}  # undefined
    result, answer = answers.get(function.result, ("uint64_t", "0"))
    call = f'sim::unsupported("{function.name}", sim::kNotSupported);\n'
    body = f"  {call}" if answer or result == "void" else f"  return {call}"
    if answer:
        body += f"  return {answer};\n"
    attributes = '__attribute__((weak, visibility("default")))'
    return f"{attributes} {result} {function.name}() {{\n{body}}}\n"


def tensor_names(functions):
    """Of each op that has any: its name, and those of its tensors and lists of tensors."""
    lines = []
    for function in functions:
        if not function.name.endswith("GetWorkspaceSize"):
            continue
        tensors = [a.split()[-1].lstrip("*") for a in function.arguments if "aclTensor" in a]
        if tensors:
            op = function.name.removesuffix("GetWorkspaceSize")
            lines.append(f'{{"{op}", "{" ".join(tensors)} "}},\n')
    return "".join(sorted(lines))


def untyped_operators(tables):
    """Both phases of those whose parameters are unknown, and a name for each that is left out, by
    which the list of all functions finds it and no program does."""
    text = ""
    for name in read_unknown(tables, UNTYPED):
        for phase in (f"{name}GetWorkspaceSize", name):
            text += f'__attribute__((weak, visibility("default"))) int {phase}() {{\n'
            text += f'  return sim::unsupported("{phase}", sim::kNoKernel);\n}}\n'
    for name in read_unknown(tables, LEFT_OUT):
        text += f'__attribute__((visibility("default"))) void mtsim_left_out_{name}() {{}}\n'
    return text


def source(includes, body):
    lines = "".join(f'#include "{name}"\n' for name in includes)
    return f'// Written by tools/make_acl_abi.py.\n{lines}\nextern "C" {{\n\n{body}\n}}\n'


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    tables, out = map(pathlib.Path, sys.argv[1:])
    functions = [*read_functions(tables), *read_operators(tables)]
    others = list(read_others(tables))
    abi = "mindtorch/backends/ascend/acl_abi.h"
    write(out / abi, header(tables, functions))
    write(out / "mindtorch/backends/ascend/acl_error_names.inc", error_names(tables))
    for library in LIBRARIES:
        own = [function for function in functions if function.library == library]
        own = [f for f in own if f.arguments != PHASE_TWO]
        other = [f for f in others if library in (f.library, ALSO_IN.get(f.library))]
        body = "\n".join([*map(unsupported, own), *map(unsupported_other, other)])
        if library == "opapi":
            body += "\n" + untyped_operators(tables)
        write(
            out / "simulator" / f"{library}_symbols.cpp",
            source([abi, "simulator/ascend/core/unsupported.h"], body),
        )
    execute = "\n".join(
        f"{function.prototype()} {{\n"
        f'  return sim::execute("{function.name}", workspace, workspaceSize, executor, stream);\n'
        "}\n"
        for function in functions
        if function.arguments == PHASE_TWO
    )
    write(
        out / "simulator" / "opapi_execute.cpp",
        source([abi, "simulator/ascend/nnopbase/executor.h"], execute),
    )
    write(
        out / "simulator" / "nnopbase_tensors.cpp",
        source(
            ["simulator/ascend/nnopbase/plan_cache.h"],
            "const sim::OpTensors sim_op_tensors[] = {\n" + tensor_names(functions) + "{}};\n",
        ),
    )


if __name__ == "__main__":
    main()
