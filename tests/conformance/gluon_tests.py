"""Copy Triton's own Gluon tests so that Triton 3.9 can run them: four functions by the names that this
release gives them (its own errors say so), and without the folder's conftest.py, which skips every test that
runs a kernel. Nothing else is changed. A second copy, in next/gluon, is for the next release: without the
layouts that it has no more, which are AMD's and at which its import of the file would end.

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


GONE = re.compile(r"^ *ttgl\.amd\.AMDMFMALayout\(version=1,.*\),\n", re.M)
EMPTIED = re.compile(r"^ *\[\n *\],\n", re.M)  # the pairs of layouts of which both are gone


def of_the_next(text: str) -> str:
    return EMPTIED.sub("", GONE.sub("", text))


def main(source: pathlib.Path, to: pathlib.Path) -> None:
    for root, changed in ((to, str), (to / "next", of_the_next)):
        folder = root / "gluon"
        folder.mkdir(parents=True, exist_ok=True)
        (root / "conftest.py").write_text((source.parent / "conftest.py").read_text())
        for path in sorted(source.glob("test_*.py")):
            (folder / path.name).write_text(changed(renamed(path.read_text())))


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:3]))
