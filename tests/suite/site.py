"""The Python package of a tree with an extension that was built elsewhere, in a folder for PYTHONPATH."""

import shutil
from pathlib import Path


def package_site(tree: Path, build: Path, site: Path) -> Path:
    """Makes `site` anew: the modules of the tree, the extension of the build folder. An editable install
    would find its own package before any path is looked at, so it is told not to."""
    shutil.rmtree(site, ignore_errors=True)
    leave_out = shutil.ignore_patterns("_core*.so", "__pycache__")
    shutil.copytree(tree / "python" / "triton_runner", site / "triton_runner", ignore=leave_out)
    for extension in (build / "python" / "bindings").glob("_core*.so"):
        (site / "triton_runner" / extension.name).symlink_to(extension.resolve())
    (site / "sitecustomize.py").write_text(
        "import sys\n\n"
        'sys.meta_path[:] = [f for f in sys.meta_path if not type(f).__name__.startswith("ScikitBuild")]\n'
    )
    return site
