"""The output of each Triton release for the examples' kernels (README.md), packed here, one archive a
release, and unpacked into build/corpus by whoever reads it.

    python tests/corpus/corpus.py [VERSION ...]     unpacks, all releases or these
"""

import io
import lzma
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from suite import extract  # noqa: E402

FOLDER = HERE.parents[1] / "build" / "corpus"


def archive(version: str) -> Path:
    return HERE / f"{version}.tar.xz"


def releases() -> list[str]:
    """From old to new."""
    found = (path.name.removesuffix(".tar.xz") for path in HERE.glob("*.tar.xz"))
    return sorted(found, key=lambda version: tuple(map(int, version.split("."))))


def folder(version: str) -> Path:
    """The release's folder with one for each architecture in it; unpacked anew where the archive changed."""
    packed, out = archive(version), FOLDER / version
    stamp = FOLDER / f".{version}"
    state = f"{packed.stat().st_size} {packed.stat().st_mtime_ns}"
    if not stamp.is_file() or stamp.read_text() != state:
        FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER) as made:
            with tarfile.open(packed) as files:
                extract(files, made)
            sources = {path.relative_to(made): path for path in Path(made).rglob("*.*")}
            for name, source in sources.items():  # one by one: another process may read them now
                (out / name).parent.mkdir(parents=True, exist_ok=True)
                source.replace(out / name)
        for path in out.rglob("*.*"):
            if path.relative_to(out) not in sources:
                path.unlink()
        stamp.write_text(state)
    return out


def unpacked() -> Path:
    """The folder with those of all releases in it."""
    for version in releases():
        folder(version)
    return FOLDER


def pack(version: str, made: Path) -> None:
    """Writes the archive of what lies in `made`: the same bytes for the same files."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.USTAR_FORMAT) as files:
        for path in sorted(path for path in made.rglob("*") if path.is_file()):
            entry = tarfile.TarInfo(str(path.relative_to(made)))
            entry.size, entry.mode = path.stat().st_size, 0o644
            with path.open("rb") as content:
                files.addfile(entry, content)
    archive(version).write_bytes(lzma.compress(data.getvalue(), preset=9 | lzma.PRESET_EXTREME))
    shutil.rmtree(FOLDER / version, ignore_errors=True)
    folder(version)


if __name__ == "__main__":
    for chosen in sys.argv[1:] or releases():
        print(folder(chosen).relative_to(HERE.parents[1]))
