"""Tests kernels that enter as artifacts: folders, paths, texts, Triton caches, metadata, and what does not
fit."""

import json
import os
import pathlib
import re
import shutil

import numpy as np
import pytest
import warm

triton = pytest.importorskip("triton")
import triton_runner  # noqa: E402
from kernels_for_tests import add, scale  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402
from triton_runner._base.releases import installed  # noqa: E402

LEVELS = ("ttir", "ttgir", "llir", "ptx", "cubin")


def inputs(n=64):
    return np.arange(n, dtype=np.float32), np.full(n, 2, np.float32), np.zeros(n, np.float32)


@pytest.fixture(scope="module")
def compiled():
    x, y, out = inputs()
    return add.warmup(x, y, out, 64, BLOCK=64, grid=(1,), target="cuda:80")


@pytest.fixture
def folder(tmp_path, compiled):
    """One folder a level, each with the artifact only, as add.<level>."""
    for level in LEVELS:
        (tmp_path / level).mkdir()
        content = compiled.asm[level]
        if isinstance(content, str):
            content = content.replace(f"@{compiled.name}(", "@_add(")
            (tmp_path / level / f"_add.{level}").write_text(content)
        else:
            (tmp_path / level / f"_add.{level}").write_bytes(content)
    return tmp_path


@pytest.mark.parametrize("level", ["ttir", "ttgir", "llir", "ptx"])
@pytest.mark.parametrize("form", ["dir", "file", "text"])
def test_entries_on_the_cpu(folder, level, form):
    x, y, out = inputs()
    path = folder / level / f"_add.{level}"
    keyword = {
        "dir": {f"{level}_dir": str(folder / level)},
        "file": {f"{level}_src": path},
        "text": {f"{level}_src": path.read_text()},
    }[form]
    kernel = add[(1,)](x, y, out, 64, BLOCK=64, **keyword)
    executed = "ptx" if level == "llir" else level
    assert (out == x + 2).all() and kernel.level == executed and kernel.name == "_add"
    out[:] = 0
    kernel[(1,)](x, y, out, 64)
    assert (out == x + 2).all()


def test_ttir_executed_at_ttgir(folder):
    x, y, out = inputs()
    kernel = add[(1,)](x, y, out, 64, BLOCK=64, ttir_dir=folder / "ttir", level="ttgir", target="cuda:75")
    assert kernel.level == "ttgir" and (out == x + 2).all()
    assert 'target = "cuda:75"' in kernel.asm["ttgir"] and ".target sm_75" in kernel.asm["ptx"]


def test_an_artifact_without_its_constexprs(folder):
    x, y, out = inputs()
    add[(1,)](x, y, out, 64, ttir_dir=folder / "ttir")
    assert (out == x + 2).all()


def test_a_changed_file_is_read_again(folder):
    x, y, out = inputs()
    path = folder / "ttir" / "_add.ttir"
    add[(1,)](x, y, out, 64, BLOCK=64, ttir_dir=folder / "ttir")
    path.write_text(path.read_text().replace("arith.addf", "arith.mulf"))
    os.utime(path, ns=(1, 1))
    add[(1,)](x, y, out, 64, BLOCK=64, ttir_dir=folder / "ttir")
    assert (out == x * 2).all()


def test_level_above_the_entry(folder):
    x, y, out = inputs()
    with pytest.raises(DiagnosticError, match="cannot go back"):
        add[(1,)](x, y, out, 64, BLOCK=64, ttgir_dir=folder / "ttgir", level="ttir")


def test_target_that_the_artifact_is_not_for(folder):
    x, y, out = inputs()
    with pytest.raises(DiagnosticError, match=r"cuda:80.*cuda:90"):
        add[(1,)](x, y, out, 64, BLOCK=64, ttgir_dir=folder / "ttgir", target="cuda:90")


def test_a_level_that_needs_a_gpu(folder):
    x, y, out = inputs()
    (folder / "cubin" / "_add.hsaco").write_bytes((folder / "cubin" / "_add.cubin").read_bytes())
    with pytest.raises(DiagnosticError, match="the level cubin reads it"):
        add[(1,)](x, y, out, 64, BLOCK=64, device="cpu", hsaco_dir=folder / "cubin")


def test_a_folder_that_holds_another_level_names_the_keyword(folder):
    x, y, out = inputs()
    with pytest.raises(DiagnosticError, match="ptx_dir"):
        add[(1,)](x, y, out, 64, BLOCK=64, ttgir_dir=folder / "ptx")


