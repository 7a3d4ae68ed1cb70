"""Tells what a file of src or include may include: the folders that tests/folders.py lets it include, and
those of them to which that would be the first arrow from its room."""

import functools
import pathlib
import re

import folders

from rooms.tree import ROOT, table

PUBLIC = ROOT / "include" / "triton_runner"


def below(library: str) -> list[str]:
    """The libraries of src that a library's files may include, the near ones first."""
    found: list[str] = []
    for name in re.findall(r"`(\w+)`", table("architecture.md")[library][0][-1]):
        found += [other for other in [name, *below(name)] if other not in found]
    return list(dict.fromkeys(found))


@functools.cache
def simt_arrows() -> set[tuple[str, str]]:
    return folders.simt_arrows()


def rooms_of_simt(room: str) -> tuple[list[str], list[str]]:
    """The rooms of src/simt that a room of it includes or may include at once, itself first, and those to
    which it would be a new arrow."""
    under = folders.below_in_simt(room)[::-1]
    new = [one for one in under if folders.counted({(room, one)}) - simt_arrows()]
    return [room, *(one for one in under if one not in new)], new


def libraries_below(path: pathlib.Path) -> list[str]:
    """The libraries that a file may include."""
    ends = folders.only_for_others(path)[1]
    return [one for one in below(folders.library_of(path)) if one not in ends]


def is_on_top(path: pathlib.Path) -> bool:
    return path.parent == folders.TILE and path.stem in folders.ON_TOP


def of_tile(path: pathlib.Path, folder: str) -> list[pathlib.Path]:
    """The files of src/tile that one in a folder of it may include."""
    held = folders.sources(folders.TILE)
    within = {"", folder, *folders.MAY_INCLUDE.get(folder, ())}
    near = lambda one: "" if one.parent == folders.TILE else one.parent.name  # noqa: E731
    return [one for one in held if is_on_top(path) or (near(one) in within and not is_on_top(one))]


def may_include(path: pathlib.Path, room: str) -> str:
    """`room`: the folder below src that the file belongs to."""
    library = folders.library_of(path)
    inner = room.partition("/")[2].removesuffix("/simd")
    is_public = path.is_relative_to(ROOT / "include")
    under = [one for one in libraries_below(path) if not is_public or (PUBLIC / one).is_dir()]
    others = f"<triton_runner/LIBRARY/x.h> of {', '.join([library, *under])}: "
    others += "public headers alone" if is_public else "public headers and those of src/LIBRARY/internal"
    part, ends = folders.only_for_others(path)
    if ends := [one for one in ends if one in below(library)]:
        others += f"; {', '.join(ends)} are for src/{library}/{part} alone"
    if str(path.parent.relative_to(ROOT)) in folders.ONCE_AN_ISA:
        others += "; it calls functions of the namespace SIMD_ISA, always_inline ones, and those of a .cpp"
    if is_public or path.parent.name == "internal":
        return others
    own = f"src/{library}"
    if library == "simt":
        now, new = rooms_of_simt(inner)
        own = ", ".join(f"src/simt/{one}" for one in now)
        if new:
            left = folders.SIMT_ARROWS - len(simt_arrows())
            least = f"lint allows {left} more such pairs of rooms"
            if not left:
                least = f"all {folders.SIMT_ARROWS} pairs that lint allows are in use: remove another first"
            of_new = ", ".join(f"src/simt/{one}" for one in new)
            own += f"; of {of_new} it would be the first include from {room}: {least}"
    elif library == "tile":
        core = f"the core (the files of src/tile itself but {', '.join(sorted(folders.ON_TOP))})"
        above = [f"src/tile/{one}" for one in (inner, *sorted(folders.MAY_INCLUDE.get(inner, ()))) if one]
        own = ", ".join(["its own folder" if not inner else above.pop(0), core, *above])
        own = "all of src/tile, above which it stands" if is_on_top(path) else own
    return f'"x.h" of {own}; {others}'
