"""Tests kernels shipped to C++: exported, and launched by a program that is built outside of the tree
against an installed library, on the CPU and up to the driver of a made-up GPU."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from test_device_fake import fake  # noqa: F401  (a fixture)
from triton_runner import DiagnosticError, export
from triton_runner.verbs.export.command import parse_variants

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "deploy"
TVM = ROOT / "examples" / "tvm_ffi"
KERNEL = f"{EXAMPLE / 'add_kernel.py'}:add_kernel"
SIGNATURE = "*fp32:16, *fp32:16, *fp32:16, i32:16?"
LIBRARIES = ("deploy", "probe", "layout")  # with all that they depend on


def run(*command, **environment) -> subprocess.CompletedProcess:
    tools = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True,
        env={**os.environ, "PATH": tools, **environment},
    )  # fmt: skip


def done(*command, **environment) -> str:
    result = run(*command, **environment)
    assert result.returncode == 0, f"{command}\n{result.stdout[-4000:]}{result.stderr[-4000:]}"
    return result.stdout


@pytest.fixture(scope="session")
def package(tmp_path_factory):
    """The example's folder of kernels, written by its command line."""
    folder = tmp_path_factory.mktemp("kernels")
    told = done(
        sys.executable, "-m", "triton_runner", "export", KERNEL, "--out", folder, "--targets",
        "cuda:80,cuda:90,cuda:100", "--levels", "binary,ptx,ttir", "--variants", f"{SIGNATURE}; BLOCK=1024",
    )  # fmt: skip
    assert "6 variants in" in told and "multiples of 16: x_ptr, y_ptr, out_ptr, n" in told
    return folder


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """The library, installed into a folder of its own."""
    folder = tmp_path_factory.mktemp("prefix")
    done("cmake", "--build", ROOT / "build" / "release", "--target", *LIBRARIES)
    done("cmake", "--install", ROOT / "build" / "release", "--component", "cpp", "--prefix", folder)
    return folder


