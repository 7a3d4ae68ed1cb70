"""A hook of mkdocs: a link from a page to a file outside of doc/ becomes the file's path, as the site has no
such file. On GitHub and in an editor the link leads there."""

import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]


def on_page_markdown(markdown: str, page, **_) -> str:
    """The text of a page with such links replaced."""
    here = pathlib.Path(page.file.abs_src_path).parent

    def replaced(link: re.Match) -> str:
        label, target = link[1], link[2]
        path = pathlib.Path(os.path.normpath(here / target.partition("#")[0]))
        if ":" in target or target.startswith("#") or path.is_relative_to(ROOT / "doc"):
            return link[0]
        name = str(path.relative_to(ROOT))
        return f"`{name}`" if name.endswith(label) else f"{label} (`{name}`)"

    # Code keeps what looks like a link.
    parts = re.split(r"(^```.*?^```|`[^`\n]+`)", markdown, flags=re.DOTALL | re.MULTILINE)
    parts[::2] = [re.sub(r"(?<!!)\[([^]]+)\]\(([^)\s]+)\)", replaced, part) for part in parts[::2]]
    return "".join(parts)
