"""Lint allows what tests/room.py lets a file include or import: each is tried, without writing it. A run
tries a part of the files; ROOM_FILES=all tries every one, and ROOM_SEED=n another part."""

import copy
import os
import pathlib
import random
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))
import folders  # noqa: E402
import layers  # noqa: E402
from rooms import imports, includes, sources  # noqa: E402

MOST = 25  # files of each language in a run


def some(files: list) -> list:
    """The files that a run tries."""
    if os.environ.get("ROOM_FILES") == "all":
        return files
    return random.Random(int(os.environ.get("ROOM_SEED", "43"))).sample(files, MOST)


def with_imports(name: str, others) -> dict[str, layers.Module]:
    """The modules of the package, of which one imports some others at its top."""
    module = copy.copy(imports.read()[name])
    module.imports = [*module.imports, *((other, 1, False) for other in others)]
    beside = layers.folder_of(name) in layers.APART
    module.every = [*module.every, *((f"triton_runner.{one}", 1, False, beside) for one in others)]
    return imports.read() | {name: module}


def test_each_import_that_is_allowed_passes():
    """A circle goes through one import of a module, so that all of them are tried at once."""
    wrong = []
    for name in some(sorted(imports.known())):
        others = [one for one in imports.allowed(name) if not imports.makes_arrow(name, one)]
        found = layers.wrong_imports(with_imports(name, others), imports.known())
        wrong += [(name, one) for one in found]
    assert not wrong


def test_each_import_that_is_not_allowed_fails():
    random_one = random.Random(43)
    for name in some(sorted(imports.known()))[:MOST]:
        never = sorted({*imports.known()} - imports.allowed(name) - {name, "triton_runner"})
        for other in random_one.sample(never, min(2, len(never))):
            read = with_imports(name, [other])
            if imports.known()[name].stem == "__init__" and name.startswith("verbs."):
                read[name].statements += 1
            assert layers.wrong_imports(read, imports.known()), (name, other)


def test_an_import_that_is_a_new_arrow_counts():
    count = lambda read: sum(map(len, layers.arrows(read).values()))  # noqa: E731
    for name in some(sorted(imports.known())):
        new = {layers.folder_of(one): one for one in imports.allowed(name) if imports.makes_arrow(name, one)}
        for other in [*new.values()][:2]:
            assert count(with_imports(name, [other])) == count(imports.read()) + 1


def included_by(path: pathlib.Path, is_new: bool) -> str:
    """The headers of the rooms that room.py lets a file of src/simt or src/tile include, as its text would
    include them; with `is_new` those that make an arrow."""
    library = folders.library_of(path)
    inner = sources.room_of(path).partition("/")[2].removesuffix("/simd")
    if library == "simt":
        rooms = includes.rooms_of_simt(inner)[is_new]
        held = [one for one in folders.sources(folders.SIMT) if folders.simt_room(one) in rooms]
    else:
        held = includes.of_tile(path, inner)
    top = ROOT / "src" / library
    own = [f'#include "{one.relative_to(top)}"\n' for one in held if one.suffix == ".h" and one != path]
    outer = [f"#include <triton_runner/{one}/x.h>\n" for one in includes.libraries_below(path)]
    return "".join(own if is_new else [*own, *outer])


def files_of_rooms() -> list[pathlib.Path]:
    files = [*folders.sources(folders.SIMT), *folders.sources(folders.TILE)]
    return [path for path in files if path.parent.name != "internal"]  # which include no room


def wrong_in(path: pathlib.Path, text: str) -> list[str]:
    of = {"simt": folders.wrong_in_simt, "tile": folders.wrong_in_tile, "deploy": folders.wrong_part}
    return of[folders.library_of(path)](path, text)


def test_each_include_that_is_allowed_passes():
    arrows = folders.simt_arrows()
    for path in some(files_of_rooms()):
        text = path.read_text() + included_by(path, is_new=False)
        assert wrong_in(path, text) == []
        if path.is_relative_to(folders.SIMT):
            assert folders.counted(folders.simt_arrows_of(path, text)) <= arrows


def test_an_include_that_is_a_new_arrow_counts():
    arrows, found = folders.simt_arrows(), 0
    for path in folders.sources(folders.SIMT):
        new = included_by(path, is_new=True)
        if new:
            assert wrong_in(path, path.read_text() + new) == []
            assert folders.counted(folders.simt_arrows_of(path, new)) - arrows
            found += 1
    assert found


@pytest.mark.parametrize(
    "name, included, is_right",
    [
        ("src/simt/ops/warp.cpp", '"state/block.h"', True),
        ("src/simt/state/block.cpp", '"ops/warp.h"', False),
        ("src/simt/ops/warp.cpp", "<triton_runner/ptx/module.h>", False),
        ("src/simt/front/ptx/alu.cpp", "<triton_runner/ptx/module.h>", True),
        ("src/tile/ops/shape.cpp", '"kernel.h"', False),
        ("src/deploy/on_cpu.cpp", "<triton_runner/tile/tile.h>", True),
        ("src/deploy/kernel.h", "<triton_runner/tile/tile.h>", False),
        ("src/deploy/code.cpp", "<triton_runner/machine/grid.h>", False),
        ("src/deploy/code.cpp", "<triton_runner/launch/gpu_kernel.h>", True),
        ("include/triton_runner/deploy/deploy.h", "<triton_runner/simt/simt.h>", False),
    ],
)
def test_what_lint_says_of_one_include(name, included, is_right):
    assert (wrong_in(ROOT / name, f"#include {included}\n") == []) is is_right


def test_the_libraries_that_room_py_tells_are_those_that_cmake_links():
    assert folders.rows_of_libraries() == []
    assert includes.below("num") == ["base"] and "tile" not in includes.below("simt")
