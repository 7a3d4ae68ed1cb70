"""Gives numba-cuda's tests what they need of pytest. They are imported by the name that they have in the
package, which some of them pickle, compare or import in a process of their own; pytest's own ways of
importing give them another one, and import numba-cuda twice. They get a fixture of a conftest that the wheel
leaves out; and the process by which cuda.pathfinder looks for a toolkit gets more time than 10 seconds of a
busy machine."""

import importlib

import pytest
from cuda.pathfinder._dynamic_libs import load_nvidia_dynamic_lib as loading

loading._resolve_system_loaded_abs_path_in_subprocess.__wrapped__.__kwdefaults__["timeout"] = 300.0
loading._loadable_via_canary_subprocess.__kwdefaults__["timeout"] = 300.0


class _Named(pytest.Module):
    def _getobj(self):
        return importlib.import_module(f"numba.cuda.tests.{self.path.parent.name}.{self.path.stem}")


def pytest_pycollect_makemodule(module_path, parent):
    return _Named.from_parent(parent, path=module_path)


def pytest_collect_directory(path, parent):
    return pytest.Dir.from_parent(parent, path=path)  # a pytest.Package imports its own __init__.py


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = False