def built(source: pathlib.Path, folder: pathlib.Path, prefix: str) -> pathlib.Path:
    done("cmake", "-S", source, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
    done("cmake", "--build", folder)
    return folder


@pytest.fixture(scope="session")
def program(prefix, tmp_path_factory):
    """examples/deploy, built against the installed library."""
    return built(EXAMPLE, tmp_path_factory.mktemp("deploy"), prefix) / "add"


def test_on_the_cpu(package, program):
    said = done(program, package, "cpu", 100000)
    assert said.splitlines()[-1] == "100000 sums, all right"
    assert "ttir for cuda:80, BLOCK=1024" in said and "n a multiple of 16" in said
    said = done(program, package, "cpu", 999)
    assert "n a multiple of 16" not in said and "999 sums, all right" in said


def test_without_a_gpu(package, program, tmp_path):
    assert "all right" in done(program, package, "", 64, LD_LIBRARY_PATH=str(tmp_path))
    refused = run(program, package, "gpu", LD_LIBRARY_PATH=str(tmp_path))
    assert refused.returncode == 1 and "this machine has no GPU for these kernels" in refused.stderr


@pytest.mark.parametrize("sm, code", [(80, "cubin for cuda:80"), (86, "cubin for cuda:80"),
                                      (89, "cubin for cuda:80"), (90, "cubin for cuda:90"),
                                      (100, "cubin for cuda:100"), (120, "ptx for cuda:80")])  # fmt: skip
def test_the_code_for_the_device(package, program, fake, tmp_path, sm, code):  # noqa: F811
    log = tmp_path / "log.json"
    memory = ",".join(f"{0x7F0000000000 + i * 4000}=0" for i in range(3))
    result = run(
        program, package, "gpu", 1000, LD_LIBRARY_PATH=str(fake), FAKE_CUDA_LOG=str(log),
        FAKE_CUDA_PARAMS="8,8,8,4,8,8", FAKE_CUDA_SM=str(sm), FAKE_CUDA_MEMORY=memory,
    )  # fmt: skip
    assert code in result.stdout, result.stderr
    assert "mismatch at element" in result.stderr  # the fake executes nothing
    seen = json.loads(log.read_text())
    (launch,) = seen["launches"]
    assert launch["grid"] == [1, 1, 1] and launch["block"] == [128, 1, 1]
    assert launch["params"][3] == (1000).to_bytes(4, "little").hex()
    assert seen["binary"] == code.startswith("cubin")


@pytest.fixture(scope="session")
def tvm_library(prefix, package, tmp_path_factory):
    """examples/tvm_ffi beside the folder of kernels."""
    cmake = done(sys.executable, "-m", "tvm_ffi.config", "--cmakedir").strip()
    folder = built(TVM, tmp_path_factory.mktemp("tvm"), f"{prefix};{cmake}")
    (folder / "kernels").symlink_to(package)
    return folder / "libadd.so"


def test_a_function_of_tvm_ffi(tvm_library):
    assert "1000 sums on cpu, all right" in done(sys.executable, TVM / "use.py", tvm_library)
    refused = """if True:
        import sys, torch, tvm_ffi
        add = tvm_ffi.load_module(sys.argv[1]).add
        x = torch.zeros(1000)
        def said(*args):
            try:
                add(*args)
            except Exception as error:
                print(type(error).__name__, str(error).replace("\\n", " "))
        said(x, x, x, 1.5), said(x, x, x), said(x.double(), x, x, 1000), said(x, x, [x], 1000)
        said(torch.zeros(10), x, x, 1000)
        """
    texts = done(sys.executable, "-c", refused, tvm_library).splitlines()
    assert len(texts) == 5 and all("add_kernel" in text for text in texts), texts
    assert texts[0].startswith("TypeError") and "an integer is needed" in texts[0]
    assert "argument 'n' (i32): it is missing" in texts[1]
    assert "elements of 64 bits" in texts[2] and "argument 2 is of TVM-FFI's type" in texts[3]
    assert texts[4].startswith("RuntimeError") and "argument 'x_ptr' (40 bytes)" in texts[4]


def test_a_function_of_tvm_ffi_on_a_gpu(tvm_library, fake, tmp_path):  # noqa: F811
    """Up to the driver, on the stream that TVM-FFI has; tensors are made up, as torch has no GPU here."""
    log, program = (
        tmp_path / "log.json",
        f"""if True:
        import ctypes, sys, tvm_ffi
        sys.path.insert(0, {str(ROOT / "tests" / "python" / "helpers")!r})
        from made_up_tensors import Any, gpu_tensor
        add = ctypes.CDLL(sys.argv[1]).__tvm_ffi_add
        given = (Any * 4)(*(gpu_tensor(4096 * i, 1000) for i in (1, 2, 3)), Any(1, 0, 1000))
        with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), 77):
            print(*(add(None, given, 4, ctypes.byref(Any())) for _ in range(2)))
        """,
    )
    said = done(
        sys.executable, "-c", program, tvm_library, LD_LIBRARY_PATH=str(fake), FAKE_CUDA_LOG=str(log),
        FAKE_CUDA_PARAMS="8,8,8,4,8,8", FAKE_CUDA_MEMORY="4096=0,8192=0,12288=0",
    )  # fmt: skip
    assert said.split() == ["0", "0"]
    launches = json.loads(log.read_text())["launches"]
    assert len(launches) == 2 and launches[0] == launches[1]
    assert launches[0]["stream"] == 77 and launches[0]["grid"] == [1, 1, 1]
    assert [int.from_bytes(bytes.fromhex(p), "little") for p in launches[0]["params"]] == [
        4096, 8192, 12288, 1000, 0, 0]  # fmt: skip


def test_what_the_index_says(package):
    index = json.loads((package / "index.json").read_text())
    (kernel,) = index["kernels"]
    assert index["format"] == 1 and kernel["parameters"] == ["x_ptr", "y_ptr", "out_ptr", "n", "BLOCK"]
    for variant in kernel["variants"]:
        assert variant["exact_target"] == (variant["target"] != "cuda:80")
        assert variant["types"]["n"] == "i32" and variant["constants"] == {"BLOCK": 1024}
        assert all((package / file).is_file() for file in [*variant["files"].values(), variant["metadata"]])
    shared = {variant["files"]["ttir"] for variant in kernel["variants"]}
    assert len(shared) == 2  # one a specialisation, whatever the target


def test_variants_of_a_text():
    (one,) = parse_variants("*fp32, i32; BLOCK=64; num_warps=8; TYPE=tl.float16")
    assert one["signature"] == "*fp32, i32" and one["options"] == {"num_warps": 8}
    assert one["constexprs"] == {"BLOCK": 64, "TYPE": {"attribute": ["triton.language", "float16"]}}
    several = parse_variants("*fp32; A=1,2; num_warps=4,8; B=x")
    assert [(v["constexprs"]["A"], v["options"]["num_warps"]) for v in several] == [
        (1, 4), (1, 8), (2, 4), (2, 8)]  # fmt: skip
    with pytest.raises(DiagnosticError, match="'BLOCK' is not of the form NAME=VALUE"):
        parse_variants("*fp32; BLOCK")


def test_a_kernel_is_replaced_and_others_stay(tmp_path):
    other = tmp_path / "other.py"
    other.write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        "def other(x_ptr, n, BLOCK: tl.constexpr):\n    tl.store(x_ptr + tl.arange(0, BLOCK), n)\n"
    )
    folder = tmp_path / "kernels"
    variant = {"signature": {"x_ptr": "*i32", "n": "i32:1"}, "constexprs": {"BLOCK": 16}}
    (entry,) = export(f"{other}:other", variant, folder, targets="cuda:80", levels=["ttir"])
    assert entry["constants"] == {"n": 1, "BLOCK": 16} and entry["types"] == {"x_ptr": "*i32"}
    export(KERNEL, parse_variants(f"{SIGNATURE}; BLOCK=64"), folder, targets=["cuda:80"])
    export(KERNEL, parse_variants("*fp16, *fp16, *fp16, i32; BLOCK=64"), folder, targets=["cuda:80"])
    kernels = {k["name"]: k["variants"] for k in json.loads((folder / "index.json").read_text())["kernels"]}
    assert {name: len(variants) for name, variants in kernels.items()} == {"add_kernel": 1, "other": 1}


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("kernel.py", {}, "out"), "a Python kernel is exported"),
        ((f"{EXAMPLE / 'add_kernel.py'}:nothing", {}, "out"), "has no kernel 'nothing'"),
        ((KERNEL, {"signature": "*fp32"}, "out"), "parameter 'y_ptr' has no type"),
    ],
)
def test_what_cannot_be_exported(tmp_path, arguments, message):
    kernel, variants, out = arguments
    with pytest.raises(DiagnosticError, match=message):
        export(kernel, variants, tmp_path / out, targets="cuda:80")


def test_levels_that_are_not_there(tmp_path):
    with pytest.raises(DiagnosticError, match="hip:gfx942 has none of the levels ptx"):
        export(KERNEL, {"signature": SIGNATURE}, tmp_path, targets="hip:gfx942", levels=["ptx"])
    with pytest.raises(DiagnosticError, match="'sass' is not a level"):
        export(KERNEL, {"signature": SIGNATURE}, tmp_path, targets="cuda:80", levels=["sass"])
    (tmp_path / "index.json").write_text("[]")
    with pytest.raises(DiagnosticError, match="is not an index of format 1"):
        export(KERNEL, {"signature": SIGNATURE}, tmp_path, targets="cuda:80")
