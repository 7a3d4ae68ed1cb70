"""Derives classes without running anything: configurations that must leave equal bits by what their code
says.

Two launches are in one class if they are compiled by one release for one target from one TTIR, their
reductions, scans and products are done in one order, and the same lines of their PTX are contracted.
Everything else that a configuration changes (layouts of elementwise ops, warps, pipelining) moves values and
does not round. With atomics the order of the programs has to be the same too. Of other launches nothing is
known."""

from __future__ import annotations

import hashlib
import re

from triton_runner import ptx
from triton_runner._artifact.relaunch import Relaunch
from triton_runner._base.errors import DiagnosticError
from triton_runner._code import atomics
from triton_runner._code import summation as code
from triton_runner._code.chain import DOTS, REDUCTIONS
from triton_runner._core import ir
from triton_runner.verbs.bits.results import Row

_PLACES = re.compile(
    r" loc\([^()]*(?:\([^()]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)[^()]*)*\)[^()]*)*\)|^#loc.*\n", re.M
)
_PIPELINING = re.compile(r"tt\.(num_stages|warp_specialize) = [^,}]+,? ?")


def keys(launches: list) -> list:
    """The class of each (launch, settings): a number from 1; None: nothing is known."""
    numbers: dict = {}
    found = []
    for launch, settings in launches:
        key = None if launch is None else _key(launch, settings)
        found.append(None if key is None else numbers.setdefault(key, len(numbers) + 1))
    return found


def contradictions(rows: list[Row]) -> list[list[str]]:
    """The configurations of one static class whose bits differ."""
    members: dict = {}
    for row in rows:
        if row.code is not None and row.bits is not None:
            members.setdefault(row.code, []).append(row)
    return [[row.label for row in of] for of in members.values() if len({row.bits for row in of}) > 1]


def _key(launch: Relaunch, settings: dict) -> tuple | None:
    try:
        ttir, ttgir, text = (launch.texts[level] for level in ("ttir", "ttgir", "ptx"))
        header = re.findall(r"^\.(?:version|target).*$", text, re.M)
        order = settings.get("order") if atomics.lines(launch) else None
        return (
            hashlib.sha256(_PIPELINING.sub("", _PLACES.sub("", ttir)).encode()).hexdigest(),
            tuple(header),
            order,
            _orders(ttgir),
            _contractions(text, launch.name),
        )
    except (KeyError, DiagnosticError):
        return None


def _orders(text: str) -> frozenset:
    """The order in which each reduction, scan and product of a TTGIR adds."""
    found = set()
    for op in ir.parse(text).walk():
        if op.name in REDUCTIONS and code.is_inexact(op):
            found.add((op.name, _place(op.location), code.order_of(op, text)))
        elif op.name in DOTS:
            found.add((op.name, _place(op.location), tuple(code.product_of(op).items())))
        elif op.name.startswith("ttng.tc_gen5_mma"):  # its operands are buffers
            found.add((op.name, _place(op.location), tuple(str(value.type) for value in op.operands[:3])))
    return frozenset(found)


def _place(location) -> tuple:
    """A place with those that called it."""
    places = []
    while location is not None:
        places.append((location.file, location.line, location.column))
        location = location.caller
    return tuple(places)


def _contractions(text: str, kernel: str) -> frozenset:
    """How each line of a PTX is contracted."""
    module = ptx.parse(text)
    lines = {
        (file, line)
        for instruction in module.function(kernel).instructions
        for file, line, *_ in instruction.source
    }
    return frozenset((*place, code.contraction_of(code.opcodes_at(text, kernel, *place))) for place in lines)
