"""A fixture that numba-cuda's tests take from a conftest which its wheel leaves out."""

import pytest


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = False
