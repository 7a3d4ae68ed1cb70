"""Tests _core.artifact on what Triton itself writes: every level, with and without metadata, on disk and
broken."""

import json
import subprocess
import sys
from pathlib import Path

import corpus
import pytest
from triton_runner import DiagnosticError, _core

artifact = _core.artifact
CORPUS = corpus.unpacked()
NEWEST = CORPUS / "3.9.0"
LEVELS = ("llir", "ptx", "cubin")

# Compiles a kernel for AMD, which the examples do not have, to the folder given.
FOR_AMD = """
import json, sys
import triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def scale_kernel(x_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(x_ptr + offsets, x * factor, mask=offsets < n)

signature = {"x_ptr": "*fp32", "n": "i32", "factor": "fp32", "BLOCK": "constexpr"}
source = ASTSource(scale_kernel, signature, {"BLOCK": 256})
kernel = triton.compile(source, target=GPUTarget("hip", "gfx942", 64))
for level, content in kernel.asm.items():
    with open(f"{sys.argv[1]}/scale_kernel.{level}", "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
"""


def described(path: Path, metadata: bool) -> dict:
    text = path.with_suffix(".json").read_text() if metadata else None
    return artifact.describe(path.read_bytes(), path.suffix[1:], path.stem, text, str(path))


@pytest.mark.parametrize("level", LEVELS)
def test_every_release(level):
    paths = [path for path in sorted(CORPUS.glob(f"*/*/*.{level}")) if path.with_suffix(".json").exists()]
    assert len(paths) > 20
    for path in paths:
        metadata = json.loads(path.with_suffix(".json").read_text())
        alone, whole = described(path, False), described(path, True)
        arch = int(path.parent.name[2:])
        assert alone["name"] == metadata["name"] == path.stem
        # sm_90 LLIR does not name its architecture; its metadata does.
        assert whole["target"] == f"cuda:{arch}" and alone["target"] in ("", f"cuda:{arch}")
        assert alone["num_warps"] == whole["num_warps"] == metadata["num_warps"], path
        assert whole["shared"] == metadata["shared"] and alone["shared"] in (None, metadata["shared"]), path
        assert whole["missing"] == [] and whole["warnings"] == [], path
        hidden = 2 if "profile_scratch_size" in metadata else 1 if "global_scratch_size" in metadata else 0
        assert whole["hidden_pointers"] == hidden
        assert all(p["bytes"] == 8 for p in alone["params"][len(alone["params"]) - hidden :])
        if level == "cubin":
            assert 16 <= alone["n_regs"] <= 255 and alone["n_spills"] == 0


def test_levels_agree_on_the_parameters():
    for cubin in CORPUS.glob("*/sm90/*.cubin"):
        sizes = [[p["bytes"] for p in described(cubin, False)["params"]]]
        for level in ("llir", "ptx"):
            path = cubin.with_suffix(f".{level}")
            sizes.append([p["bytes"] or 128 for p in described(path, False)["params"]])
        assert sizes[0] == sizes[1] == sizes[2], cubin


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_ir_tells_names_and_types(level):
    found = artifact.describe((NEWEST / f"sm80/add_kernel.{level}").read_text(), level)
    assert found["name"] == "add_kernel"
    assert [p["type"] for p in found["params"]] == ["!tt.ptr<f32>"] * 3 + ["i32"]
    assert found["params"][0]["name"] == "x_ptr"
    if level == "ttgir":
        assert found["target"] == "cuda:80" and found["threads_per_warp"] == 32 and found["num_ctas"] == 1


def test_amd_levels(tmp_path):
    script = tmp_path / "compile.py"
    script.write_text(FOR_AMD)
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, capture_output=True)
    sizes = {}
    for level in ("amdgcn", "hsaco"):
        found = artifact.describe((tmp_path / f"scale_kernel.{level}").read_bytes(), level)
        assert (found["name"], found["target"], found["threads_per_warp"]) == (
            "scale_kernel",
            "hip:gfx942",
            64,
        )
        assert found["num_warps"] == 4 and "upper bound" in found["warnings"][0]
        assert found["vgprs"] > 0 and found["n_spills"] == 0
        sizes[level] = [p["bytes"] for p in found["params"]]
    assert sizes["amdgcn"] == sizes["hsaco"] == [8, 4, 4, 8, 8]
    found = artifact.describe((tmp_path / "scale_kernel.llir").read_text(), "llir")
    assert [p["type"] for p in found["params"]] == ["ptr", "i32", "float", "ptr", "ptr"]
    assert found["max_threads"] == 256


