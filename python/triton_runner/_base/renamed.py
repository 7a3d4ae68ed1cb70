"""Loads a Triton whose distribution calls the module otherwise under the name `triton`.

    renamed.install("/site-packages/tokenspeed_triton")
    import tokenspeed_triton.language as tl     # the module triton.language, from that folder

A process has one Triton: whoever asks for a module by either name gets the same object, whose name begins
with `triton`, so that kernels, drivers and types are found as those of every release. Workers use it too."""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types


def say_triton(value, module):
    """Returns a constant of code in which names of `module` and of what is in it begin with `triton`."""
    if isinstance(value, types.CodeType):
        return value.replace(co_consts=say_triton(value.co_consts, module))
    if isinstance(value, (tuple, frozenset)):
        return type(value)(say_triton(one, module) for one in value)
    if isinstance(value, str) and value.partition(".")[0] == module:
        return "triton" + value[len(module) :]
    return value


class Source(importlib.machinery.SourceFileLoader):
    """Loads a module of the folder."""

    def get_code(self, fullname):
        module = os.path.basename(folder())
        return say_triton(super().get_code(fullname), module)


class Renamed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `triton` in the folder, and the modules by the folder's own name as those of `triton`."""

    def __init__(self, folder):
        self.folder = folder
        self.module = os.path.basename(folder)
        self._specs = {}

    def find_spec(self, name, path=None, target=None):
        if name == "triton":
            places = {"submodule_search_locations": [self.folder]}
            source = os.path.join(self.folder, "__init__.py")
            places["loader"] = Source(name, source)
            return importlib.util.spec_from_file_location(name, source, **places)
        if name.partition(".")[0] == "triton":
            spec = importlib.machinery.PathFinder.find_spec(name, path)
            if spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
                spec.loader = Source(name, spec.origin)
            return spec
        if name.partition(".")[0] != self.module:
            return None
        own = "triton" + name[len(self.module) :]
        try:
            found = importlib.util.find_spec(own)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return None
        is_package = found.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(name, self, origin=found.origin, is_package=is_package)

    def create_module(self, spec):
        module = importlib.import_module("triton" + spec.name[len(self.module) :])
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module):
        """The module has run by its own name: its spec is put back, which the import system replaced, and the
        modules that an extension has put into sys.modules get their other name."""
        name = module.__spec__.name
        module.__spec__ = self._specs.pop(name, module.__spec__)
        own = "triton" + name[len(self.module) :] + "."
        for inner in [one for one in sys.modules if one.startswith(own)]:
            sys.modules.setdefault(name + inner[len(own) - 1 :], sys.modules[inner])


def folder():
    """Returns the folder that is `triton` here by another name; None where there is none."""
    return next((finder.folder for finder in sys.meta_path if isinstance(finder, Renamed)), None)


def install(folder):
    """Makes `triton` the package in a folder of another name; nothing is imported yet. Whoever waits for
    Triton to be imported (_jit/watch.py) stays in front."""
    waiting = [index for index, finder in enumerate(sys.meta_path, 1) if hasattr(finder, "waits_for_triton")]
    sys.meta_path.insert(max(waiting, default=0), Renamed(os.path.abspath(folder)))


def prefer(folder, module):
    """Puts a folder of packages first on sys.path, whose Triton has the name `module`."""
    sys.path.insert(0, folder)
    if module != "triton":
        install(os.path.join(folder, module))
