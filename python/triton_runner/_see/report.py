"""triton_runner.report: one page, to be opened offline, that shows a kernel at all levels."""

from __future__ import annotations

import base64
import functools
import hashlib
import os
from pathlib import Path

from triton_runner._base.errors import fail
from triton_runner._base.paths import write_file
from triton_runner._see.kernel_data import KernelData, packed
from triton_runner._see.material import gather

_ASSETS = Path(__file__).parent / "assets"
_SCRIPTS = ("data", "code", "diff", "levels", "passes", "pictures", "ledger", "tables", "main")


def report(kernel, path, *, name: str = "", dumps=(), findings=()) -> str:
    """Writes an HTML page that shows a kernel at all levels, and returns its path.

    - `kernel`: a folder, a file, or the result of passes(), compile(), load(), open_case() or a launch, as
      for `source_map()`. Two of them are compared on one page. With passes(), a case, or a folder that
      passes().save() wrote, the page shows all passes.
    - `name`: selects a kernel of a folder.
    - `dumps`: results of dumping(), shown as heat maps and histograms.
    - `findings`: a KernelTrap, a Fault, the result of lockstep() or verify(), the JSON of bisect or compare,
      or a list of these. Each finding is shown on the line to which it belongs.

    Raises DiagnosticError.
    """
    several = list(kernel) if isinstance(kernel, (list, tuple)) else [kernel]
    if not 1 <= len(several) <= 2:
        raise fail(f"a page shows one kernel or two beside each other, not {len(several)}")
    dumps = list(dumps) if isinstance(dumps, (list, tuple)) else [dumps]
    findings = list(findings) if isinstance(findings, (list, tuple)) else [findings]
    text, _ = page([gather(kernel, name) for kernel in several], dumps, findings)
    write_file(path, text)
    return os.fspath(path)


def page(materials, dumps=(), findings=()) -> tuple[str, list[KernelData]]:
    """The page as HTML, and what it holds of each kernel. What was dumped and found is the first kernel's."""
    pages = []
    for i, (material, label) in enumerate(zip(materials, _labels(materials), strict=True)):
        pages.append(KernelData(material, label, dumps if i == 0 else (), findings if i == 0 else ()))
    if not any(kernel.main["levels"] for kernel in pages):
        raise fail(f"'{materials[0].name}' has no level that could be shown", *pages[0].map.notes)
    return _rendered(pages), pages


def _labels(materials) -> list[str]:
    """What tells the kernels of a page from each other."""
    for labels in (
        [m.name for m in materials],
        [f"{m.name} {m.target}" for m in materials],
        [f"Triton {m.release}" for m in materials],
        [os.path.basename(m.folder) or m.name for m in materials],
    ):
        if len({*labels}) == len(labels):
            return labels
    return [f"{m.name} {i}" for i, m in enumerate(materials, 1)]


@functools.cache
def _assets() -> tuple[str, str]:
    scripts = "\n".join((_ASSETS / f"{name}.js").read_text() for name in _SCRIPTS)
    return (_ASSETS / "page.css").read_text(), f'"use strict";\n{scripts}'


def _rendered(kernels: list[KernelData]) -> str:
    # jinja2 takes longer to load than the other verbs have to wait for.
    import jinja2

    style, script = _assets()
    blobs = []
    for i, kernel in enumerate(kernels):
        kernel.main["passesBlob"] = f"passes-{i}"
        blobs.append({"id": f"passes-{i}", "text": packed(kernel.passes)})
    blobs.insert(0, {"id": "kernels", "text": packed([one.main for one in kernels])})
    template = jinja2.Environment(autoescape=True).from_string((_ASSETS / "page.html").read_text())
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return template.render(
        title=" and ".join(dict.fromkeys(one.map.name for one in kernels)), style=style, script=script,
        script_hash=f"sha256-{digest}", blobs=blobs,
    )  # fmt: skip
