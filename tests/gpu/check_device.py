"""The driver layer on a real GPU: what a fake driver cannot tell. A line a check; exits 1 if one failed.

Needs torch with CUDA. Kernels are PTX written by hand, so that each check is about one thing.
"""

import sys
import tempfile
from pathlib import Path

import torch
import triton_runner
from triton_runner import _core
from triton_runner._launch import gpu_driver

sys.path.append(str(Path(__file__).resolve().parents[1] / "corpus"))
import corpus

HEADER = """.version 8.0
.target {target}
.address_size 64
{declared}.visible .entry k(
{params}
)
.reqntid {threads}
{{
"""
REGISTERS = ".reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .pred %p<3>;\n"


def ptx(body: str, params, target="sm_75", threads=32, declared="") -> bytes:
    listed = ",\n".join(f".param {kind} k_param_{i}" for i, kind in enumerate(params))
    head = HEADER.format(target=target, params=listed, threads=threads, declared=declared)
    return (head + REGISTERS + body + "\nret;\n}\n").encode()


def load(image: bytes, params=(("out", "pointer", "ptr", 64),), **options):
    options = {"target": "cuda:75", "block": (32, 1, 1), "shared": 0, **options}
    return gpu_driver.driver().load(image, "k", "ptx", list(params), options)


def launch(kernel, grid=(1,), stream=0, **values):
    options = _core.Options()
    options.device = "cuda"
    options.stream = stream
    kernel.launch(grid, list(values.items()), options)
    torch.cuda.synchronize()


def error_of(action) -> str:
    try:
        action()
    except triton_runner.DiagnosticError as error:
        return str(error)
    return ""


OUT = "ld.param.u64 %rd1, [k_param_0]; cvta.to.global.u64 %rd1, %rd1;\n"


def check_large_shared_memory():
    body = (
        OUT
        + """mov.u32 %r1, smem; add.u32 %r1, %r1, 200000; mov.u32 %r2, 77; st.shared.u32 [%r1], %r2;
        ld.shared.u32 %r3, [%r1]; st.global.u32 [%rd1], %r3;"""
    )
    kernel = load(ptx(body, [".u64"], declared=".extern .shared .align 16 .b8 smem[];\n"), shared=200_016)
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    launch(kernel, out=out)
    return out.item() == 77 and kernel.shared == 200_016


def check_too_much_shared_memory():
    return "needs 300000 bytes of dynamic shared memory" in error_of(
        lambda: load(ptx("", [".u64"]), shared=300_000)
    )


def check_grid_and_arguments():
    body = (
        OUT
        + """ld.param.u32 %r1, [k_param_1]; ld.param.f32 %f1, [k_param_2]; mov.u32 %r2, %ctaid.x;
        cvt.rn.f32.u32 %f2, %r2; fma.rn.f32 %f2, %f2, %f1, %f1;
        cvt.rn.f32.s32 %f3, %r1; add.f32 %f2, %f2, %f3;
        mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2; st.global.f32 [%rd1], %f2;"""
    )
    params = [("out", "pointer", "ptr", 64), ("n", "integer", "i32", 32), ("scale", "float", "f32", 32)]
    out = torch.zeros(5, device="cuda")
    launch(load(ptx(body, [".u64", ".u32", ".f32"]), params), (5,), out=out, n=-3, scale=0.5)
    return out.tolist() == [0.5 * (i + 1) - 3 for i in range(5)]


