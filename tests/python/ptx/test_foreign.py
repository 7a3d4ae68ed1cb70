"""Tests PTX by other compilers than Triton's (tests/foreign): NVRTC's of CUDA C++ and NVVM's of numba-cuda.

Each kernel runs as PTX and as machine code, beside the same source on the CPU: by g++, Python or NumPy."""

import ctypes
import pathlib
import re
import shutil
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest
from suite.assembled import assemble
from triton_runner import _core
from triton_runner._memory import registry

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "foreign"
sys.path.insert(0, str(FOLDER))
import numba_kernels  # noqa: E402

THREADS = 64
TYPES = {"i32": np.int32, "i64": np.int64, "u64": np.uint64, "f32": np.float32, "f64": np.float64}


def array(text: str) -> np.ndarray:
    """The array of `i32[64]`, `f64[65]=normal`, `i32[64]=iota`, `u64[65]=bits`."""
    kind, count, how = re.fullmatch(r"(\w+)\[(\d+)\]=?(\w*)", text).groups()
    n, rng = int(count), np.random.default_rng(7)
    values = {
        "": np.zeros(n),
        "iota": np.arange(n),
        "normal": rng.standard_normal(n) * 3,
        "bits": rng.integers(0, 2**64, n, dtype=np.uint64),
    }[how]
    return values.astype(TYPES[kind])


def rows() -> list:
    """(file, kernel, arguments) of each line `// run: KERNEL ARGUMENTS` of the C++ files."""
    return [
        pytest.param(path, *line.split(maxsplit=1), id=f"{path.stem}-{line.split()[0]}")
        for path in sorted(FOLDER.glob("*.cu"))
        for line in re.findall(r"^// run: (.*)$", path.read_text(), re.M)
    ]


def levels(text: str, kernel: str, block: tuple) -> list:
    """The kernel as PTX and, where there is a ptxas, as machine code."""
    options = {"block": block}
    entry = re.search(rf"\.entry {re.escape(kernel)}\((.*?)\)", text, re.S)[1]
    kinds = [
        (f"p{i}", "pointer", "i64", 64) if bits == "64" else (f"p{i}", "integer", "i32", 32)
        for i, bits in enumerate(re.findall(r"\.param \.[a-z](\d+)", entry))
    ]
    out = [_core.load_simt(text, "foreign.ptx", kernel, kinds, options)]
    assembled = assemble(text, "sm_90")
    if not isinstance(assembled, str):
        cubin, listing = (path.read_bytes() for path in assembled)
        out.append(_core.load_cubin(cubin, listing.decode(), "foreign.cubin", kernel, [], options))
    return out


def outputs(text: str, kernel: str, values: list, block=(THREADS, 1, 1), grid=(1, 1, 1), **given) -> list:
    """The first array of the values after a launch of each level; all must leave the same bytes."""
    out = []
    options = _core.Options()
    options.timeout = 60
    for name, value in given.items():
        setattr(options, name, value)
    for loaded in levels(text, kernel, block):
        own = [v.copy() if isinstance(v, np.ndarray) else v for v in values]
        with mock.patch.object(registry, "_walk", wraps=registry._walk) as walk:
            loaded.launch(grid, [(p.name, v) for p, v in zip(loaded.params, own, strict=True)], options)
        assert walk.call_count <= 1  # over all that lives, which may take a second
        out.append(own[0])
    assert all(o.tobytes() == out[0].tobytes() for o in out)
    return out[0]


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """Returns the library that g++ makes of a file, once."""
    made = {}

    def library(path: pathlib.Path) -> ctypes.CDLL:
        if path not in made:
            out = tmp_path_factory.mktemp("host") / f"{path.stem}.so"
            words = ["-O1", "-ffp-contract=off", "-w", "-shared", "-fPIC", "-x", "c++"]
            command = ["g++", *words, "-include", FOLDER / "host.h", "-o", out, path]
            subprocess.run(command, check=True)
            made[path] = ctypes.CDLL(str(out))
        return made[path]

    return library


@pytest.mark.skipif(shutil.which("g++") is None, reason="the oracle is made by g++")
@pytest.mark.parametrize(("path", "kernel", "given"), rows())
def test_as_cpp_does(host, path, kernel, given):
    values = [array(word) if "[" in word else int(word) for word in given.split()]
    result = outputs(path.with_suffix(".ptx").read_text(), kernel, values)
    own = [v.copy() if isinstance(v, np.ndarray) else v for v in values]
    library = host(path)
    for thread in range(THREADS):
        library.set_thread(thread, THREADS)
        getattr(library, kernel)(
            *[v.ctypes.data_as(ctypes.c_void_p) if isinstance(v, np.ndarray) else v for v in own]
        )
    assert own[0].tobytes() != values[0].tobytes()
    np.testing.assert_array_equal(result, own[0])


