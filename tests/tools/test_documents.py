"""What documents and comments point to is there: files, headings, notes."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOPS = ("mindtorch", "bindings", "simulator", "python", "tests", "tools", "benchmarks", "examples")
LINK = re.compile(r"\]\(([^)\s]+)\)")
NOTE = re.compile(r"Note \[([^\]\n]+)\]")


def files(*suffixes):
    found = [path for top in (*TOPS, "docs") for path in (ROOT / top).rglob("*")]
    found += ROOT.glob("*.md")
    return [path for path in found if path.suffix in suffixes and path.is_file()]


def without_code(text):
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def anchors(document):
    headings = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_of_documents():
    wrong = []
    for document in files(".md"):
        for link in LINK.findall(without_code(document.read_text(encoding="utf-8"))):
            if link.startswith(("http://", "https://", "mailto:")):
                continue
            name, _, anchor = link.partition("#")
            target = (document.parent / name).resolve() if name else document
            if not target.exists() or (anchor and anchor not in anchors(target)):
                wrong.append(f"{document.relative_to(ROOT)}: {link}")
    assert not wrong, "\n".join(wrong)


def test_notes_that_are_named():
    """A note stands in a source where a line, or a sentence, begins with its name."""
    texts = {path: path.read_text(encoding="utf-8") for path in files(".md", ".h", ".cpp", ".py")}
    home = re.compile(r"(?:^\W*|\. )Note \[([^\]\n]+)\]", re.MULTILINE)
    told = {
        name for path, text in texts.items() if path.suffix != ".md" for name in home.findall(text)
    }
    named = {}
    for path, text in texts.items():
        if path != Path(__file__).resolve():
            joined = re.sub(r"\n\s*(?://|#)?\s*", " ", text)  # names may be broken into lines
            named |= {name: path.relative_to(ROOT) for name in NOTE.findall(joined)}
    missing = {name: str(path) for name, path in named.items() if name not in told}
    assert not missing


# Written by a build.
GENERATED = {"acl_abi.h", "functions.h", "functions.cpp", "tensor_methods.inc"}


def test_files_that_documents_name():
    """By their names, or the ends of their paths."""
    ends = set()
    for path in files(".md", ".h", ".cpp", ".py", ".sh", ".tsv", ".txt", ".inc"):
        parts = path.relative_to(ROOT).parts
        ends |= {"/".join(parts[i:]) for i in range(len(parts))}
    name = re.compile(r"`(?:\.\./)*(\w[\w./-]*\.(?:h|cpp|py|sh|tsv|txt|inc|md))`")
    wrong = []
    for document in files(".md"):
        text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
        wrong += [
            f"{document.relative_to(ROOT)}: {found}"
            for found in name.findall(text)
            if found not in ends and Path(found).name not in GENERATED
        ]
    assert not wrong, "\n".join(wrong)
