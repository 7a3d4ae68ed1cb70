"""Tells how a file of C++ is built otherwise than most, and what it alone may or may not do, as CMake and
lint have it."""

import functools
import pathlib
import re

import folders

from rooms.tree import ROOT, Facts, name_of, text_of

CMAKE = ROOT / "CMakeLists.txt"


@functools.cache
def _set(name: str, file: pathlib.Path) -> str:
    """The words of a variable of a CMake file."""
    found = re.search(rf'^set\({name} (?:"([^"]*)"|([^)]*))\)', text_of(file), re.M)
    return (found[1] or found[2]).replace("\\\\", "\\")


def of_rules(path: pathlib.Path) -> Facts:
    """The rows that say it of a file of src, include or python/bindings."""
    name = name_of(path)
    loud = [why for one, why in folders.MAY_BE_LOUD.items() if name.startswith(one)]
    facts = [("is built", one) for one in _built(path)]
    facts += [
        ("may", f"print, read variables or end the process, as no other library does ({one})") for one in loud
    ]
    if path.suffix == ".cpp" and re.search(r"\bsigaction\(", text_of(path)):
        facts.append(("may not", "allocate, throw or wait for a lock in what its handler of signals calls"))
    return facts


def _built(path: pathlib.Path) -> list[str]:
    name = name_of(path)
    if path.suffix != ".cpp" or path.stem.endswith("_test"):
        return []
    if str(path.parent.relative_to(ROOT)) in folders.ONCE_AN_ISA:
        return [
            "once an instruction set, in the namespace SIMD_ISA (once_an_instruction_set in CMakeLists.txt)"
        ]
    if name in _set("TABLES", CMAKE).split():
        return ["by itself, and again in tests/unit/invented with rows of its own (TABLES in CMakeLists.txt)"]
    found = []
    cold, hot = (_set(one, CMAKE) for one in ("COLD", "HOT"))
    if re.search(cold, f"/{name}"):
        is_hot = re.search(hot, f"/{name}")
        found.append(
            "for speed, as handlers that run are here (HOT in CMakeLists.txt)" if is_hot else
            "at -O1 (COLD in CMakeLists.txt): a function that running kernels call goes into a file of HOT"
        )  # fmt: skip
    launch_path = _set("launch_path", ROOT / "python/bindings/CMakeLists.txt").split()
    if path.parent.name == "bindings":
        found.append(
            "for speed, as each launch comes through it (launch_path in CMakeLists.txt beside it)"
            if path.name in launch_path else
            "for size: what each launch runs through is in a file of launch_path (CMakeLists.txt beside it)"
        )  # fmt: skip
    return found
