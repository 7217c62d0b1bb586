"""What CANN's op repositories (ops-math, ops-nn, ops-cv, ops-transformer) say of each op: its
arguments, and by argument dtypes, formats and ranks, and the chips that have it. Facts of the
sources' checks, where those can be followed, else of the documents."""

import collections
import dataclasses
import html
import pathlib
import re
import subprocess

DTYPES = {
    "FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE", "INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32",
    "INT64", "UINT64", "BOOL", "COMPLEX32", "COMPLEX64", "COMPLEX128", "INT4",
}  # fmt: skip
OTHER_NAMES = {"BF16": "BFLOAT16", "FLOAT32": "FLOAT", "FP16": "FLOAT16", "FLOAT64": "DOUBLE"}
CHIPS = {"910b": "A2", "A3": "A3", "910": "910", "310p": "310P", "310b": "310B", "950": "950"}
OF_OTHER_CHIPS = re.compile(r"REGBASE|950|910_95|DAV_3510|ARCH3510|310B|KIRIN|MC62", re.IGNORECASE)
OF_A2 = re.compile(r"910B|910_93|2201|BF16", re.IGNORECASE)


@dataclasses.dataclass
class Argument:
    dtypes: set = dataclasses.field(default_factory=set)  # empty: nothing is said
    mentioned: set = dataclasses.field(default_factory=set)  # anywhere, of any chip like ours
    formats: set = dataclasses.field(default_factory=set)
    ranks: tuple = None
    checked: bool = False  # the dtypes are those that the source checks


@dataclasses.dataclass
class Op:
    path: str
    arguments: dict  # name -> Argument
    chips: dict = dataclasses.field(default_factory=dict)  # chip -> whether it has the op


