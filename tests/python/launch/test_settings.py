"""A setting is one row of Settings: keyword, option, variable and checks come from it. Pages name each."""

import pathlib
import re

import pytest
from triton_runner import DiagnosticError, using
from triton_runner._settings import ROWS, Settings, environment, keywords

ROOT = pathlib.Path(__file__).resolve().parents[3]
PUBLIC = [name for name, row in ROWS.items() if not row.inner]


@pytest.mark.parametrize("name", PUBLIC)
def test_pages_have_each_setting(name):
    page = (ROOT / "doc/reference/settings.md").read_text()
    row = re.search(rf"^\| `{name}` \| (.*?) \|", page, re.MULTILINE)
    assert row and (f"TRITON_RUNNER_{name.upper()}" in row[1]) == ROWS[name].variable
    assert f"`{name}=" in using.__doc__


def test_rows_give_variables_and_keywords():
    assert environment.known()["TRITON_RUNNER_NUMERICS"].kind == "code"
    assert "TRITON_RUNNER_SHARED" not in environment.known()
    assert {"device", "shared", "timing"} <= {*keywords.SETTINGS} and "threads" not in keywords.SETTINGS


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("mma", "slow", 'mma is "exact" or "fast"'),
        ("check", "oob,nans", "unknown check 'nans'"),
        ("threads", -1, "at least 0"),
        ("timing", "soon", 'timing is "eager", "late" or a seed'),
        ("program", "1,", "the place of one in the grid"),
    ],
)
def test_rows_refuse(name, value, says):
    with pytest.raises(DiagnosticError, match=re.escape(says)):
        Settings(**{name: value})
