"""Tests launches on AMD's GPUs that go straight to the driver: programs on tests/gpu/fake_hip.cpp in place
of libamdhip64.so. Triton's own HIP driver and launchers run beside ours: its C module is compiled when a
program first uses it, and opens the library that TRITON_LIBHIP_PATH names. Kernels are compiled for
gfx942."""

import json
import textwrap
from pathlib import Path

import fake_build
import pytest
from test_device_fake import run_program
from test_gpu_launch import (
    A_MILLION,
    EVERY_KIND,
    EVERY_WIDTH,
    PARAMS,
    PRELUDE,
    STREAMS,
    THREADS,
    WIDTHS,
    check_nothing_left,
    check_streams,
    check_threads,
    compare_kinds,
    words,
)

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[3]
ASKED = "hipPointerGetAttribute"  # by Triton's launcher, of each pointer
MORE = """
class Sized(Tensor):
    def __init__(self, address, size, **more):
        super().__init__(address, **more)
        self.size = size
    def ptr_range(self):
        return self.size

theirs = triton.jit(mixed.fn)
def go_theirs(x=x, y=y, n=5, scale=0.5, flag=True, grid=(3, 2), **more):
    return theirs[grid](x, y, n, scale, flag, FIRST=2, **more)
"""


@pytest.fixture(scope="session")
def fake(tmp_path_factory):
    """The folder with the fake libamdhip64.so."""
    folder = tmp_path_factory.mktemp("hip")
    fake_build.build("fake_hip", folder / "libamdhip64.so")
    return folder


def on_fake(fake, tmp_path, body, **environment):
    """(what the body printed, what the driver saw)."""
    log = tmp_path / "log.json"
    settings = {
        "LD_LIBRARY_PATH": str(fake), "TRITON_LIBHIP_PATH": f"{fake}/libamdhip64.so",
        "FAKE_HIP_LOG": str(log), "FAKE_HIP_MEMORY": "4096=0,8192=0,12288=0,16384=1,20480=-1",
        "FAKE_HIP_PARAMS": PARAMS, "TRITON_RUNNER_DEVICE": "hip", "TRITON_RUNNER_PROD": "1",
    }  # fmt: skip
    result = run_program(PRELUDE + MORE + textwrap.dedent(body), **{**settings, **environment})
    return result.stdout.split("\n")[:-1], json.loads(log.read_text())


def test_the_second_launch_is_ours_and_equal_to_tritons(fake, tmp_path):
    said, seen = on_fake(fake, tmp_path, """
        print(triton.runtime.driver.active.get_current_target(), type(go_theirs().run).__name__)
        print(counted(go), counted(go), counted(go), counted(lambda: go(n=3, m=9)), counted(lambda: go(n=16)))
        with_pointers = lambda: go(Pointer(4096), Pointer(8192))
        print(counted(with_pointers), counted(with_pointers))
    """)  # fmt: skip
    assert "gfx942" in said[0] and said[0].endswith("HIPLauncher")
    assert said[1:] == ["1 1 0 0 1", "1 0"] or said[1:] == ["1 1 0 0 1", "0 0"]
    theirs, *ours = [{**launch, "function": 0} for launch in seen["launches"]]
    assert words(theirs)[:3] == [4096, 8192, 5] and words(theirs)[4:] == [1, 7, 0, 0]
    assert theirs["grid"] == [3, 2, 1] and theirs["block"] == [256, 1, 1] and theirs["attributes"] == []
    assert theirs["call"] == "hipModuleLaunchKernel"
    for launch in (*ours[:3], *ours[5:]):
        assert launch == theirs
    assert words(ours[3])[2] == 3 and words(ours[3])[5] == 9
    # Three launches of Triton's with two pointers each, the one that has n = 16, and with_pointers' first.
    assert seen["calls"].count(ASKED) in (8, 10)


def test_streams_and_devices_are_torchs(fake, tmp_path):
    said, seen = on_fake(fake, tmp_path, STREAMS)
    check_streams(said, seen)
    functions = [launch["function"] for launch in seen["launches"]]
    assert functions[4] == functions[5] != functions[3] == functions[6]


def test_grids_and_hooks(fake, tmp_path):
    said, seen = on_fake(fake, tmp_path, """
        for _ in range(2): go()
        of_arguments = lambda meta: (meta["n"], meta["FIRST"])
        print(counted(lambda: go(grid=of_arguments)), counted(lambda: go(grid=[4])))
        heard = []
        hook = lambda metadata: heard.append(metadata.get()["name"])
        hooks = getattr(triton.knobs.runtime, "launch_enter_hook")
        hooks.add(hook)
        print(counted(go), heard)
        hooks.remove(hook)
        print(counted(go), heard)
    """)  # fmt: skip
    assert said == ["0 0", "0 ['mixed']", "0 ['mixed']"]
    assert [launch["grid"] for launch in seen["launches"][2:4]] == [[5, 2, 1], [4, 1, 1]]
    assert seen["launches"][-2] == seen["launches"][-1] == seen["launches"][0]


def test_a_larger_storage_is_another_kernel(fake, tmp_path):
    """32-bit offsets are compiled for storages within 2 GiB, as Triton says of each tensor."""
    said, seen = on_fake(fake, tmp_path, """
        small, large = Sized(4096, 2**31 - 1), Sized(4096, 2**31)
        for launch in (go_theirs, go, go, go):
            launch(small), launch(large), launch()
        print(counted(lambda: go(small)), counted(lambda: go(large)), counted(go))
        print(*(go(tensor).asm["ttir"].count("pointer_range") for tensor in (small, large, x)))
    """)  # fmt: skip
    assert said == ["0 0 0", "1 0 0"]
    functions = [launch["function"] for launch in seen["launches"]]
    for i in range(0, len(functions), 3):
        small, large, neither = functions[i : i + 3]
        assert small != large == neither


