"""Gluon programs of the tests, broken by one edit each: a wrong phase, a missing arrival, a buffer that is
overwritten before it is read, a missing fence, a missing commit or wait.

A program is a kernel of a test module with arguments. An edit replaces lines of the module's source, the
first that match behind where the program begins (tests/golden/broken-edits.txt).
`python tests/python/helpers/programs_broken.py` runs all of them and writes tests/golden/broken.txt: what
each is answered at TTGIR and at PTX.
"""

import dataclasses
import importlib.util
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(os.path.dirname(os.path.dirname(HERE)), "golden")
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
    return (
        m.copy_block,
        (1,),
        (*(m.described(t, [32, 32]) for t in (x, out)), (0, 0), (0, 0)),
        {"num_warps": 1},
    )


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


def _asks_for_work(m):
    x = m.torch.arange(1024, dtype=m.torch.int32)
    return m.asks_for_work, (8,), (x, m.torch.zeros_like(x), 128, ()), {}


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
    "launch control": Program(
        "test_gluon_blackwell_clusters", "def asks_for_work", "cuda:100", _asks_for_work
    ),
}


def read_blocks(name: str) -> dict:
    """The blocks of a file: their titles, which stand behind ==, and their texts."""
    with open(os.path.join(GOLDEN, name)) as file:
        parts = re.split(r"^== (.*)\n", file.read(), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def edits_of(name: str):
    """The edits of a file: the program, what is broken, the lines and what stands in their place."""
    for title, text in read_blocks(name).items():
        name, edit = title.split(", ")
        lines = text.splitlines(keepends=True)
        yield name, edit, *("".join(line[1:] for line in lines if line[0] == sign) for sign in "-+")


EDITS = list(edits_of("broken-edits.txt"))


def source_of(program: Program, old: str = "", new: str = "") -> str:
    with open(os.path.join(os.path.dirname(HERE), "gluon", f"{program.module}.py")) as file:
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


def answer(
    program: Program, level: str, old: str = "", new: str = "", unfenced: bool = False, checks: str = CHECKS
) -> str:
    """Returns what the checks say of the program: the report with its lines, or "" for none."""
    import triton_runner

    with tempfile.TemporaryDirectory() as folder:
        module = module_of(source_of(program, old, new), folder, "program")
        module.torch.manual_seed(0)
        kernel, grid, arguments, options = program.launch(module)
        if unfenced:
            options = {**options, **_without_fences(program, kernel, grid, arguments, options)}
            kernel, grid, arguments, _ = program.launch(module)
        try:
            with triton_runner.using(target=program.target, level=level, check=checks, timeout=60):
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
    report = re.sub(
        r" \(\S+ptx>?:\d+:\d+\)|^  note: the instruction is at .*\n", "", report, flags=re.MULTILINE
    )
    report = re.sub(r"at \S*ptx>?:\d+:\d+", "at ptx", report)
    return re.sub(r"0x[0-9a-f]{9,}|(?<=bytes at )0x[0-9a-f]{7,}", "0x...", report).strip()


def answers(name: str, edit: str, old: str, new: str):
    for level in ("ttgir", "ptx"):
        yield (
            f"{name}, {edit}, {level}",
            answer(PROGRAMS[name], level, old, new, level == "ptx" and edit.startswith("no fence")),
        )


def read_golden() -> dict:
    return {title: text.strip() for title, text in read_blocks("broken.txt").items()}


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
        with open(os.path.join(GOLDEN, "broken.txt"), "w") as file:
            file.write("\n".join(lines))
    else:
        print("\n".join(lines))