def test_finding(tmp_path):
    folder = tmp_path / "sm90"
    for ending in ("ptx", "json"):
        artifact.write(
            str(folder / f"matmul_kernel.{ending}"), (NEWEST / f"sm90/matmul_kernel.{ending}").read_bytes()
        )
    found = artifact.find(str(folder), "matmul_kernel", "ptx")
    assert found == str(folder / "matmul_kernel.ptx")
    assert artifact.find_metadata(found) == str(folder / "matmul_kernel.json")
    with pytest.raises(DiagnosticError, match="holds kernel 'matmul_kernel' at ptx: use ptx_dir="):
        artifact.find(str(folder), "matmul_kernel", "ttgir")
    with pytest.raises(DiagnosticError, match="kernels at ptx there: matmul_kernel"):
        artifact.find(str(folder), "matmul_kernal", "ptx")
    with pytest.raises(DiagnosticError, match="different content"):
        artifact.find(str(NEWEST), "matmul_kernel", "ptx")


def test_a_cache_of_triton(tmp_path):
    """One folder an entry, the metadata named by a __grp__ file."""
    source = NEWEST / "sm90/matmul_kernel.ptx"
    for entry in ("AAAA", "BBBB"):
        artifact.write(str(tmp_path / entry / "matmul_kernel.ptx"), source.read_bytes())
    found = artifact.find(str(tmp_path), "matmul_kernel", "ptx")
    assert found == str(tmp_path / "AAAA/matmul_kernel.ptx")
    assert artifact.find_metadata(found) == ""
    metadata = source.with_suffix(".json")
    group = {"child_paths": {"matmul_kernel.json": str(metadata)}}
    artifact.write(str(tmp_path / "AAAA/__grp__matmul_kernel.json"), json.dumps(group))
    assert artifact.find_metadata(found) == str(metadata)


def test_truncated_and_malformed():
    for level in LEVELS:
        content = (NEWEST / f"sm90/matmul_kernel.{level}").read_bytes()
        for part in (0, 1, 7, 64, len(content) // 4, len(content) // 2):
            with pytest.raises(DiagnosticError) as caught:
                artifact.describe(content[:part], level, filename=f"k.{level}")
            assert str(caught.value).startswith(f"k.{level}")
    with pytest.raises(DiagnosticError, match="did you mean matmul_kernel"):
        artifact.describe((NEWEST / "sm90/matmul_kernel.ptx").read_text(), "ptx", "matmul")
    with pytest.raises(DiagnosticError, match=r"k.json:1:2: error: malformed JSON"):
        artifact.describe((NEWEST / "sm90/matmul_kernel.ptx").read_text(), "ptx", "", "{", "k.ptx")


def test_writing_leaves_nothing_behind(tmp_path):
    artifact.write(str(tmp_path / "new/folder/a.ptx"), "text")
    artifact.write(str(tmp_path / "new/folder/a.ptx"), b"bytes")
    assert [p.name for p in (tmp_path / "new/folder").iterdir()] == ["a.ptx"]
    assert artifact.read(str(tmp_path / "new/folder/a.ptx")) == b"bytes"
    with pytest.raises(DiagnosticError, match="cannot open"):
        artifact.read(str(tmp_path / "none"))


def test_a_text_without_a_module_has_each_kernel_once():
    text = b"tt.func @kernel(%p: !tt.ptr<i32>) {\n  tt.return\n}\n"
    assert artifact.kernels(text, "ttir", "kernel.ttir") == ["kernel"]
    assert artifact.describe(text, "ttir", "", "", "kernel.ttir")["name"] == "kernel"