@pytest.mark.parametrize("function", numba_kernels.FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python_does(function):
    text = (FOLDER / f"numba_{function.__name__}.ptx").read_text()
    kernel = re.search(r"\.entry (\w+)\(", text)[1]
    x, out = array("f64[64]=normal"), array("i64[64]")

    def fields(
        a,
    ):  # of an array as numba passes it: owner, parent, elements, their bytes, data, shape, strides
        return [0, 0, a.size, a.itemsize, a, a.size, a.itemsize]

    values = [*fields(out), *fields(x)]
    for loaded in levels(text, kernel, (96, 1, 1)):  # threads past the end do nothing
        own = [v.copy() if isinstance(v, np.ndarray) else v for v in values]
        loaded.launch((1, 1, 1), [(p.name, v) for p, v in zip(loaded.params, own, strict=True)])
        np.testing.assert_array_equal(own[4], [function(i, x) for i in range(64)])


def threads(kernel: str, values: list, block, grid=1, **given) -> np.ndarray:
    block, grid = (v if isinstance(v, tuple) else (v, 1, 1) for v in (block, grid))
    return outputs((FOLDER / "threads.ptx").read_text(), kernel, values, block, grid, **given)


def depth_first(tree, node, n):
    if node >= n:
        return 0
    return tree[node] + depth_first(tree, 2 * node + 1, n) + 2 * depth_first(tree, 2 * node + 2, n)


def test_shared_memory_of_a_function():
    t = np.arange(100)
    np.testing.assert_array_equal(threads("shared_in_function", [array("i32[100]")], 100), (t + 1) % 100 * 5)


def test_blocks_of_three_dimensions():
    result = threads("cube", [array("i32[1260]")], (5, 6, 7), (3, 2, 1)).reshape(6, 7, 6, 5)
    b, z, y, x = np.indices(result.shape)
    np.testing.assert_array_equal(result, x * 10000 + y * 100 + z + 1000000 * b)


@pytest.mark.parametrize("size", [32, 100, 128, 500])
def test_dynamic_shared_memory(size):
    data = (np.arange(1000) % 17).astype(np.float32)
    blocks = -(-1000 // size)
    result = threads("reduce", [np.zeros(blocks, np.float32), data, 1000], size, blocks, shared=4 * size)
    padded = np.pad(data, (0, blocks * size - 1000)).reshape(blocks, size)
    np.testing.assert_array_equal(result, padded.sum(1))


def test_constant_banks():
    t = np.arange(70)
    table, letters = np.array([3, 1, 4, 1, 5, 9, 2, 6]), np.array([ord(c) for c in "zot"])
    result = threads("constants", [array("i32[70]")], 70)
    np.testing.assert_array_equal(result, table[t % 8] * 1000 + letters[t % 3])


@pytest.mark.parametrize("size", [5, 72, 128])
def test_votes_of_a_block(size):
    t = np.arange(size)
    want = (t % 3 == 0).sum() * 10000 + (t < 100).all() * 100 + (t == 5).any() * 10
    assert (threads("votes", [np.zeros(size, np.int32)], size) == want).all()


def test_scan_of_a_warp():
    data = np.arange(96, dtype=np.int32) * 7 % 13
    result = threads("scan", [array("i32[96]"), data], 96)
    np.testing.assert_array_equal(result, data.reshape(3, 32).cumsum(1).ravel())


def test_a_lock_within_a_warp():
    """Only at PTX: ptxas lets the threads of a warp meet before the one that holds the lock gives it back."""
    text, out = (FOLDER / "threads.ptx").read_text(), array("i32[1]")
    loaded = levels(text, "spin", (96, 1, 1))[0]
    loaded.launch((1, 1, 1), [(loaded.params[0].name, out)])
    assert out[0] == 96 * 97 // 2


def test_the_last_block():
    np.testing.assert_array_equal(threads("last_block", [array("i32[9]")], 40, 8), [*range(1, 9), 36])


def test_threads_at_different_depths():
    tree = np.arange(64, dtype=np.int32) * 3 % 7
    result = threads("trees", [array("i32[64]"), tree], 64)
    np.testing.assert_array_equal(result, [depth_first(tree, 0, n) for n in range(64)])


def test_blocks_of_the_grid_meet():
    i = np.arange(256)
    result = threads("whole_grid", [array("i32[512]")], 32, 8)
    np.testing.assert_array_equal(result, np.concatenate([i * 2, (i + 33) % 256 * 2]))
