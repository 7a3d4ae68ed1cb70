"""Artifacts are launched as straight as kernels of Python: ttir_dir= and its like, texts, load(), NumPy's
arrays."""

import os
import time

import numpy as np
import pytest
import triton.language as tl
import triton_runner
from triton_runner._artifact.kernel import ArtifactKernel

torch = pytest.importorskip("torch")


@triton_runner.jit
def axpy(x, y, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * factor + tl.load(y + i, mask=i < n), mask=i < n)


@pytest.fixture
def x():
    return torch.arange(64, dtype=torch.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("artifacts")
    zeros = torch.zeros(64)
    kernel = axpy.warmup(zeros, zeros, 64, 2.0, BLOCK=16, grid=(4,))
    for level in ("ttir", "ttgir", "llir", "ptx"):
        (folder / f"axpy.{level}").write_text(kernel.asm[level])
    triton_runner._core.artifact.write(
        str(folder / "axpy.json"), triton_runner._base.metadata.as_path_or_text(kernel, "")
    )
    return folder


@pytest.fixture
def general(monkeypatch):
    """How many launches of artifacts went through Python."""
    seen = []
    own = ArtifactKernel.launch
    monkeypatch.setattr(ArtifactKernel, "launch", lambda *a, **k: (seen.append(a), own(*a, **k))[1])
    axpy._known.forget()
    return seen


def launched(x, times=4, **entry):
    for _ in range(times):
        y = torch.zeros(64)
        kernel = axpy[(4,)](x, y, 64, 2.0, BLOCK=16, **entry)
        assert y.tolist() == (2 * x).tolist()
    return kernel


@pytest.mark.parametrize("level", ["ttir", "ttgir", "llir", "ptx"])
def test_folders_and_texts(level, folder, general, x):
    kernel = launched(x, **{f"{level}_dir": str(folder)})
    assert kernel.name == "axpy" and len(general) == 1
    text, metadata = (folder / f"axpy.{level}").read_text(), str(folder / "axpy.json")
    launched(x, **{f"{level}_src": text, "metadata_json": metadata})
    assert len(general) == 2
    launched(x, **{f"{level}_src": str(folder / f"axpy.{level}")})
    assert len(general) == 3


def test_what_counts_is_looked_at(folder, general, x):
    here = {"ttir_dir": str(folder)}
    launched(x, **here)
    y = torch.zeros(64)
    axpy[lambda meta: (meta["n"] // meta["BLOCK"],)](x, y, 64, 2.0, BLOCK=16, **here)
    axpy[(4,)](x, y, 48, 2.0, BLOCK=16, **here)
    assert len(general) == 1
    with pytest.raises(triton_runner.DiagnosticError, match="holds f16"):
        axpy[(4,)](x.half(), y, 64, 2.0, BLOCK=16, **here)
    with pytest.raises(triton_runner.DiagnosticError, match="expected an integer"):
        axpy[(4,)](x, y, 64.0, 2.0, BLOCK=16, **here)
    with pytest.raises(triton_runner.KernelTrap, match="out of bounds"):
        axpy[(4,)](x, torch.zeros(16), 64, 2.0, BLOCK=16, **here)
    with triton_runner.using(level="ttgir"):
        assert launched(x, **here).level == "ttgir"
    with triton_runner.dumping(axpy, "%0") as dump:
        launched(x, 1, **here)
    assert len(dump.launches) == 1
    del general[:]
    launched(x, **here)
    assert not general


def test_an_edited_file_is_noticed(folder, general, x, tmp_path):
    path = tmp_path / "axpy.ttir"
    path.write_text((folder / "axpy.ttir").read_text())
    launched(x, ttir_dir=str(tmp_path))
    assert len(general) == 1
    path.write_text(path.read_text().replace("arith.addf", "arith.subf"))
    time.sleep(0.15)  # it is looked at ten times a second
    y = torch.ones(64)
    axpy[(4,)](x, y, 64, 2.0, BLOCK=16, ttir_dir=str(tmp_path))
    assert len(general) == 2 and y.tolist() == (2 * x - 1).tolist()


def test_no_file_is_looked_at_in_a_launch(folder, general, x, monkeypatch):
    launched(x, ttir_dir=str(folder))
    own, looked = os.stat, []
    monkeypatch.setattr(os, "stat", lambda path, *a, **k: (looked.append(path), own(path, *a, **k))[1])
    launched(x, 50, ttir_dir=str(folder))
    assert not looked


@pytest.mark.parametrize("level", ["ttir", "ttgir", "llir", "ptx"])
def test_loaded(level, folder, general, x):
    kernel = triton_runner.load(folder / f"axpy.{level}", device="cpu")
    for _ in range(4):
        y = torch.zeros(64)
        assert kernel[(4,)](x, y, 64, 2.0) is kernel
        assert y.tolist() == (2 * x).tolist()
    assert len(general) == 1
    y = torch.zeros(64)
    kernel[(4,)](x, y, 48, 3.0)
    assert len(general) == 1 and y.tolist() == [3 * v if v < 48 else 0 for v in x.tolist()]
    with pytest.raises(triton_runner.DiagnosticError):
        kernel[(4,)](x, y, 48)
    with pytest.raises(triton_runner.DiagnosticError):
        kernel[(0,)](x, y, 48, 3.0)
    before, checked = len(general), kernel.with_settings(check="oob,nan")
    checked[(4,)](x, y, 48, 3.0)
    assert len(general) == before + 1


def test_arrays(general, x):
    source = x.numpy()
    for kind in ("float32", "float64", "int32", "bool"):
        for _ in range(3):
            y = np.zeros(64, "float32")
            axpy[(4,)](source.astype(kind), y, 64, 2.0, BLOCK=16)
            assert (y == 2 * source.astype(kind)).all()
    whole = np.zeros(128, "float32")
    for _ in range(3):
        axpy[(4,)](source, whole[32:96], 64, 2.0, BLOCK=16)
    assert (whole[32:96] == 6 * source).all() and not whole[:32].any()
    y.flags.writeable = False
    for _ in range(2):
        with pytest.raises(triton_runner.KernelTrap, match="read-only"):
            axpy[(4,)](source, y, 64, 2.0, BLOCK=16)
    with pytest.raises(triton_runner.DiagnosticError, match="not contiguous"):
        axpy[(2,)](source[::2], y, 32, 2.0, BLOCK=16)
