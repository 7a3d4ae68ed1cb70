"""Tells what a module of the Python package may import: tests/layers.py is asked about each other module, and
the answers are told by rooms."""

import functools
import pathlib
import re
import sys

import layers
import newer

from rooms.tree import shown


@functools.cache
def known() -> dict[str, pathlib.Path]:
    return layers.modules()


@functools.cache
def read() -> dict[str, layers.Module]:
    return {name: layers.Module(path, known()) for name, path in known().items()}


@functools.cache
def imports(name: str) -> frozenset[str]:
    """The modules of the package that a module imports."""
    return frozenset(imported for imported, *_ in read()[name].imports)


@functools.cache
def importers(name: str) -> frozenset[str]:
    """The modules that import a module, and those that import these: none of them may it import."""
    found, at = {name}, [name]
    while at:
        at = [other for other in known() if other not in found and imports(other) & {*at}]
        found |= {*at}
    return frozenset(found - {name})


@functools.cache
def folders_above(folder: str) -> frozenset[str]:
    """The folders of the package that import one, and those that import these."""
    graph = graph_of_folders()
    found, at = {folder}, [folder]
    while at:
        at = [other for other in graph if other not in found and graph[other] & {*at}]
        found |= {*at}
    return frozenset(found - {folder})


@functools.cache
def arrows() -> dict[str, set]:
    return layers.arrows(read())


@functools.cache
def graph_of_folders() -> dict[str, set]:
    return layers.arrows(read(), folder_of)


def folder_of(name: str) -> str:
    return layers.folder_in_package(known()[name])


@functools.cache
def allowed(name: str) -> frozenset[str]:
    """The modules that a module may import at its top, those that make an arrow between rooms among them."""
    if known()[name].stem == "__init__" and name.startswith("verbs."):
        return frozenset()
    alone, room = layers.apart(name), layers.folder_of(name)
    above = folders_above(folder_of(name))
    return frozenset(
        other for other in known()
        if other not in (name, "triton_runner") and not layers.forbidden(name, other)
        and other not in importers(name) and folder_of(other) not in above
        and (not alone or (room in layers.APART and layers.folder_of(other) == room))
    )  # fmt: skip


def makes_arrow(name: str, other: str) -> bool:
    """Whether no module of the room of the one imports the room of the other as yet."""
    here, there = layers.folder_of(name), layers.folder_of(other)
    return there not in (here, "triton_runner", *arrows()[here])  # layers.arrows() does not count the package


def part_of(name: str, beneath: str, names: list[str]) -> str:
    """The modules of some that a module may not import, in brackets."""
    never = [one.removeprefix(f"{beneath}.") for one in names if one != name and one not in allowed(name)]
    return f" (but not {shown(never)}, which would make a circle)" if never else ""


def within(name: str, folder: str, beneath: str) -> str:
    """The folders below one of which a module may import something: its own first."""
    held: dict[str, list[str]] = {}
    for other, path in known().items():
        if path.is_relative_to(layers.PACKAGE / beneath.replace(".", "/")):
            held.setdefault(folder_of(other).removesuffix("/command.py"), []).append(other)
    own = held.pop(folder)
    said = [f"its own folder{part_of(name, beneath, own)}"]
    for other, names in held.items():
        if {*names} & allowed(name):
            said.append(other + part_of(name, beneath, names))
    return ", ".join(said)


def rooms_below(name: str) -> str:
    """The rooms of lower layers: those that the room of a module imports already, and those of which it would
    be the first to import something."""
    rank = layers.RANKS[layers.folder_of(name)]
    under = [one for _, held in layers.LAYERS[:rank] for one in held.split()]
    new = [one for one in under if makes_arrow(name, one)]
    said = ", ".join([*(one for one in under if one not in new), "_core (which python/bindings makes)"])
    left = layers.ARROWS - sum(map(len, arrows().values()))
    room = layers.folder_of(name)
    first = f"as the first module of {room} that does so (lint allows {left} more such pairs of rooms)"
    return said + (f"; also {', '.join(new)}, {first}" if new else "")


@functools.cache
def outside() -> tuple[list[str], list[str]]:
    """The packages that pyproject.toml needs and some module imports at its top, and all others."""
    text = (layers.PACKAGE.parents[1] / "pyproject.toml").read_text()
    lists = "".join(re.findall(r"dependencies\]?(?: = |\n)(.*?)\n\n", text, re.S))
    needed, *_ = re.findall(r"^dependencies = (.*)", text, re.M)
    at_top = {
        other.partition(".")[0] for one in read().values() for other, _, late, _ in one.every if not late
    }
    top = [one for one in re.findall(r'"([\w-]+)', needed) if one in at_top]
    return top, [one for one in re.findall(r'"([\w-]+)', lists) if one not in top]


def packages(name: str) -> str:
    """Names the installed packages that a module may import, and where."""
    top, late = outside()
    own = sorted(
        {one.partition(".")[0] for one, _, is_late, _ in read()[name].every if not is_late} & {*late}
    )
    has = f"; this one has {', '.join(own)} at its top, so that others import it in a function" if own else ""
    return (
        f"{', '.join(top)} at the top; what is slow or may be missing ({', '.join(late)}) in a function{has}"
    )


def may_import(name: str, path: pathlib.Path) -> str:
    room = layers.folder_of(name)
    least = ".".join(map(str, newer.LEAST))
    of_room = [one for one in known() if layers.folder_of(one) == room]
    if by := layers.apart(name):
        beside = "" if room in layers.APART else "no module of this package; "
        own = f"its own room{part_of(name, room, of_room)}; " if room in layers.APART else ""
        there = ", ".join(sorted({*layers.THERE} - sys.stdlib_module_names))
        return (
            f"{own}{beside}the standard library of Python {least}, {there}; in functions what of the package "
            f"is there: it is loaded without the package, by {by}"
        )
    if room == "verbs" and path.stem == "__init__":
        return "nothing: the __init__ of a verb has a docstring alone; ask for one of its modules"
    if room == "verbs":
        verb = name.split(".")[1]
        others = []
        for (one, to), why in layers.BETWEEN.items():
            if one == verb:
                there = [other for other in of_room if other.split(".")[1:2] == [to]]
                others.append(f"verbs.{to}{part_of(name, f'verbs.{to}', there)} ({why})")
        late = "; in functions what it runs" if layers.is_late(name) else ""
        own = within(name, folder_of(name).removesuffix("/command.py"), f"verbs.{verb}")
        return f"{own}; of other verbs {'; '.join(others) or 'none'}; {rooms_below(name)}{late}"
    if path.parent == layers.PACKAGE:
        return f"no other flat module of its layer, and {rooms_below(name)}"
    if room != "_kernel":
        return f"its own room ({room}){part_of(name, room, of_room)}, and {rooms_below(name)}"
    parts = list(dict.fromkeys(one.split(".")[1] for one in of_room if "." in one))
    own = name.split(".")[1] if "." in name else ""
    said = []
    for part in [own, *layers.below_in_kernel(name)]:
        names = [one for one in of_room if one.split(".")[1:2] == [part]]
        if part in parts and {*names} & allowed(name):
            is_own = part == own and len(names) > 1
            said.append((f"its own folder (_kernel.{part})" if is_own else f"_kernel.{part}")
                        + part_of(name, f"_kernel.{part}", names))  # fmt: skip
    is_own = said and said[0].startswith("its own")
    begins = f"{said.pop(0)}, and " if is_own else "of its room what follows: "
    return begins + ", ".join([*said, rooms_below(name)])
