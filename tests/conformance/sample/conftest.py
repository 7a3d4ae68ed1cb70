"""Triton's own conftest.py gives its tests these: the option --device and the fixture of that name."""

import pytest


def pytest_addoption(parser):
    parser.addoption("--device", action="store", default="cuda")


@pytest.fixture
def device(request):
    return request.config.getoption("--device")
