"""Loads a user's file as Python loads the file that it runs: nothing is written beside it."""

import importlib.machinery
import importlib.util


class _Loader(importlib.machinery.SourceFileLoader):
    def set_data(self, path, data, **kwargs):
        """Leaves out the bytecode."""


def spec_of(name, path):
    """The module spec of a file; an import of its neighbours is Python's own."""
    return importlib.util.spec_from_file_location(name, path, loader=_Loader(name, str(path)))
