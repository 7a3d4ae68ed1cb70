"""A hook of mkdocs: what the site takes from elsewhere, so that nothing stands in two places.

- Its navigation is doc/index.md: a section for each heading there, with the pages of its tables.
- Its front page has README.md's tour, where index.md says so.
- A recording of the debugger (an SVG that moves) stands still, as its last screen, and plays on a click
  (doc/site.js): report.svg is there beside report.still.svg.
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOC = ROOT / "doc"
TOUR = "## A tour in 60 seconds"
MARK = "<!-- the tour of README.md, on the site -->"
MOVES = re.compile(r"<animateTransform\b[^>]*/>")


def nav() -> list:
    """The navigation, as mkdocs takes it: pages, and {title: pages} of a section or of a group in it. A
    section is called as the first column of its tables, or else as its heading."""
    sections: list = ["index.md"]
    for part in re.split(r"^## ", (DOC / "index.md").read_text(), flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        column = re.search(r"^\| (\w+) \|", body, re.MULTILINE)
        own, *groups = re.split(r"^### ", body, flags=re.MULTILINE)
        inside = [{group.partition("\n")[0]: pages(group)} for group in groups]
        title = column[1] if column else heading.removeprefix("For ")
        sections.append({title.capitalize(): [*pages(own), *inside]})
    return sections


def pages(text: str) -> list[str]:
    """The pages that rows of a table or of a list name; after the index of a folder also the others in it."""
    out = []
    for line in text.splitlines():
        for link in re.findall(r"\]\(([\w/-]+\.md)\)", line) if line[:1] in ("|", "-") else ():
            around = sorted((DOC / link).parent.glob("*.md")) if link.endswith("/index.md") else []
            out += [link, *(str(page.relative_to(DOC)) for page in around if page.name != "index.md")]
    return out


def tour() -> str:
    """README.md's tour, with its links as they are from doc/index.md."""
    text = (ROOT / "README.md").read_text()
    part = text[text.index(TOUR) :]
    part = part[: part.index("\n## ", 1)]
    return re.sub(r"\]\((?!https?:)(?:doc/)?([^)]+)\)", r"](\1)", part)


def still(svg: str) -> str:
    """The last screen of a recording."""
    return MOVES.sub("", svg)


def playing(html: str, is_recording) -> str:
    """A page with its recordings still: a link to the recording, which plays in place of the still."""

    def replaced(image: re.Match) -> str:
        source = re.search(r'src="([^"]+\.svg)"', image[0])
        if not source or not is_recording(source[1]):
            return image[0]
        here = image[0].replace(source[1], source[1].removesuffix(".svg") + ".still.svg")
        return f'<a class="recording" href="{source[1]}">{here}<span class="play">▶ Play</span></a>'

    return re.sub(r"<img\b[^>]*>", replaced, html)


def on_config(config):
    config["nav"] = nav()
    return config


def on_page_markdown(markdown: str, page, **_) -> str:
    return markdown.replace(MARK, tour()) if page.file.src_uri == "index.md" else markdown


def on_page_content(html: str, page, **_) -> str:
    folder = pathlib.Path(page.file.abs_src_path).parent
    return playing(html, lambda name: MOVES.search((folder / name).read_text()) is not None)


def on_post_build(config, **_) -> None:
    for path in DOC.rglob("*.svg"):
        if MOVES.search(text := path.read_text()):
            place = pathlib.Path(config["site_dir"]) / path.relative_to(DOC)
            place.with_suffix(".still.svg").write_text(still(text))