class Checkout:
    """The files of a folder, or of a git repository without a work tree."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.files = {}
        if (self.path / "HEAD").exists():
            self.read_git()
        else:
            for file in self.path.rglob("*"):
                name = str(file.relative_to(self.path))
                if self.wanted(name) and file.is_file():
                    self.files[name] = file.read_text(errors="replace")

    @staticmethod
    def wanted(name):
        if re.search(r"(^|/)(experimental|tests?|examples)/", name):
            return False
        return bool(re.search(r"docs/aclnn[^/]*\.md$|aclnn_[^/]*\.(cpp|h)$", name))

    def git(self, *arguments, **more):
        command = ["git", "-C", str(self.path), *arguments]
        return subprocess.run(command, capture_output=True, check=True, **more).stdout

    def read_git(self):
        listed = self.git("ls-tree", "-r", "-z", "HEAD").decode().split("\0")
        names = {}
        for line in filter(None, listed):
            left, name = line.split("\t", 1)
            if self.wanted(name):
                names[name] = left.split()[2]
        out = self.git("cat-file", "--batch", input="\n".join(names.values()).encode())
        at = 0
        for name in names:
            end = out.index(b"\n", at)
            size = int(out[at:end].split()[-1])
            self.files[name] = out[end + 1 : end + 1 + size].decode(errors="replace")
            at = end + 2 + size


def dtypes_in(text):
    words = re.findall(r"[A-Z]+[0-9_]*[A-Z0-9]*", text)
    return {OTHER_NAMES.get(word, word) for word in words} & DTYPES


def ranks_in(text):
    """ "1-8", "2", "2维" as (least, most)."""
    found = re.fullmatch(r"(\d)\s*(?:[-~～至到]\s*(\d))?\s*维?", text.strip())
    return (int(found[1]), int(found[2] or found[1])) if found else None


def plain(cell):
    return html.unescape(re.sub(r"<[^>]*>", " ", cell)).strip()


def tables(section):
    for table in re.findall(r"<table.*?</table>", section, re.DOTALL):
        rows = []
        for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL):
            rows.append(
                [plain(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)]
            )
        yield rows


def arguments_of_document(section):
    """name -> Argument, from the table of parameters."""
    found = {}
    for head, *rows in filter(None, tables(section)):
        if not head or "参数" not in head[0] or "数据类型" not in head:
            continue
        for row in rows:
            if len(row) != len(head):
                continue
            cells = dict(zip(head, row, strict=True))
            name = re.match(r"\w+", row[0])
            if name is None or "acl" not in row[0]:
                continue
            shape = next((cells[key] for key in head if key.startswith("维度")), "")
            dtypes = dtypes_in(cells["数据类型"])
            found[name[0]] = Argument(
                dtypes,
                set(dtypes),
                set(re.findall(r"[A-Z][A-Z0-9_]+", cells.get("数据格式", ""))),
                ranks_in(shape),
            )
        break
    # What a note of a chip that ours stands for adds.
    for note in re.findall(r"额外支持([A-Z0-9、 ]+)", section):
        for argument in found.values():
            if "FLOAT16" in argument.dtypes:
                argument.dtypes |= dtypes_in(note)
                argument.mentioned |= dtypes_in(note)
    return found


def chips_of(document):
    chips = {}
    support = re.search(r"^## 产品支持情况(.*?)^## ", document, re.MULTILINE | re.DOTALL)
    line = r'<!-- npu="([^"]+)" id\d+ -->\s*\n- <term>.*?</term>：(\S+)'
    for tag, text in re.findall(line, support[1] if support else ""):
        for each in tag.split(","):
            if each in CHIPS:
                chips[CHIPS[each]] = text.startswith("支持")
    return chips


def without_comments(source):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", source, flags=re.DOTALL)


def functions_of(source):
    """name -> bodies"""
    found = collections.defaultdict(list)
    for match in re.finditer(r"\b(\w+)\s*\(([^;{}]*?)\)\s*(?:const\s*)?\{", source):
        if match[1] in ("if", "for", "while", "switch", "catch"):
            continue
        depth, at = 1, match.end()
        while depth and at < len(source):
            depth += {"{": 1, "}": -1}.get(source[at], 0)
            at += 1
        found[match[1]].append(source[match.start() : at])
    return found


LIST = re.compile(r"initializer_list<[^>]*>\s*(?:&\s*)?(\w+)\s*=?\s*\{([^}]*)\}")


class Source:
    """The checks of one source file."""

    def __init__(self, text):
        self.text = without_comments(text)
        self.lists = {name: {self.dtype(d) for d in re.findall(r"DT_(\w+)", body)} & DTYPES
                      for name, body in LIST.findall(self.text)}  # fmt: skip
        self.functions = functions_of(self.text)
        # Some check bfloat16 by the chip's name alone.
        self.bfloat16 = any("BFLOAT16" in dtypes for dtypes in self.lists.values())

    @staticmethod
    def dtype(name):
        return OTHER_NAMES.get(name, name)

    def choose(self, names):
        """The list of an Atlas A2 among those that an expression may give."""
        known = [name for name in names if name in self.lists]
        ours = [name for name in known if not OF_OTHER_CHIPS.search(name)]
        if not ours:
            return None
        best = [name for name in ours if OF_A2.search(name)] or ours
        return max((self.lists[name] for name in best), key=len)

    def resolve(self, expression, body, depth=0):
        """The dtypes that an expression stands for; None: not to be followed."""
        if depth > 4:
            return None
        names = re.findall(r"\w+", expression)
        direct = self.choose(names)
        if direct is not None:
            return direct
        for name in names:
            local = re.search(rf"\b{name}\s*=\s*([^;]+);", body)
            if local and local[1].strip() != name:
                return self.resolve(local[1], body, depth + 1)
            for called in self.functions.get(name, []):
                found = self.choose(re.findall(r"\w+", called[called.index("{") :]))
                if found is not None:
                    return found
        return None

    def reached(self, start):
        """The bodies of a function and of those of this file that it calls."""
        seen, waiting = set(), [start]
        while waiting:
            name = waiting.pop()
            if name in seen or name not in self.functions:
                continue
            seen.add(name)
            for body in self.functions[name]:
                yield body
                waiting += re.findall(r"\b(\w+)\s*\(", body[body.index("{") :])

    def ops(self):
        for name in self.functions:
            if name.startswith("aclnn") and name.endswith("GetWorkspaceSize"):
                yield name.removesuffix("GetWorkspaceSize")

    def checked(self, op):
        """argument -> (the dtypes that all checks let pass, those that any lets pass). Callees name
        arguments as their own parameters."""
        found = {}
        for body in self.reached(op + "GetWorkspaceSize"):
            for name, expression in re.findall(
                r"OP_CHECK_DTYPE_NOT_SUPPORT\(\s*(\w+),\s*([^,]*(?:\([^)]*\))?[^,]*),", body
            ):
                dtypes = self.resolve(expression, body)
                if dtypes:
                    every, any_ = found.get(name, (dtypes, dtypes))
                    found[name] = (every & dtypes, any_ | dtypes)
        return found

    def parameters(self, op):
        body = self.functions[op + "GetWorkspaceSize"][0]
        head = body[body.index("(") + 1 : body.index("{")]
        kinds = re.findall(r"(aclTensor(?:List)?|aclScalar(?:List)?)\s*\*\s*(\w+)", head)
        return [name for _, name in kinds]


def facts(paths):
    """op -> Op"""
    ops = {}
    for path in paths:
        files = Checkout(path).files
        for name, text in files.items():
            if not name.endswith(".md"):
                continue
            for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
                head = re.match(r"(aclnn\w+)GetWorkspaceSize", section)
                if head:
                    ops[head[1]] = Op(name, arguments_of_document(section), chips_of(text))
        for name, text in files.items():
            if not name.endswith(".cpp"):
                continue
            source = Source(text)
            for op in source.ops():
                entry = ops.setdefault(op, Op(name, {}))
                known = source.parameters(op)
                for argument, (every, any_) in source.checked(op).items():
                    if argument not in known:
                        argument += "Ref"  # of an op in place
                    if argument not in known:
                        continue
                    each = entry.arguments.setdefault(argument, Argument())
                    each.mentioned |= any_ | each.dtypes
                    each.dtypes, each.checked = every, True
                    if source.bfloat16:
                        each.mentioned.add("BFLOAT16")
    return ops