def check_clusters():
    body = (
        OUT
        + """mov.u32 %r1, %cluster_nctaid.x; mov.u32 %r2, %clusterid.x; mov.u32 %r3, %ctaid.x;
        mul.wide.u32 %rd2, %r3, 8; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r1;
        st.global.u32 [%rd1+4], %r2;"""
    )
    kernel = load(ptx(body, [".u64"], target="sm_90"), target="cuda:90", cluster=(2, 1, 1))
    out = torch.zeros(6, 2, dtype=torch.int32, device="cuda")
    launch(kernel, (3,), out=out)
    return out.tolist() == [[2, i // 2] for i in range(6)]


def check_cooperative_and_pdl():
    body = OUT + "mov.u32 %r1, 5; st.global.u32 [%rd1], %r1;"
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    launch(load(ptx(body, [".u64"]), cooperative=True), out=out)
    first = out.item()
    out.zero_()
    launch(load(ptx(body, [".u64"]), pdl=True), out=out)
    too_large = error_of(lambda: launch(load(ptx(body, [".u64"]), cooperative=True), (1 << 20,), out=out))
    return (
        first == 5 and out.item() == 5 and "a cooperative launch has to fit the device at once" in too_large
    )


def check_scratch():
    body = (
        OUT
        + """ld.param.u64 %rd2, [k_param_1]; ld.param.u64 %rd3, [k_param_2]; cvta.to.global.u64 %rd2, %rd2;
        mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd4, %r1, 64; add.u64 %rd2, %rd2, %rd4;
        st.global.u32 [%rd2+60], %r1;
        ld.global.u32 %r2, [%rd2+60]; and.b64 %rd5, %rd3, 1023; cvt.u32.u64 %r3, %rd5;
        mul.wide.u32 %rd4, %r1, 8; add.u64 %rd1, %rd1, %rd4; st.global.u32 [%rd1], %r2;
        st.global.u32 [%rd1+4], %r3;"""
    )
    kernel = load(
        ptx(body, [".u64", ".u64", ".u64"]), hidden_pointers=2, global_scratch_size=64,
        global_scratch_align=128, profile_scratch_size=16, profile_scratch_align=1024)  # fmt: skip
    out = torch.full((100, 2), -1, dtype=torch.int32, device="cuda")
    launch(kernel, (100,), out=out)
    return out.tolist() == [[i, 0] for i in range(100)]


def check_stream():
    body = OUT + "mov.u32 %r1, 9; st.global.u32 [%rd1], %r1;"
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        launch(load(ptx(body, [".u64"])), stream=gpu_driver.current_stream(), out=out)
    return out.item() == 9


def check_pointers():
    kernel = load(ptx("", [".u64"]))
    on_cpu = error_of(lambda: launch(kernel, out=torch.zeros(1)))
    raw = error_of(lambda: launch(kernel, out=torch.zeros(1).data_ptr()))
    pinned = torch.zeros(1).pin_memory()
    launch(kernel, out=pinned.data_ptr())
    return "a tensor on cpu" in on_cpu and "cannot reach (a CPU tensor?)" in raw


def check_bad_ptx():
    text = error_of(lambda: load(ptx("add.nonsense %r1, %r2;", [".u64"])))
    return "cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX" in text and "k.ptx:" in text


def check_wrong_architecture():
    newer = error_of(lambda: load(ptx("", [".u64"], target="sm_120"), target="cuda:120"))
    cubin = corpus.folder("3.6.0") / "sm80/matmul_kernel.cubin"
    options = {"target": "", "block": (128, 1, 1), "shared": 0}
    image = cubin.read_bytes()
    forced = error_of(lambda: gpu_driver.driver().load(image, "matmul_kernel", "cubin", [], options))
    return "is for cuda:120" in newer and "CUDA_ERROR_NO_BINARY_FOR_GPU" in forced


def check_resources_of_cubins():
    folder = corpus.folder("3.6.0") / "sm90"
    for path in folder.glob("*.cubin"):
        told = _core.artifact.describe(path.read_bytes(), "cubin")
        options = {"target": told["target"], "block": (32 * told["num_warps"], 1, 1), "shared": 0}
        real = gpu_driver.driver().load(path.read_bytes(), told["name"], "cubin", [], options)
        names = ("n_regs", "n_spills", "static_shared")
        if any(told[name] != getattr(real, name) for name in names):
            print({name: (told[name], getattr(real, name)) for name in names})
            return False
    return True


class TensorMap:
    """A CUtensorMap of a matrix of f16, as Triton 3.2 and 3.3 take them: 128 bytes on the host."""

    def __init__(self, matrix, block):
        made = gpu_driver.driver().encode_tensor_map(
            matrix.data_ptr(), 6, 2, 2, block, list(matrix.shape), list(matrix.stride())
        )
        self.bytes = torch.frombuffer(bytearray(made), dtype=torch.uint8)

    def tma_desc_cpu_ptr(self):
        return self.bytes.data_ptr()


def check_tensor_maps_of_the_caller():
    """The TMA matmul of Triton 3.3.1, whose cubin takes tensor maps by value."""
    m, n, k = 200, 160, 120
    a, b = (torch.randn(*s, device="cuda", dtype=torch.float16) for s in ((m, k), (k, n)))
    c = torch.zeros(m, n, device="cuda", dtype=torch.float16)
    path = corpus.folder("3.3.1") / "sm90/matmul_tma_kernel.cubin"
    with triton_runner.using(device="cuda"):
        kernel = triton_runner.load(str(path), device="cuda")
    kernel[(4 * 5,)](TensorMap(a, [64, 32]), TensorMap(b, [32, 32]), TensorMap(c, [64, 32]), m, n, k)
    torch.cuda.synchronize()
    return (c.double() - a.double() @ b.double()).abs().max().item() < 0.05


def check_missing_file():
    with tempfile.TemporaryDirectory() as folder:
        return "no folder" in error_of(lambda: _core.artifact.find(folder + "/x", "k", "ptx"))


def main():
    print(gpu_driver.driver().properties(0), "driver", gpu_driver.driver().driver_version())
    failed = []
    for name, check in list(globals().items()):
        if not name.startswith("check_"):
            continue
        try:
            passed = check()
        except Exception as error:
            passed = False
            print(f"{type(error).__name__}: {error}")
        print("ok    " if passed else "FAILED", name.removeprefix("check_").replace("_", " "), flush=True)
        if not passed:
            failed.append(name)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
