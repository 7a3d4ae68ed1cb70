"""Copy Triton's own Gluon tests so that Triton 3.9 can run them: four functions by the names that this
release gives them (its own errors say so), and without the folder's conftest.py, which skips every test that
runs a kernel. Nothing else is changed.

    python tests/conformance/gluon_tests.py FOLDER-OF-TESTS/gluon build/gluon-tests
    make conformance TESTS=build/gluon-tests/gluon LEVEL=ttgir ARGS="--files test_core,test_lowerings"
"""

import pathlib
import re
import sys

RENAMED = {
    "async_copy_global_to_shared_im2col": "async_load_im2col",
    "async_copy_global_to_shared": "async_load",
    "async_copy_shared_to_global": "async_store",
    "_reinterpret": "reinterpret",
}


def renamed(text: str) -> str:
    return re.sub(rf"(?<=\.)({'|'.join(RENAMED)})(?=\()", lambda match: RENAMED[match[0]], text)


def main(source: pathlib.Path, to: pathlib.Path) -> None:
    folder = to / "gluon"
    folder.mkdir(parents=True, exist_ok=True)
    (to / "conftest.py").write_text((source.parent / "conftest.py").read_text())
    for path in sorted(source.glob("test_*.py")):
        (folder / path.name).write_text(renamed(path.read_text()))


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:3]))