def test_a_triton_cache_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    x, y, out = inputs()
    add[(1,)](x, y, out, 64, BLOCK=64, num_warps=2, target="cuda:86")
    entries = [path for path in tmp_path.iterdir() if list(path.glob("*.ttir"))]
    assert len(entries) == 1
    for place in (tmp_path, entries[0]):
        out[:] = 0
        name = next(entries[0].glob("*.ttir")).stem
        if name != "_add":
            pytest.fail(f"the kernel's file is {name}")
        add[(1,)](x, y, out, 64, BLOCK=64, ttir_dir=place)
        assert (out == x + 2).all()


def test_several_entries_of_a_cache_are_listed(tmp_path, folder):
    text = (folder / "ttir" / "_add.ttir").read_text()
    for name in ("one", "two"):
        (tmp_path / "cache" / name).mkdir(parents=True)
        (tmp_path / "cache" / name / "_add.ttir").write_text(text + f"// {name}\n")
    x, y, out = inputs()
    with pytest.raises(DiagnosticError, match=r"(?s)one.*two|two.*one"):
        add[(1,)](x, y, out, 64, BLOCK=64, ttir_dir=tmp_path / "cache")


def test_folded_arguments_are_dropped_and_checked(tmp_path):
    x, _, out = inputs()
    kernel = scale[(1,)](x, out, 64, 2.0, 1, None)
    text = kernel.asm["ttir"]
    out[:] = 0
    scale[(1,)](x, out, 64, 3.0, 1, None, ttir_src=text)
    assert (out == 3 * x).all()
    with pytest.raises(DiagnosticError):
        scale[(1,)](x, out, 64, 3.0, 2, None, ttir_src=text)


def test_metadata_file(folder, tmp_path):
    x, y, out = inputs()
    shutil.copytree(folder / "ttir", tmp_path / "with")
    (tmp_path / "with" / "_add.json").write_text(json.dumps({"name": "_add", "num_warps": 8, "shared": 0}))
    kernel = add[(1,)](x, y, out, 64, BLOCK=64, ttir_dir=tmp_path / "with", level="ttgir")
    assert '"ttg.num-warps" = 8' in kernel.asm["ttgir"] or '"triton_gpu.num-warps" = 8' in kernel.asm["ttgir"]
    with pytest.raises(DiagnosticError, match="nosuch"):
        add[(1,)](x, y, out, 64, BLOCK=64, ttir_dir=folder / "ttir", metadata_json="nosuch.json")


def test_load(folder):
    x, y, out = inputs()
    path = folder / "ttgir" / "_add.ttgir"
    for source in (path, str(path), path.read_text()):
        kernel = triton_runner.load(source)
        assert kernel.name == "_add" and kernel.level == "ttgir" and kernel.target == "cuda:80"
        assert [p.kind for p in kernel.params] == ["pointer"] * 3 + ["integer"]
        out[:] = 0
        kernel[(1,)](x, y, out, 64)
        assert (out == x + 2).all()
    with pytest.raises(DiagnosticError, match="no such file"):
        triton_runner.load("kernel.txt")


@pytest.mark.parametrize("value", [3, "", None.__class__])
def test_an_entry_that_is_no_path(value):
    x, y, out = inputs()
    with pytest.raises(DiagnosticError, match="folder"):
        add[(1,)](x, y, out, 64, BLOCK=64, ttir_dir=value)


def test_missing_folder_and_file(tmp_path):
    x, y, out = inputs()
    with pytest.raises(DiagnosticError, match="nosuch"):
        add[(1,)](x, y, out, 64, BLOCK=64, ttir_dir=tmp_path / "nosuch")
    with pytest.raises(DiagnosticError, match="nosuch"):
        add[(1,)](x, y, out, 64, BLOCK=64, ttir_src=str(tmp_path / "nosuch.ttir"))


def test_a_text_that_is_malformed_is_located():
    x, y, out = inputs()
    with pytest.raises(DiagnosticError) as caught:
        add[(1,)](x, y, out, 64, BLOCK=64, ttir_src="module {\n  tt.func public @_add(\n}\n")
    assert caught.value.line in (2, 3) and "^" in str(caught.value)


def test_get_file_dir():
    assert triton_runner.get_file_dir(__file__) == str(pathlib.Path(__file__).resolve().parent)


