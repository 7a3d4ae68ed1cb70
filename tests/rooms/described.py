"""Chooses the page that describes a file: the one that the file names itself, else the one that has a section
named as the file is (perturb.cpp: experiments.md#perturb) or shows the verb of its name (translate_ops.cpp),
else the one that says most about it by name, and in doubt the one to which the row of its room links."""

import functools
import pathlib
import re

from rooms.tree import ROOT, Facts, grep, name_of, opening, shown, text_of

FOLDERS = "internals", "reference", "guide"
NO_PAGE = (  # they are about everything
    "cli.md", "api.md", "modules.md", "objects.md", "architecture.md", "one-of-each.md",
)  # fmt: skip


@functools.cache
def pages() -> list[pathlib.Path]:
    every = [path for folder in FOLDERS for path in sorted((ROOT / "doc" / folder).glob("*.md"))]
    return [path for path in every if path.name not in NO_PAGE and not is_written(path)]


def is_written(page: pathlib.Path) -> bool:
    """Whether a program writes a page, as its beginning says: nobody edits it."""
    return bool(re.search(r"[Ww]ritten by\s`tools/", text_of(page).partition("\n## ")[0]))


def naming(path: pathlib.Path) -> list[str]:
    """The pages, and their sections, that name a file by its path, or of C++ the header or source file of its
    name."""
    name = name_of(path) if path.suffix in (".py", ".def") else name_of(path).rpartition(".")[0]
    names = [
        name,
        name.removeprefix("python/triton_runner/"),
        re.sub("^src/|^include/triton_runner/|internal/", "", name),
    ]
    words = "|".join(re.escape(one) for one in dict.fromkeys(names) if "/" in one)
    pattern = rf"(?<![\w/])(?:\.\./)*(?:{words})" + (
        r"\b" if name.endswith(path.suffix) else r"\.(?:h|cpp)\b"
    )
    found = [
        one for one in grep(pattern, "doc/**/*.md", "*.md", "tests/README.md") if not is_written(ROOT / one)
    ]
    return [f"{one}{heading_of(one, pattern)}" for one in found]


def named_on(path: pathlib.Path, page: str) -> Facts:
    """The other pages that name a file: who moves or changes it looks at these sentences too."""
    found = [one for one in naming(path) if not page.startswith(one.partition(" ")[0])]
    return [("named on", shown(found))] if found else []


def heading_of(page: str, pattern: str) -> str:
    """The heading of the first section of a page in which a pattern stands, in brackets."""
    parts = re.split(r"^#+ (.*)$", text_of(ROOT / page), flags=re.M)
    found = (title for title, text in zip(parts[3::2], parts[4::2], strict=False) if re.search(pattern, text))
    return next((f" ({title})" for title in found), "")


def described(path: pathlib.Path) -> str:
    """The page that a file names itself, or that its folder says it is described in; with a section of the
    page its heading: "ptxas reads numbers so (doc/internals/ptx.md#numbers)"."""
    page = rf"(doc/(?:{'|'.join(FOLDERS)})/[\w.-]+\.md)(?:#([\w-]+))?"
    own = opening(path, whole=True)
    found = re.search(rf"(?:\bdescribed in |\([^()]*){page}", own)
    if not found and (path.parent / "__init__.py").is_file():
        found = re.search(rf"\bdescribed in {page}", opening(path.parent / "__init__.py", whole=True))
    if not found or not found[2]:
        return found[1] if found else ""
    titles = re.findall(r"^#+ (.*)$", text_of(ROOT / found[1]), re.M)
    anchor = lambda title: re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")  # noqa: E731
    return next((f"{found[1]} ({title})" for title in titles if anchor(title) == found[2]), found[1])


def of_its_name(path: pathlib.Path, files: list[pathlib.Path]) -> str:
    """The section of a page about the option or check that a file of C++ is named after, or that its opening
    or its header's names alone; else, of a file that is named after a verb that asks the core for a function
    of that name, the guide that shows it most."""
    name = path.stem if path.suffix == ".cpp" else "-"
    is_verb = (ROOT / "python/triton_runner/verbs" / name).is_dir()
    is_option = path.parent.name == "check" or grep(rf"\b{name}=", "doc/reference")
    said = " ".join(opening(one, whole=True) for one in files if one.stem == path.stem)
    checks = {*re.findall(r'\bcheck="(\w+)"', said)}
    names = [name] if is_option and not is_verb else [*checks] if len(checks) == 1 else []
    for page in pages():
        for one in names:
            if re.search(rf"^##+ {one}$", text_of(page), re.M):
                return f"{name_of(page)} ({one})"
    verb = name.partition("_")[0]
    shows = rf"^\$ .*triton-runner {verb}\b"
    asking = f"python/triton_runner/verbs/{verb}", "python/triton_runner/_*"
    if not grep(rf"\b_core(\.\w+)?\.{verb}\(", *asking):
        return ""
    counts = {page: len(re.findall(shows, text_of(page), re.M)) for page in pages()}
    best = max(counts, key=lambda page: (counts[page], name_of(page)))
    if not counts[best]:
        return ""
    parts = re.split(r"^##+ (.*)$", text_of(best), flags=re.M)
    titles = zip(parts[1::2], parts[2::2], strict=False)
    section = (f" ({title})" for title, text in titles if re.search(shows, text, re.M))
    return name_of(best) + next(section, "")


def page_of(files: list[pathlib.Path], names: list[str], otherwise: str) -> str:
    """The page about a file: the first of `files`, of which the others are its header or what implements it;
    `names`: what it declares, of which only names that are no common words count."""
    for path in files:
        if described(path):
            return described(path)
    if found := of_its_name(files[0], files):
        return found
    weights: dict[str, float] = {}
    for path in files:
        parts = path.relative_to(ROOT).parts
        inner = "/".join(part for part in parts[1:] if part not in ("internal", "triton_runner"))
        weights |= {re.escape(name_of(path)): 10, re.escape(inner): 6}
        if path.parent.name not in (inner.split("/")[0], "internal"):
            weights[re.escape("/".join(inner.split("/")[1:]))] = 5
        if is_own_word(path.name) or len(files) > 1:
            weights[re.escape(path.name)] = 4 if is_own_word(path.stem) else 2
    weights |= {name: 1 for name in names[:4] if is_own_word(name)}
    scores = {}
    for page in pages():
        text = text_of(page)
        score = sum(w for word, w in weights.items() if re.search(rf"(?<![\w/]){word}(?![\w/])", text))
        scores[name_of(page)] = score + (3 if name_of(page) == otherwise else 0)
    best = max(scores, key=lambda one: scores[one], default=otherwise)
    if scores.get(best, 0) <= scores.get(otherwise, 0) or scores[best] < 5:
        best = otherwise
    return best + section(best, weights)


def is_own_word(name: str) -> bool:
    """Whether a name is more than a word of English that a page may have without meaning the file."""
    stem = name.partition(".")[0]
    return "_" in stem or any(letter.isupper() for letter in stem[1:])


def section(page: str, weights: dict[str, float]) -> str:
    """The heading of a page below which most of the words stand, in brackets."""
    path = ROOT / page
    parts = re.split(r"^#+ (.*)$", text_of(path), flags=re.M) if path.is_file() else []
    best, heading = 4.0, ""
    for title, text in zip(parts[3::2], parts[4::2], strict=False):
        score = sum(w for word, w in weights.items() if re.search(rf"(?<![\w/]){word}(?![\w/])", text))
        if score >= best + 0.5:
            best, heading = score, title
    return f" ({heading})" if heading else ""
