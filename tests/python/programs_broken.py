"""Gluon programs of the tests, broken by one edit each: a wrong phase, a missing arrival, a buffer that is
overwritten before it is read, a missing fence, a missing commit or wait.

A program is a kernel of a test module with arguments. An edit replaces one text of the module's source, which
stands there once behind the line that the program begins with. `python tests/python/programs_broken.py` runs all
of them and writes tests/golden/broken.txt: what each is answered at TTGIR and at PTX.
"""

import dataclasses
import importlib.util
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(os.path.dirname(HERE), "golden", "broken.txt")
CHECKS = "oob,race"


@dataclasses.dataclass(frozen=True)
class Program:
    module: str
    start: str  # the line of the source from which on texts are looked for
    target: str
    launch: object  # (module) -> kernel, grid, arguments, options


def _add_by_copies(m):
    x, y, out = m.torch.randn(20, 150), m.torch.randn(20, 150), m.torch.zeros(20, 150)
    shared = m.gl.SwizzledSharedLayout(4, 2, 4, [1, 0])
    return m.add_by_copies, (1,), (x, y, out, 20, 150, 2, shared), {}


def _copy_by_barrier(m):
    return m.copy_by_barrier, (1,), (m.torch.randn(500), m.torch.zeros(500), 500, 512), {}


def _copy_block(m):
    x, out = m.torch.randn(64, 64), m.torch.zeros(64, 64)
    return m.copy_block, (1,), (*(m.described(t, [32, 32]) for t in (x, out)), (0, 0), (0, 0)), {"num_warps": 1}


def _add_by_tma(m):
    tensors = m.torch.randn(32, 200), m.torch.randn(32, 200), m.torch.zeros(32, 200)
    return m.add_by_tma, (1,), (*(m.described(t, [32, 32]) for t in tensors), 2), {}


def _product(m):
    a, b, out = m.whole(64, 32), m.whole(32, 64), m.torch.zeros(64, 64)
    of_c = m.gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 32, 16])
    descs = [m.described(t, t.shape) for t in (a, b)]
    return m.product, (1,), (*descs, out, "shared", "shared", of_c, m.gl.float32, 0), {}


def _persistent_product(m):
    a, b, out = m.whole(128, 96), m.whole(96, 136), m.torch.zeros(128, 136, dtype=m.torch.float16)
    descs = [m.described(t, block) for t, block in ((a, [64, 32]), (b, [32, 64]), (out, [64, 64]))]
    return m.persistent_product, (2,), (*descs, 3), {"num_warps": 4}


def _product_in_flight(m):
    a, b, out = m.whole(64, 320), m.whole(320, 64), m.torch.zeros(64, 64, dtype=m.torch.float16)
    of_c = m.gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 32, 16])
    descs = [m.described(t, [64, 64]) for t in (a, b, out)]
    return m.product_in_flight, (1, 1), (*descs, 3, of_c), {"num_warps": 4}


def _add_by_partitions(m):
    tensors = m.torch.randn(32, 320), m.torch.randn(32, 320), m.torch.zeros(32, 320)
    descs = [m.described(t, [32, 64]) for t in tensors]
    return m.add_by_partitions, (1,), (*descs, 2, 2), {"num_warps": 4, "maxnreg": 128}


def _product_by_partitions(m):
    a, b, out = m.whole(64, 160), m.whole(136, 160), m.torch.zeros(64, 136)
    descs = [m.described(t, block) for t, block in ((a, [64, 32]), (b, [64, 32]), (out, [64, 64]))]
    of_c = m.gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    return m.product_by_partitions, (1,), (*descs, 2, of_c, 1), {"num_warps": 4}


def _values_of_partitions(m):
    x, y = (m.whole(n, 256, dtype=m.torch.int32) for n in (1, 5))
    out = m.torch.zeros(4, 256, dtype=m.torch.int32)
    return m.values_of_partitions, (1,), (x, y, out, 5, 256), {}


def _blackwell_product(m):
    a, b, c = m.whole(128, 64), m.whole(64, 64), m.whole(128, 64, dtype=m.torch.float32)
    descs = [m.described(t, t.shape) for t in (a, b, c, m.torch.zeros_like(c))]
    return m.product, (1,), (*descs, False, True), {}


def _pipelined(m):
    a, b, c = m.whole(64, 168), m.whole(168, 64), m.torch.zeros(64, 64, dtype=m.torch.float16)
    descs = [m.described(a, (64, 32)), m.described(b, (32, 32)), m.described(c, (64, 32))]
    return m.pipelined, (1, 1), (*descs, 2), {}


