"""Lint finds what files that are compiled together hide from each other (tests/names.py)."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))
import folders  # noqa: E402
import names  # noqa: E402

SCALAR = "src/simt/front/amdgcn/scalar.cpp"


@pytest.mark.parametrize(
    "name, text, found",
    [
        (SCALAR, "amdgcn::left_by(in); sass::reads(in);", ["sass::reads"]),
        (SCALAR, "namespace triton_runner::sass { struct reads; } f(const sass::reads&);", []),
        (SCALAR, "simt::what_is_nowhere(in);  // sass::reads is like it", []),
        ("src/ptx/alu.cpp", "f(num::elementwise_cos, num::elementwises);", ["num::elementwises"]),
        ("python/bindings/ptx.cpp", "triton_runner::ptx::parse_nothing(text);", ["ptx::parse_nothing"]),
    ],
)
def test_a_name_that_no_header_has(name, text, found):
    assert names.unreached(ROOT / name, text) == found


def test_a_name_that_a_header_has_by_way():
    path = ROOT / SCALAR
    near = {one.name for one in folders.included(path)}
    way = {one.name for one in folders.included_by_way(path)}
    assert "facts.h" in near and near < way and names.unreached(path, path.read_text()) == []


def test_local_names_of_two_files():
    text = "namespace {\nconstexpr int kMost = 2;\nstruct Row {\n};\n}  // namespace\nstruct Other {\n};\n"
    assert [name for _, name in names.local_names(text)] == ["kMost", "Row"]