@pytest.fixture
def source_folder(tmp_path, monkeypatch):
    """A Triton cache of the kernel `_add`, of which what the front end made is left, with its metadata."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    x, y, out = inputs()
    triton_runner.jit(add.fn).warmup(x, y, out, 64, BLOCK=64, grid=(1,))
    made = list((tmp_path / "cache").glob("*/*.source"))
    if not made:
        pytest.skip("this release keeps no .source")
    folder = tmp_path / "left"
    folder.mkdir()
    shutil.copy(made[0], folder)
    shutil.copy(made[0].with_suffix(".json"), folder)
    return folder


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
def test_the_source_in_a_cache_is_ttir(source_folder, level):
    x, y, out = inputs()
    kernel = add[(1,)](x, y, out, 64, BLOCK=64, ttir_dir=str(source_folder), level=level)
    assert (out == x + 2).all() and kernel.artifact.level == "ttir" and kernel.level == level
    out[:] = 0
    file = source_folder / "_add.source"
    add[(1,)](x, y, out, 64, BLOCK=64, ttir_src=file, level=level)
    assert (out == x + 2).all()
    out[:] = 0
    loaded = triton_runner.load(file, level=level)
    loaded[(1,)](x, y, out, 64)
    assert (out == x + 2).all() and loaded.level == level


def test_a_source_beside_its_ttir_is_not_asked(source_folder):
    (source_folder / "_add.ttir").write_text("module { not this one }")
    with pytest.raises(DiagnosticError, match=r"_add\.ttir"):
        add[(1,)](*inputs(), 64, BLOCK=64, ttir_dir=str(source_folder))


def test_a_source_on_the_command_line(source_folder):

    args = ["f32[64]=iota", "f32[64]=2", "f32[64]", "64"]
    given = [part for arg in args for part in ("--arg", arg)]
    file = str(source_folder / "_add.source")
    done = warm.invoke("exec", "--json", file, "--grid", "1", *given)
    assert done.exit_code == 0, done.output
    [change] = json.loads(done.stdout)["changed"]
    assert change["values"] == [i + 2.0 for i in range(64)]
    done = warm.invoke("dump", "-v", "*", "--grid", "1", *given, file)
    assert done.exit_code == 0 and "arith.addf" in done.output


def without_hidden(ptx: str) -> str:
    """The PTX of `_add` as a release wrote it that added no pointers of its own."""
    head, params, rest = re.split(r"(?<=_add\()([^)]*)(?=\))", ptx, maxsplit=1)
    lines = params.rstrip().split(",\n")
    assert len(lines) == 4 + installed().hidden_pointers
    return head + ",\n".join(lines[:4]) + "\n" + rest


@pytest.mark.parametrize("said", [{"global_scratch_size": 0}, {"profile_scratch_size": 0}, {}], ids=repr)
def test_parameters_that_fit_leave_none_for_triton(folder, said):
    # A build of 3.2 writes global_scratch_size into the metadata and no pointer for it into the PTX.
    ptx = without_hidden((folder / "ptx" / "_add.ptx").read_text())
    metadata = {"name": "_add", "num_warps": 4, "shared": 0, "hash": "c0ffee", **said}
    x, y, out = inputs()
    add[(1,)](x, y, out, 64, BLOCK=64, ptx_src=ptx, metadata_json=metadata)
    assert (out == x + 2).all()
    out[:] = 0
    triton_runner.load(ptx, metadata)[(1,)](x, y, out, 64)
    assert (out == x + 2).all()
    with pytest.raises(DiagnosticError, match="has 4 parameters"):
        triton_runner.load(ptx, metadata)[(1,)](x, y, out)


@triton_runner.jit
def _scale_if(x, out, factor, flag):
    i = triton.language.arange(0, 64)
    value = triton.language.load(x + i)
    triton.language.store(out + i, value * factor if flag else value)


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
def test_true_is_passed_and_an_integer_1_is_not(level):
    x, _, out = inputs()
    with triton_runner.using(level=level):
        kernels = [_scale_if[(1,)](x, out, 3.0, flag) for flag in (True, 1)]
    passed, folded = (
        {f"{level}_src": kernel.asm[level], "metadata_json": kernel.metadata} for kernel in kernels
    )
    for flag, factor in ((True, 2), (False, 1)):
        _scale_if[(1,)](x, out, 2.0, flag, **passed)
        assert (out == factor * x).all()
    _scale_if[(1,)](x, out, 2.0, 1, **folded)
    assert (out == 2 * x).all()
    with pytest.raises(DiagnosticError, match=r"'flag' is True, but|do not fit"):
        _scale_if[(1,)](x, out, 2.0, True, **folded)


def test_load_runs_where_jit_does(folder, monkeypatch):
    asked = []
    devices = triton_runner._settings.devices
    monkeypatch.setattr(devices, "_resolve", lambda device: asked.append(device) or "cpu")
    monkeypatch.setattr(devices, "_resolved", {})
    with triton_runner.using(device="auto"):
        triton_runner.load(folder / "ttir" / "_add.ttir")
    triton_runner.load(folder / "ttir" / "_add.ttir", device="cpu", name="_add")
    assert asked == ["auto", "cpu"]
