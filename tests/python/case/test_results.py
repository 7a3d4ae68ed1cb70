"""The JSON of verify and bisect is made of frozen dataclasses: what commands print has the schema that these
give, and the reference names every field."""

import dataclasses
import json
import pathlib
import re

import numpy
import pytest

triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from bisecting import QUOTIENT, judge  # noqa: E402
from triton_runner._base.typed import FLAT, NULL, as_json, schema  # noqa: E402
from triton_runner._kernel.cases import severity  # noqa: E402
from triton_runner._kernel.cases.results import Bits, Finding, Judged  # noqa: E402
from triton_runner.verbs.bisect.results import Found  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
KINDS = {
    "string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict,
    "null": type(None),
}  # fmt: skip


def faults_of(value, wanted: dict, place: str = "$") -> list[str]:
    """Returns where a value is not what a JSON schema says."""
    if "anyOf" in wanted:
        found = [faults_of(value, one, place) for one in wanted["anyOf"]]
        return [] if [] in found else found[0]
    if not isinstance(value, KINDS[wanted["type"]]):
        return [f"{place} is {value!r}, no {wanted['type']}"]
    if wanted["type"] == "array":
        return (
            [
                f
                for i, one in enumerate(value)
                for f in faults_of(one, wanted.get("items", {"anyOf": []}), f"{place}[{i}]")
            ]
            if "items" in wanted
            else []
        )
    if wanted["type"] != "object":
        return []
    known = wanted.get("properties", {})
    found = [f"{place} lacks {name}" for name in wanted.get("required", ()) if name not in value]
    for name, one in value.items():
        inner = known.get(name, wanted.get("additionalProperties", {}))
        if inner is False:
            found.append(f"{place} has {name}")
        elif inner:
            found += faults_of(one, inner, f"{place}.{name}")
    return found


@triton_runner.jit
def total(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + at, mask=at < n, other=0.0)))


def test_a_verdict_has_the_schema_of_its_classes():
    x = numpy.random.default_rng(0).standard_normal(1000).astype(numpy.float32)
    found = triton_runner.verify(total, [x, numpy.zeros(1, numpy.float32), 1000], {"B": 128}, grid=(8,))
    (launch,) = json.loads(found.to_json())["launches"]
    assert launch["findings"] and launch["bits"] and faults_of(launch, schema(Judged)) == []
    assert faults_of({**launch, "seconds": "1"}, schema(Judged)) == ["$.seconds is '1', no number"]
    assert faults_of({**launch, "more": 1}, schema(Judged)) == ["$ has more"]
    launch.pop("runs")
    assert faults_of(launch, schema(Judged)) == ["$ lacks runs"]


def test_a_bisection_has_the_schema_of_its_classes(tmp_path):
    _, said = judge(tmp_path, QUOTIENT)
    assert said["faults"] and faults_of(said, schema(Found)) == []
    for fault in said["faults"]:
        assert faults_of(fault, schema(Found))[0] == "$ lacks target"


def test_the_reference_names_every_field():
    page = (ROOT / "doc" / "reference" / "cases.md").read_text()
    named = {*re.findall(r"`([a-z_]+)`", page)}
    for kind in (Judged, Finding, Bits):
        assert {field.name for field in dataclasses.fields(kind)} <= named, kind


def test_json_of_fields_that_are_none():
    @dataclasses.dataclass(frozen=True)
    class Inner:
        a: int
        b: int | None

    @dataclasses.dataclass(frozen=True)
    class Outer:
        pass_: str | None
        inner: Inner | None = dataclasses.field(default=None, metadata=FLAT)
        later: int | None = None
        told: int | None = dataclasses.field(default=None, metadata=NULL)

    assert as_json(Outer(None)) == {"pass": None, "told": None}
    assert as_json([Outer("x", Inner(1, None), 2, 3)]) == [
        {"pass": "x", "a": 1, "b": None, "later": 2, "told": 3}
    ]
    assert schema(Outer)["required"] == ["pass", "told"]
    assert set(schema(Outer)["properties"]) == {"pass", "a", "b", "later", "told"}


def test_a_nan_that_is_meant_is_a_warning_unless_levels_differ():
    def fault(check):
        return Finding(check, "fault", ["ttir"], check, "m", "f.py", 1, "", "t")

    nan, levels = fault("nan"), fault("levels")
    (warned,) = severity.accepted([nan], "assert at f.py:9")
    assert warned.severity == "warning" and "(assert at f.py:9)" in warned.why
    assert severity.accepted([nan, levels], "") is None
    assert severity.accepted([fault("oob")], "") is None and severity.accepted([], "") is None