PROGRAMS = {
    "copies": Program("test_gluon_copies", "def fetch(", "cuda:80", _add_by_copies),
    "copies at a barrier": Program("test_gluon_copies", "def copy_by_barrier", "cuda:90", _copy_by_barrier),
    "a block by TMA": Program("test_gluon_copies", "def copy_block", "cuda:90", _copy_block),
    "a ring of TMA": Program("test_gluon_copies", "def fetch_pair", "cuda:90", _add_by_tma),
    "wgmma": Program("test_gluon_hopper", "def product(", "cuda:90", _product),
    "persistent wgmma": Program("test_gluon_hopper", "def fetch_operands", "cuda:90", _persistent_product),
    "wgmma in flight": Program("test_gluon_hopper", "def fetch(place", "cuda:90", _product_in_flight),
    "sums by partitions": Program("test_gluon_partitions", "def add_loads", "cuda:90", _add_by_partitions),
    "wgmma by partitions": Program(
        "test_gluon_partitions", "def product_loads", "cuda:90", _product_by_partitions
    ),
    "values of partitions": Program("test_gluon_partitions", "def adds", "cuda:90", _values_of_partitions),
    "tcgen05": Program("test_gluon_blackwell", "def product(", "cuda:100", _blackwell_product),
    "a pipeline of tcgen05": Program(
        "test_gluon_blackwell_programs", "def pipelined", "cuda:100", _pipelined
    ),
}