def test_every_kind_of_value_does_as_with_triton(fake, tmp_path):
    said, seen = on_fake(fake, tmp_path, EVERY_KIND)
    compare_kinds(said, [{**launch, "function": 0} for launch in seen["launches"][5:]], same_words=True)


def test_numbers_of_every_width_are_passed_as_by_triton(fake, tmp_path):
    said, seen = on_fake(fake, tmp_path, EVERY_WIDTH, FAKE_HIP_PARAMS=WIDTHS)
    compare_kinds(said, [{**launch, "function": 0} for launch in seen["launches"][5:]], same_words=True)


# How a kernel is launched beside the plain way: options, environment, what the driver sees.
WAYS = {
    "cooperative": ({"launch_cooperative_grid": True}, {}, {"call": "hipModuleLaunchCooperativeKernel"}),
    "eight warps": ({"num_warps": 8}, {}, {"block": [512, 1, 1]}),
    "32 lanes": ({}, {"FAKE_HIP_ARCH": "gfx1201", "FAKE_HIP_WARP": "32"}, {"block": [128, 1, 1]}),
    "clusters": (
        {"num_ctas": 2}, {"FAKE_HIP_ARCH": "gfx1250", "FAKE_HIP_WARP": "32"},
        {"call": "hipDrvLaunchKernelEx", "grid": [6, 2, 1], "attributes": [4, 2, 1, 1, 2, 0]},
    ),
    "cooperative clusters": (
        {"num_ctas": 2, "launch_cooperative_grid": True},
        {"FAKE_HIP_ARCH": "gfx1250", "FAKE_HIP_WARP": "32"}, {"attributes": [4, 2, 1, 1, 2, 1]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_ways_to_launch(fake, tmp_path, way):
    options, environment, expected = WAYS[way]
    said, seen = on_fake(fake, tmp_path, f"""
        go_theirs(**{options}), go(**{options})
        print(counted(lambda: go(**{options})), counted(lambda: go(**{options})))
    """, **environment)  # fmt: skip
    assert said[0].endswith(" 0")
    launches = [{**launch, "function": 0} for launch in seen["launches"]]
    assert all(launch == launches[0] for launch in launches) and len(launches) == 4
    assert {name: launches[0][name] for name in expected} == expected
    assert seen["calls"].count(ASKED) == 6  # of three launches that are Triton's


def test_a_driver_without_clusters(fake, tmp_path):
    """Triton's launcher calls a hook on its way out, which fails for the error that is set."""
    said, seen = on_fake(fake, tmp_path, """
        for launch in (go_theirs, go, go):
            try:
                launch(num_ctas=2)
            except Exception as error:
                print(error.__cause__ or error)
    """, FAKE_HIP_ARCH="gfx1250", FAKE_HIP_WARP="32", FAKE_HIP_LACKS="hipDrvLaunchKernelEx")  # fmt: skip
    assert said == ["missing hipDrvLaunchKernelEx symbol; please update HIP runtime"] * 3
    assert seen["launches"] == []


def test_scratch_memory_is_the_allocators(fake, tmp_path):
    """Each launch of a kernel that Triton gives scratch memory goes through its launcher."""
    said, seen = on_fake(fake, tmp_path, """
        from triton.backends.amd.driver import HIPLauncher
        own = HIPLauncher.__init__
        def init(self, *args):
            own(self, *args)
            self.global_scratch_size, self.global_scratch_align = 128, 16
        HIPLauncher.__init__ = init
        asked = []
        def allocate(size, align, stream):
            asked.append((size, align, stream))
            return Pointer(4096 * len(asked), torch.int8)
        triton.set_allocator(allocate)
        fake_gpu.STREAM[0] = 77
        print(counted(go), counted(go), counted(lambda: go(grid=(2, 1))))
        print(*asked)
    """)  # fmt: skip
    assert said == ["1 1 0", "(768, 16, 77) (768, 16, 77) (256, 16, 77)"]
    assert [words(launch)[6] for launch in seen["launches"]] == [4096, 8192, 12288]


def test_another_copy_of_the_library_leaves_launches_to_triton(fake, tmp_path):
    """A function that one copy has loaded is nothing to another."""
    copy = tmp_path / "libamdhip64.so.6"
    copy.write_bytes((fake / "libamdhip64.so").read_bytes())
    said, seen = on_fake(fake, tmp_path, f"""
        import ctypes
        ctypes.CDLL({str(copy)!r})
        print([counted(go) for _ in range(3)])
    """)  # fmt: skip
    assert said == ["[1, 1, 0]"] and seen["calls"].count(ASKED) == 6
    assert len(seen["launches"]) == 3


def test_a_driver_that_refuses(fake, tmp_path):
    said, _ = on_fake(fake, tmp_path, """
        for launch in (go_theirs, go, go, go):
            try:
                launch()
            except Exception as error:
                print(error.__cause__ or error)
    """, FAKE_HIP_FAIL="hipModuleLaunchKernel=719")  # fmt: skip
    assert said == ["Triton Error [HIP]:  Code: 719, Messsage: a made-up failure"] * 4


def test_threads_share_known_launches(fake, tmp_path):
    said, seen = on_fake(fake, tmp_path, THREADS)
    check_threads(said, seen["launches"])


@pytest.mark.long
def test_a_million_launches_leave_nothing(fake, tmp_path):
    check_nothing_left(*on_fake(fake, tmp_path, A_MILLION, FAKE_HIP_QUIET="1"))
