"""The commands in the documentation work, and print what the documentation says.

README.md, CONTRIBUTING.md and docs/*.md are read for two kinds of fenced blocks:

  ```console      Lines that start with `$ ` are run by bash, in order, in one scratch folder a document that looks like
                  the repository (links to build/, configs/, ...), with the built programs on PATH. Each must succeed;
                  `$ command  # exit 2` states another exit code. The lines below a command are compared with what
                  it prints on stdout and stderr; `...` stands for any text, a line of its own for any lines; a command
                  without such lines may print anything.
  ```LANGUAGE     after a line `<!-- file: NAME -->`: written to the scratch folder as NAME, for later commands.

Other blocks (```sh) are for the reader: installing packages, `make test`, long sweeps.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINKED = ("build", "configs", "include", "apps", "examples", "guest", "chip", "base", "serial", "cmake", "tools",
          "bench", "tests", "docs", ".venv")
FENCE = re.compile(r"^```(\w*)\s*$")
FILE = re.compile(r"^<!-- file: (\S+) -->$")
EXIT = re.compile(r"\s+# exit (\d+)$")


@dataclass
class Command:
    line: int
    text: str
    exit_code: int = 0
    output: list[str] = field(default_factory=list)


@dataclass
class File:
    name: str
    text: str


def steps(markdown: str) -> list[Command | File]:
    """Steps that a document asks a reader to take, in order."""
    found: list[Command | File] = []
    language, name, body, start = None, None, [], 0
    for number, line in enumerate(markdown.splitlines(), 1):
        if language is None:
            if fence := FENCE.match(line):
                language, body, start = fence.group(1), [], number
            elif match := FILE.match(line):
                name = match.group(1)
            elif line.strip():
                name = None
        elif line.rstrip() == "```":
            if name:
                found.append(File(name, "\n".join(body) + "\n"))
            elif language == "console":
                found += commands(body, start)
            language, name = None, None
        else:
            body.append(line)
    return found


def commands(body: list[str], start: int) -> list[Command]:
    found: list[Command] = []
    for number, line in enumerate(body, start + 1):
        if line.startswith("$ "):
            text, code = line[2:], 0
            if match := EXIT.search(text):
                text, code = text[: match.start()], int(match.group(1))
            found.append(Command(number, text, code))
        elif found and found[-1].text.endswith("\\"):
            found[-1].text += "\n" + line
        elif found:
            found[-1].output.append(line)
    for command in found:
        while command.output and not command.output[-1].strip():
            command.output.pop()
    return found


def matches(expected: list[str], printed: str) -> bool:
    """Whether the text is as expected, where `...` stands for any text and a line `...` for any lines."""
    pattern = ""
    for line in expected:
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += r"[^\n]*?".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ \t]*\n"
    return re.fullmatch(pattern, printed.rstrip() + "\n") is not None


DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_commands_of_the_document_work(document: Path, build: Path, tmp_path: Path) -> None:
    for entry in LINKED:
        if (ROOT / entry).exists():
            (tmp_path / entry).symlink_to(ROOT / entry)
    environment = dict(os.environ, LC_ALL="C.UTF-8", COLUMNS="120", NO_COLOR="1", TERM="dumb")
    environment["PATH"] = f"{ROOT / '.venv' / 'bin'}:{build / 'bin'}:{environment['PATH']}"
    for step in steps(document.read_text()):
        if isinstance(step, File):
            (tmp_path / step.name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / step.name).write_text(step.text)
            continue
        where = f"{document.name}:{step.line}: {step.text}"
        done = subprocess.run(["bash", "-c", step.text], cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert done.returncode == step.exit_code, (
            f"{where}\nexit code {done.returncode}, expected {step.exit_code}\n{done.stdout}")
        if step.output:
            assert matches(step.output, done.stdout), (
                f"{where}\nprinted:\n{done.stdout}\nthe document says:\n" + "\n".join(step.output))


def tracked() -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]*)?\)")
PAGES = [ROOT / name for name in tracked() if name.endswith(".md") and (ROOT / name).exists()]


def anchors(markdown: str) -> set[str]:
    """Anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", markdown, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    broken = []
    for target, anchor in LINK.findall(page.read_text()):
        if "://" in target or target.startswith("mailto:"):
            continue
        path = page.parent / target if target else page
        if not path.exists() or (anchor and path.suffix == ".md" and anchor[1:] not in anchors(path.read_text())):
            broken.append(target + anchor)
    assert not broken, f"{page.relative_to(ROOT)} links to what does not exist: {', '.join(broken)}"