# The program, what is broken, the text and what stands in its place; "" leaves the line out.
EDITS = [
    ("copies", "waits for one group too few", "wait_group(DEPTH - 1)", "wait_group(DEPTH)"),
    ("copies", "waits for no group", "        copies.wait_group(DEPTH - 1)\n", ""),
    ("copies", "copies to the buffer that is read", "ring.index(step % DEPTH), x_ptr", "ring.index(0), x_ptr"),
    (
        "copies",
        "commits too late",
        "        copies.commit_group()\n        copies.wait_group(DEPTH - 1)\n",
        "        copies.wait_group(DEPTH - 1)\n        copies.commit_group()\n",
    ),
    ("copies", "reads the next buffer", "x_ring.index(step % DEPTH)", "x_ring.index((step + 1) % DEPTH)"),
    ("copies at a barrier", "copies do not arrive", "    copies.mbarrier_arrive(here)\n", ""),
    ("copies at a barrier", "does not arrive itself", "    mbarrier.arrive(here)\n", ""),
    ("copies at a barrier", "does not wait", "    mbarrier.wait(here, 0)\n", ""),
    ("copies at a barrier", "waits for the phase before", "mbarrier.wait(here, 0)", "mbarrier.wait(here, 1)"),
    ("copies at a barrier", "waits for two arrivals", "init(here, count=1)", "init(here, count=2)"),
    ("a block by TMA", "does not wait", "    mbarrier.wait(here, 0)\n", ""),
    ("a block by TMA", "waits for the phase before", "wait(here, 0)", "wait(here, 1)"),
    ("a block by TMA", "expects nothing", "    mbarrier.expect(here, x_desc.nbytes_per_cta)\n", ""),
    (
        "a block by TMA",
        "expects too much",
        "expect(here, x_desc.nbytes_per_cta)",
        "expect(here, 2 * x_desc.nbytes_per_cta)",
    ),
    ("a ring of TMA", "does not wait", "        mbarrier.wait(ready.index(step % DEPTH), step // DEPTH & 1)\n", ""),
    ("a ring of TMA", "waits for the phase before", "step // DEPTH & 1)", "(step // DEPTH & 1) ^ 1)"),
    ("a ring of TMA", "waits at the next barrier", "ready.index(step % DEPTH), step", "ready.index((step + 1) % DEPTH), step"),
    ("a ring of TMA", "no fence before the store", "        hopper.fence_async_shared()\n", ""),
    ("a ring of TMA", "does not wait for the last store", "        tma.store_wait(0)\n        sums", "        sums"),
    ("a ring of TMA", "expects half", "x_desc.nbytes_per_cta + y_desc.nbytes_per_cta", "x_desc.nbytes_per_cta"),
    ("a ring of TMA", "copies to the buffer that is read", "here, y_ring.index(step % DEPTH)", "here, y_ring.index(0)"),
    ("wgmma", "does not wait for the operands", "    mbarrier.wait(here, 0)\n", ""),
    ("wgmma", "expects one operand", "a_desc.nbytes_per_cta + b_desc.nbytes_per_cta", "a_desc.nbytes_per_cta"),
    (
        "wgmma",
        "overwrites an operand in flight",
        "    c = hopper.warpgroup_mma_wait(num_outstanding=0, deps=(c,))\n",
        "    b.store(gl.zeros([b.shape[0], N], b_desc.dtype, gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])))\n"
        "    c = hopper.warpgroup_mma_wait(num_outstanding=0, deps=(c,))\n",
    ),
    (
        "wgmma",
        "no fence after a store",
        "    c = gl.full([M, N]",
        "    b.store(gl.zeros([b.shape[0], N], b_desc.dtype, gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])))\n"
        "    c = gl.full([M, N]",
    ),
    ("persistent wgmma", "waits for one product too few", "warpgroup_mma_wait(1,", "warpgroup_mma_wait(2,"),
    ("persistent wgmma", "fetches one step too early", "later = count + DEPTH - 1", "later = count + DEPTH"),
    ("persistent wgmma", "no fence before the store", "        hopper.fence_async_shared()\n", ""),
    ("persistent wgmma", "does not wait for the last store", "        tma.store_wait(0)\n        result", "        result"),
    ("persistent wgmma", "waits for the phase before", "count // DEPTH & 1)", "(count // DEPTH & 1) ^ 1)"),
    (
        "wgmma in flight",
        "does not wait for the product before",
        "        c = hopper.warpgroup_mma_wait(0, deps=(c,))\n        a, b",
        "        c = hopper.warpgroup_mma_wait(2, deps=(c,))\n        a, b",
    ),
    (
        "wgmma in flight",
        "stores the result into an operand in flight",
        "    c = hopper.warpgroup_mma_wait(0, deps=(c,))\n    result = b_ring.index(0)",
        "    b_ring.index((uses.index + DEPTH - 1) % DEPTH).store(\n"
        "        gl.zeros(b_desc.block_shape, b_desc.dtype, gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0]))\n"
        "    )\n"
        "    c = hopper.warpgroup_mma_wait(0, deps=(c,))\n    result = b_ring.index(0)",
    ),
    ("wgmma in flight", "no fence before the store", "    hopper.fence_async_shared()\n", ""),
    ("wgmma in flight", "does not wait for operands", "        mbarrier.wait(ready.index(uses.index), uses.phase)\n", ""),
    ("sums by partitions", "gives no buffer back", "        mbarrier.arrive(empty.index(step % IN))\n", ""),
    ("sums by partitions", "does not wait for empty buffers", "        mbarrier.wait(empty.index(at), (step // DEPTH & 1) ^ 1)\n", ""),
    ("sums by partitions", "waits for empty in the wrong phase", "(step // DEPTH & 1) ^ 1)\n        mbarrier.expect", "step // DEPTH & 1)\n        mbarrier.expect"),
    ("sums by partitions", "does not wait for full buffers", "        mbarrier.wait(full.index(step % IN), step // IN & 1)\n", ""),
    ("sums by partitions", "gives a buffer back before it reads", "        total = x_ring", "        mbarrier.arrive(empty.index(step % IN))\n        total = x_ring"),
    ("sums by partitions", "no fence before the store", "store(total)\n        hopper.fence_async_shared()\n", "store(total)\n"),
    ("sums by partitions", "stores wait for one too few", "tma.store_wait(DEPTH - 1)", "tma.store_wait(DEPTH)"),
    ("sums by partitions", "does not wait for the buffer of the result", "        mbarrier.wait(out_empty.index(step % OUT), (step // OUT & 1) ^ 1)\n", ""),
    ("wgmma by partitions", "gives a buffer back one product early", "warpgroup_mma_wait(IN_FLIGHT,", "warpgroup_mma_wait(IN_FLIGHT + 1,"),
    ("wgmma by partitions", "gives back the wrong buffer", "(count + DEPTH - 1) % DEPTH", "count % DEPTH"),
    ("wgmma by partitions", "gives no buffer back", "            mbarrier.arrive(empty.index((count + DEPTH - 1) % DEPTH), pred=count > 0)\n", ""),
    ("wgmma by partitions", "no fence before the store", "        hopper.fence_async_shared()\n", ""),
    ("wgmma by partitions", "waits for full in the wrong phase", "mbarrier.wait(full.index(count % DEPTH), count // DEPTH & 1)", "mbarrier.wait(full.index(count % DEPTH), (count // DEPTH & 1) ^ 1)"),
    ("values of partitions", "one arrival is missing", "        mbarrier.arrive(empty, pred=i % 2 == 1)\n", ""),
    ("values of partitions", "does not wait for the values", "        mbarrier.wait(full, i & 1)\n", ""),
    ("values of partitions", "does not wait for the readers", "        mbarrier.wait(empty, (i & 1) ^ 1)\n", ""),
    ("tcgen05", "does not wait for the operands", "    mbarrier.wait(loaded, 0)\n", ""),
    ("tcgen05", "does not wait for the product", "    mbarrier.wait(done, 0)\n", ""),
    ("tcgen05", "does not commit", "        blackwell.tcgen05_commit(done)\n", ""),
    ("tcgen05", "waits for the phase before", "wait(done, 0)", "wait(done, 1)"),
    ("tcgen05", "no fence before the store", "    blackwell.fence_async_shared()\n", ""),
    ("tcgen05", "overwrites an operand in flight", "    mbarrier.wait(done, 0)\n", "    a.store(gl.zeros([M, K], a.dtype, gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])))\n    mbarrier.wait(done, 0)\n"),
    ("a pipeline of tcgen05", "does not wait for used buffers", "        mbarrier.wait(used.index(i % DEPTH), (i // DEPTH & 1) ^ 1, pred=ahead)\n", ""),
    ("a pipeline of tcgen05", "does not commit", "            blackwell.tcgen05_commit(used.index(j % DEPTH))\n", ""),
    ("a pipeline of tcgen05", "waits for loads in the wrong phase", "j // DEPTH & 1)\n", "(j // DEPTH & 1) ^ 1)\n"),
    ("a pipeline of tcgen05", "does not wait for the last product", "    mbarrier.wait(used.index(last % DEPTH), last // DEPTH & 1)\n", ""),
    ("a pipeline of tcgen05", "no fence before the store", "    blackwell.fence_async_shared()\n", ""),
]  # fmt: skip


