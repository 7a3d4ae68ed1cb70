"""The harnesses of tests/ and tools/ share these: cases in processes of their own, with limits (run.py); what
they measured, kept in results/ and shown by doc/measurements (results.py)."""

import importlib.util
import pathlib
import tarfile


def loaded(path):
    """A script as a module, also where another script of its name was imported."""
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def extract(archive: tarfile.TarFile, folder) -> None:
    """Unpacks an archive; Python 3.11.2, which Debian 12 has, knows no filter."""
    archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