# Pages that lead developers through the sources: what they name is there.
GUIDES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "docs" / "inside.md",
          *(path for path in PAGES if path.name == "README.md" and path.parent.parent == ROOT and path.parent != ROOT)]
SOURCE = re.compile(r"(?<![\w/.*-])[\w.-]+(?:/[\w.-]+)*\.(?:cpp|hpp|c|h|inc|S|py|toml|txt)\b(?!\*)")


def files_named(text: str, names: list[str]) -> dict[str, list[str]]:
    """Names of source files in `text`, each with the files of the tree that it may mean: a page says whose part of a
    path it leaves out."""
    return {name: [path for path in names if path == name or path.endswith("/" + name)]
            for name in SOURCE.findall(text)}


def in_code(markdown: str) -> str:
    """What stands between backquotes, a line each; `a/{b,c}` as `a/b` and `a/c`. NAME stands for any name."""
    found = []
    for text in re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", markdown, flags=re.M | re.S)):
        if braces := re.fullmatch(r"(.*)\{(.*)\}(.*)", text):
            found += [braces[1] + part + braces[3] for part in braces[2].split(",")]
        elif "NAME" not in text:
            found.append(text)
    return "\n".join(found)


@pytest.mark.parametrize("page", GUIDES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_guides_name_are_there(page: Path) -> None:
    names = tracked()
    missing = [name for name, files in files_named(in_code(page.read_text()), names).items()
               if not files and not (page.parent / name).exists()]
    assert not missing, f"{page.relative_to(ROOT)} names files that do not exist: {', '.join(missing)}"


LABEL = re.compile(r"""["']([^"']*)["']""")
CALL = re.compile(r"(?:(\w+)::)?(\w+)\(\)|(\w+)::(\w+)")


def faults_of_drawings(markdown: str, names: list[str], text_of: Callable[[str], str]) -> list[str]:
    """What a drawing names and is not there: files, and functions in none of the files beside them."""
    faults = []
    for drawing in re.findall(r"^```mermaid\n(.*?)^```", markdown, re.M | re.S):
        for label in LABEL.findall(drawing):
            label = label.replace("<br>", "\n")
            named = files_named(label, names)
            faults += [f"no file {name}" for name, files in named.items() if not files]
            texts = [text_of(path) for files in named.values() for path in files]
            for of, call, other, member in CALL.findall(label):
                function = call or member
                if texts and not any(re.search(rf"\b{function}\b", text) for text in texts):
                    faults.append(f"no {(of or other) + '::' if of or other else ''}{function} in {', '.join(named)}")
    return faults


def test_drawings_name_files_and_functions_that_are_there() -> None:
    page = (ROOT / "docs" / "inside.md").read_text()
    found = faults_of_drawings(page, tracked(), lambda name: (ROOT / name).read_text(errors="replace"))
    assert page.count("```mermaid") > 5 and not found, "\n".join(found)


def test_a_name_in_a_drawing_that_is_not_there_is_found() -> None:
    drawing = '```mermaid\nflowchart TD\n  a["b()<br>c/d.cpp"] -- "e::f<br>d.cpp, g.hpp" --> h["i()"]\n```\n'
    found = faults_of_drawings(drawing, ["c/d.cpp"], lambda _: "void b() {}")
    assert found == ["no file g.hpp", "no e::f in d.cpp, g.hpp"]
    assert not faults_of_drawings(drawing, ["c/d.cpp", "c/g.hpp"], lambda _: "void b(); int f;")


def test_wildcards_stand_for_text_and_for_lines() -> None:
    assert matches(["a ... c"], "a b c\n")
    assert not matches(["a ... c"], "a b d\n")
    assert matches(["first", "...", "last"], "first\nx\ny\nlast\n")
    assert matches(["first", "...", "last"], "first\nlast\n")
    assert not matches(["first", "last"], "first\nx\nlast\n")


def test_commands_and_their_output_are_told_apart() -> None:
    found = steps("text\n```console\n$ one \\\n  --more\nprinted\n\n$ two  # exit 2\n```\n"
                  "<!-- file: a.txt -->\n```toml\nx = 1\n```\n")
    assert found == [Command(3, "one \\\n  --more", 0, ["printed"]), Command(7, "two", 2, []), File("a.txt", "x = 1\n")]


BUILT = re.compile(r"build/release/((?:guest|bin)/[a-z][\w-]*)")


def test_what_documents_run_is_there_after_make_build(build: Path) -> None:
    """The other tests run where everything is built; `make build` leaves the tests' programs out."""
    if not (build / "build.ninja").exists():
        pytest.skip("not built by Ninja")
    ninja = ["ninja", "-C", build, "-t", "commands", "all"]
    made = subprocess.run(ninja, capture_output=True, text=True, check=True).stdout
    known = set(re.findall(r"(?:-o|--output) (?:\S*/)?((?:guest|bin)/[\w-]+)(?=\s|$)", made))
    named = {name for page in DOCUMENTS for name in BUILT.findall(page.read_text())
             if not name.startswith(("bin/test_", "bin/fuzz_"))}  # those are built by name where they are named
    assert named and known, "the expressions above find what they are for"
    assert named <= known, f"named in documents, and not built by `make build`: {sorted(named - known)}"


OUT = re.compile(r"--out[= ](\S+)")


def test_no_two_documents_write_the_same_results() -> None:
    """The other tests give each document a folder of its own. A reader follows them one after the other in one folder,
    where commands refuse to replace a run."""
    writers: dict[str, set[str]] = {}
    for document in DOCUMENTS:
        texts = [step.text for step in steps(document.read_text()) if isinstance(step, Command)]
        for name in {name for text in texts for name in OUT.findall(text)}:
            writers.setdefault(name, set()).add(document.name)
    assert len(writers) > 20, "the expression above finds what it is for"
    assert not {name: sorted(names) for name, names in writers.items() if len(names) > 1}


def test_every_page_is_in_the_list_of_pages() -> None:
    listed = set(re.findall(r"\]\(([\w-]+(?:/[\w-]+)?\.md)\)", (ROOT / "docs" / "README.md").read_text()))
    docs = ROOT / "docs"
    pages = {str(path.relative_to(docs)) for folder in ("", "publications") for path in (docs / folder).glob("*.md")}
    assert listed == pages - {"README.md"}


def test_pages_name_all_flags_of_transactional_code() -> None:
    """Without one of them GCC puts plain accesses into transactions: a page that lists some lists all."""
    cmake = (ROOT / "tm" / "CMakeLists.txt").read_text()
    options = re.search(r"target_compile_options\(rubato_itm_flags INTERFACE (.*?)\)", cmake)
    assert options is not None
    flags = options[1].split()
    pages = {page: text for page in PAGES if (text := page.read_text()).count(" -fno-") >= len(flags) // 2}
    assert len(flags) == 5 and {page.relative_to(ROOT).parts[0] for page in pages} >= {"docs", "tm"}
    assert not [(page.name, flag) for page, text in pages.items() for flag in flags if flag not in text]


def test_readme_names_every_folder_of_the_tree() -> None:
    folders = {name.split("/")[0] for name in tracked() if "/" in name and not name.startswith(".")} - {"docs"}
    rows = re.findall(r"^\| (.*?) \|", (ROOT / "README.md").read_text().partition("## Where things are")[2], re.M)
    assert folders <= {name for row in rows for name in re.findall(r"`(\w+)/", row)}


def test_the_table_of_commands_is_complete() -> None:
    printed = subprocess.run([ROOT / ".venv" / "bin" / "rubato", "--help"], capture_output=True, text=True, check=True)
    listed = printed.stdout.partition("Commands")[2].partition("Options:")[0]
    table = (ROOT / "docs" / "cli.md").read_text().partition("## Exit codes")[0]
    assert set(re.findall(r"^  (\w+)  +[A-Z]", listed, re.M)) == set(re.findall(r"`rubato (\w+)", table))
