"""Implements triton_runner.report(): one page, to be opened offline, that shows kernels at all levels."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
from pathlib import Path

from triton_runner._base.errors import fail
from triton_runner._base.paths import write_file
from triton_runner._kernel.material import gather_all
from triton_runner._kernel.page.findings import each
from triton_runner._kernel.page.kernel_data import KernelData, packed

_ASSETS = Path(__file__).parent / "assets"
_SCRIPTS = (
    "data", "grammar", "code", "diff", "levels", "passes", "launches", "pictures", "values", "ledger",
    "tables", "profile", "place", "print", "main",
)  # fmt: skip


def report(kernel, path, *, name: str = "", dumps=(), findings=()) -> str:
    """Writes an HTML page that shows a kernel at all levels, and returns its path.

    - `kernel`: a folder, a file, or the result of passes(), compile(), load(), open_case() or a launch, as
      for `source_map()`. Of a folder, and of a list of these, the page shows all kernels, one at a time, and
      compares any two. With passes(), a case, or a folder that passes().save() wrote, it shows all passes.
    - `name`: selects a kernel of a folder.
    - `dumps`: results of dumping(), shown as heat maps and histograms, by program and iteration.
    - `findings`: a KernelTrap, a Fault, the result of lockstep(), verify() or profile(), the JSON of bisect
      or compare, or a list of these. Each finding is shown with the line to which it belongs; a profile has
      a tab of its own, and colours the lines by their share.

    Raises DiagnosticError.
    """
    several = list(kernel) if isinstance(kernel, (list, tuple)) else [kernel]
    materials = [material for one in several for material in gather_all(one, name)]
    if not materials:
        raise fail("a page shows at least one kernel, and the list is empty")
    dumps = list(dumps) if isinstance(dumps, (list, tuple)) else [dumps]
    text, _ = page(materials, dumps, findings)
    write_file(path, text)
    return os.fspath(path)


def page(materials, dumps=(), findings=(), launches=(), tunings=()) -> tuple[str, list[KernelData]]:
    """The page as HTML, and what it holds of each kernel. Dumped values and findings belong to the kernel
    that they name, and to the first if they name none. launches, tunings: as program.run() returns them."""
    values = [(value.kernel, value) for dump in dumps for value in dump if len(value)]
    named, names = each(findings), [material.name for material in materials]

    def owner(kernel: str) -> int | None:
        name = kernel.rpartition(":")[2]  # kernel.py:name
        return (names.index(name) if name in names else None) if name else 0

    def of(number: int, pairs) -> list:
        return [thing for name, thing in pairs if owner(name) == number]

    kernels = [KernelData(material, of(i, values), of(i, named)) for i, material in enumerate(materials)]
    others = [name for name, _ in (*named, *values) if owner(name) is None]
    if others:
        listed = ", ".join(dict.fromkeys(others))
        kernels[0].map.notes.append(
            f"findings and values of {listed} are not shown: the page does not have it"
        )
    if not any(kernel.main["levels"] for kernel in kernels):
        raise fail(f"'{names[0]}' has no level that could be shown", *kernels[0].map.notes)
    about = {
        "labels": _labels(materials), "found": [_found(kernel) for kernel in kernels], "launches": launches,
        "tunings": tunings, "grammars": _grammars(),
    }  # fmt: skip
    return _rendered(kernels, about), kernels


def _found(kernel: KernelData) -> dict:
    """Returns how many findings a kernel has: what is wrong, and what is only noted."""
    kinds = [finding["kind"] for finding in kernel.main["findings"]]
    return {"wrong": len(kinds) - kinds.count("note"), "notes": kinds.count("note")}


def _labels(materials) -> list[str]:
    """Returns what tells the kernels of a page apart: their names, and more where several have one name."""
    labels = [material.name for material in materials]
    for name in {label for label in labels if labels.count(label) > 1}:
        same = [i for i, material in enumerate(materials) if material.name == name]
        for i, label in zip(same, _labels_of_one_name([materials[i] for i in same]), strict=True):
            labels[i] = label
    return labels


def _labels_of_one_name(materials) -> list[str]:
    for labels in (
        [f"{m.name} {m.target}" for m in materials],
        [f"{m.name} {m.variant}" for m in materials],
        [f"{m.name} Triton {m.release}" for m in materials],
        [f"{m.name} {os.path.basename(m.folder)}" for m in materials],
    ):
        if len({*labels}) == len(labels):
            return labels
    return [f"{m.name} {m.variant} #{i}".replace("  ", " ") for i, m in enumerate(materials, 1)]


@functools.cache
def _assets() -> tuple[str, str]:
    scripts = "\n".join((_ASSETS / f"{name}.js").read_text() for name in _SCRIPTS)
    return (_ASSETS / "page.css").read_text(), f'"use strict";\n{scripts}'


@functools.cache
def _grammars() -> dict:
    """{language: its TextMate grammar}: those of editors, and those of languages that editors know."""
    paths = [
        path for name in ("grammars", "page_grammars") for path in (_ASSETS / name).glob("*.tmLanguage.json")
    ]
    return {path.name.partition(".")[0]: json.loads(path.read_text()) for path in sorted(paths)}


def _rendered(kernels: list[KernelData], about: dict) -> str:
    # jinja2 takes longer to load than the other verbs have to wait for.
    import jinja2

    style, script = _assets()
    blobs = [{"id": "page", "text": packed(about)}]
    for i, kernel in enumerate(kernels):
        for name, data in (("kernel", kernel.main), ("passes", kernel.passes), ("values", kernel.values)):
            if data:
                blobs.append({"id": f"{name}-{i}", "text": packed(data)})
    template = jinja2.Environment(autoescape=True).from_string((_ASSETS / "page.html").read_text())
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    names = [*dict.fromkeys(one.map.name for one in kernels)]
    title = " and ".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} other kernels"
    return template.render(
        title=title, style=style, script=script, script_hash=f"sha256-{digest}", blobs=blobs
    )