def source_of(program: Program, old: str = "", new: str = "") -> str:
    with open(os.path.join(HERE, f"{program.module}.py")) as file:
        source = file.read()
    at = source.index(program.start)
    if not old:
        return source
    at = source.find(old, at)
    if at < 0:
        raise ValueError(f"{program.module} does not hold {old!r} behind {program.start!r}")
    return source[:at] + new + source[at + len(old) :]


def module_of(source: str, folder: str, name: str):
    path = os.path.join(folder, f"{name}.py")
    with open(path, "w") as file:
        file.write(source)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _without_fences(program: Program, kernel, grid, arguments, options) -> dict:
    """The PTX that Triton makes, without its proxy fences. Triton 3.9 puts one where Gluon left it out."""
    import triton_runner

    with triton_runner.using(target=program.target, level="ptx"):
        compiled = kernel[grid](*arguments, **options)
    text = re.sub(r"^\s*fence\.proxy\.async.*$", "", compiled.asm["ptx"], flags=re.MULTILINE)
    return {"ptx_src": text, "metadata_json": compiled.metadata}


def answer(program: Program, level: str, old: str = "", new: str = "", unfenced: bool = False) -> str:
    """What check="race" says of the program: the report with its lines, or "" for none."""
    import triton_runner

    with tempfile.TemporaryDirectory() as folder:
        module = module_of(source_of(program, old, new), folder, "program")
        module.torch.manual_seed(0)
        kernel, grid, arguments, options = program.launch(module)
        if unfenced:
            options = {**options, **_without_fences(program, kernel, grid, arguments, options)}
            kernel, grid, arguments, _ = program.launch(module)
        try:
            with triton_runner.using(target=program.target, level=level, check=CHECKS, timeout=60):
                kernel[grid](*arguments, **options)
        except triton_runner.KernelTrap as trap:
            return plain(str(trap), folder, source_of(program, old, new).splitlines())
    return ""


def plain(report: str, folder: str, source: list) -> str:
    """With lines of the source in place of their numbers; without what differs from run to run, and what is
    long."""
    report = report.replace(folder + os.sep, "")
    line = lambda found: f"`{source[int(found[1]) - 1].strip()}`"  # noqa: E731
    report = re.sub(r"program\.py:(\d+):\d+", line, report)
    report = re.sub(r" \(\S+ptx>?:\d+:\d+\)|^  note: the instruction is at .*\n", "", report, flags=re.MULTILINE)
    report = re.sub(r"at \S*ptx>?:\d+:\d+", "at ptx", report)
    return re.sub(r"0x[0-9a-f]{9,}", "0x...", report).strip()


def answers(name: str, edit: str, old: str, new: str):
    for level in ("ttgir", "ptx"):
        yield f"{name}, {edit}, {level}", answer(PROGRAMS[name], level, old, new, level == "ptx" and edit.startswith("no fence"))


def read_golden() -> dict:
    with open(GOLDEN) as file:
        parts = re.split(r"^== (.*)\n", file.read(), flags=re.MULTILINE)[1:]
    return {title: text.strip() for title, text in zip(parts[::2], parts[1::2], strict=True)}


if __name__ == "__main__":
    chosen = sys.argv[1:]
    for name in PROGRAMS:
        for level in ("ttgir", "ptx"):
            if found := answer(PROGRAMS[name], level):
                print(f"unbroken {name}, {level}: {found}")
    lines = []
    for edit in EDITS:
        if chosen and edit[0] not in chosen:
            continue
        for title, text in answers(*edit):
            lines.append(f"== {title}\n{text}\n")
            if not text:
                print(f"nothing is said of: {title}")
    if not chosen:
        with open(GOLDEN, "w") as file:
            file.write("\n".join(lines))
    else:
        print("\n".join(lines))
