"""A fixture that numba-cuda's tests take from a conftest which its wheel leaves out; and more time for the
process by which cuda.pathfinder looks for a toolkit, which has 10 seconds of a busy machine."""

import pytest
from cuda.pathfinder._dynamic_libs import load_nvidia_dynamic_lib as loading

loading._resolve_system_loaded_abs_path_in_subprocess.__wrapped__.__kwdefaults__["timeout"] = 300.0
loading._loadable_via_canary_subprocess.__kwdefaults__["timeout"] = 300.0


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = False
