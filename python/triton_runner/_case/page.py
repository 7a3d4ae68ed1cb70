"""The page of a case: report.html in the file, and that of `triton-runner report case.trcase`, which is made
anew, since a page that a stranger made may hold anything."""

from __future__ import annotations

import json
import re

from triton_runner._base.levels import LEVELS
from triton_runner._see import report
from triton_runner._see.material import Material, Snapshot

PASSES = "passes/passes.json"
SOURCES = "sources.json"
_PASS = re.compile(r"passes/(\d+)-([\w-]+)\.mlir")


def material(files: dict, about: dict) -> Material:
    """What the page shows of a case. files: {name: content}; about: its description. Of the source only what
    the case has is shown, and nothing that a path in it names."""
    name = about["kernel"]
    asm = {}
    for level in LEVELS:
        if (content := files.get(f"artifacts/{name}.{level}")) is not None:
            asm[level] = _text(content) if LEVELS[level].is_text else content
    metadata = _json(files.get(f"artifacts/{name}.json"))
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
    """What the page says of the launch: the verdict, and what stopped it."""
    findings_read = []
    if "verify.json" in files:
        findings_read.append(_json(files["verify.json"]))
    elif about.get("trap"):
        findings_read.append({"title": "the launch stops", "text": about["trap"]})
    return findings_read


def new(files: dict, about: dict) -> tuple[str, dict]:
    """The page of a launch of this machine as HTML, and {path: text} of the source that it shows, which is
    read from the disk."""
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
