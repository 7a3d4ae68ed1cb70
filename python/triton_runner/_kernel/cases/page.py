"""Makes the page of a case, report.html in the file. `triton-runner report case.trcase` makes it again,
because a page that a stranger made may contain anything."""

from __future__ import annotations

import json
import re

from triton_runner._base.levels import LEVELS
from triton_runner._kernel.cases import archive
from triton_runner._kernel.material import Material, Snapshot
from triton_runner._kernel.page import report

PASSES = "passes/passes.json"
SOURCES = "sources.json"
_PASS = re.compile(r"passes/(\d+)-([\w-]+)\.mlir")


def material(files: dict, about: dict) -> Material:
    """The material of a case for the page. files: {name: content}; about: its description. The page shows
    source that the case contains, and never reads a path that the case names."""
    name = about["kernel"]
    asm = {}
    for level in LEVELS:
        if (content := files.get(archive.artifact(name, level))) is not None:
            asm[level] = _text(content) if LEVELS[level].is_text else content
    metadata = _json(files.get(archive.artifact(name, "json")))
    release = str(metadata.get("triton_version") or "")
    material = Material(name, about["target"], release, asm, metadata, sources=_json(files.get(SOURCES)))
    texts = {int(m[1]): (m[2], content) for file, content in files.items() if (m := _PASS.fullmatch(file))}
    ran = {one["number"]: one for one in _json(files.get(PASSES)).get("passes", ())}
    for number in sorted({*texts, *ran}):
        pass_, content = texts.get(number, ("", None))
        step = ran.get(number, {})
        material.passes.append(
            Snapshot(
                number, step.get("name", pass_), content is not None, content and _text(content),
                step.get("stage", ""), step.get("seconds"),
            )
        )  # fmt: skip
    if len(material.passes) > 1:
        material.passes[0].stage = material.passes[0].stage or material.passes[1].stage
    return material


def findings(files: dict, about: dict) -> list:
    """The findings on the launch for the page: the verdict, and the trap that stopped it."""
    findings_read = []
    if "verify.json" in files:
        findings_read.append(_json(files["verify.json"]))
    elif about.get("trap"):
        findings_read.append({"title": "the launch stops", "text": about["trap"]})
    return findings_read


def new(files: dict, about: dict) -> tuple[str, dict]:
    """The page of a launch on this machine as HTML, and {path: text} of the source that it shows, read from
    the disk."""
    shown = material(files, about)
    shown.sources = None
    text, pages = report.page([shown], findings=findings(files, about))
    return text, {
        file["path"]: file["text"] for page_data in pages for file in page_data.main["files"] if file["text"]
    }


def _text(content) -> str:
    return content if isinstance(content, str) else content.decode(errors="replace")


def _json(content) -> dict:
    return json.loads(content) if content else {}
