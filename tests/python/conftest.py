"""Settings of all Python tests: the CPU is the device, and compiled kernels go to a temporary folder."""

import atexit
import os
import pathlib
import shutil
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Inductor keeps names of files of the environment that wrote them.
for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"):
    if name not in os.environ:
        os.environ[name] = tempfile.mkdtemp(prefix="triton-runner-tests-")
        atexit.register(shutil.rmtree, os.environ[name], ignore_errors=True)
os.environ.setdefault("TRITON_RUNNER_DEVICE", "cpu")
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # 3.9 warns where this is left open
# Tests import what helpers/ has, and some what another test has.
FOLDERS = sorted(path for path in (ROOT / "tests" / "python").iterdir() if path.is_dir())
TESTS = ROOT / "tests"
sys.path[:0] = [str(ROOT / "examples"), str(TESTS), str(TESTS / "corpus"), *map(str, FOLDERS)]
import corpus  # noqa: E402

corpus.unpacked()  # pages and tests name files of build/corpus

# The files that take longest, by `make test PARTS=python` with --junitxml. They come first: a process that
# begins one of them last works on alone.
LONGEST = [
    "bisection", "readme", "conformance", "gpu_launch", "compare", "benchmark", "differential", "bench",
    "isa", "sort", "torch_compile", "cli", "pointer_objects", "enable_dump", "report", "dump_front",
    "experiments", "reduce", "gluon_scaled", "pretend_cuda", "winners",
]  # fmt: skip

# These cost most and cover least: harnesses, benchmarks, installations, pages whose commands take long. They
# are marked `share` and run every few submissions (tests/run_all.py); what they reach other tests reach too.
SHARE = [
    "test_what_an_adversary_had_verified_is_not",
    "test_conformance", "test_benchmark", "test_bench", "test_isa", "test_sort", "test_torch_compile",
    "test_experiments", "test_winners", "test_memory_use", "test_bisection_timing", "test_gluon_scaled",
    "test_ulp", "test_the_trap_is_the_lowest_program_s", "test_on_a_cluster_with_a_worker_killed",
    "test_verify_that_is_not_to_fail_the_job", "test_a_case_that_is_made_otherwise_is_shown",
    "test_what_a_launch_executes_is_a_figure", "test_one_overflow_a_day_is_the_same_beside_other_checks",
    "test_no_verdict_depends_on_the_words_of_a_trap", "test_the_memory_of_a_verdict",
    "test_a_planted_fault_is_found", "test_processes_that_are_spawned", "test_against_the_metadata",
    "test_runs_share_the_seeds_that_a_program_does_not_set", "test_scratch_of_a_reduction",
    "test_pointers_are_tensors_addresses_or_none", "test_large_arguments_that_are_gone_are_not_kept",
    "test_what_keeps_every_result_is_seen",
    "test_rows_that_one_stride_finds_are_wrong_where_dimensions_are_exchanged_or_padded",
    "test_no_answer_that_cheats_is_verified", "test_prove_sound", "test_prove_odd", "test_bisection_reads",
    "test_reduced_amdgcn", "test_a_fault_that_a_square_launch_does_not_show",
]  # fmt: skip

# Commands of pages, strangers' programs, and programs that end in the middle: they take as long, and have a
# turn of their own.
PROGRAMS = [
    "test_what_is_said_of",
    "test_quick", "test_packaging", "test_deploy", "test_tutorials", "test_page",
    "test_a_program_that_waits_for_one_that_trapped_hides_nothing", "test_the_same_page_on_a_busy_machine",
    "test_killed_in_the_middle", "test_holders_are_all_of_them",
    "test_programs_that_say_cuda_in_two_processes",
    "test_bisect_names_the_case_and_not_where_it_was_unpacked", "test_a_program_that_ends",
    "test_a_program_that_does_not_end_by_itself", "test_ctrl_c", "test_a_port_that_is_tried_and_left",
    "test_the_debugger_is_killed", "test_commands[doc/guide/debug.md]", "test_ctrl_c_stops_a_launch",
    "test_session[torch-compile]", "test_session[pretend-cuda]", "test_commands[doc/guide/bits.md]",
    "test_commands[doc/guide/find-a-race.md]", "test_commands[doc/guide/torch-compile.md]",
    "test_commands[doc/guide/find-the-slow-line.md]", "test_commands[doc/guide/reduce.md]",
    "test_commands[doc/guide/verify.md]", "test_commands[doc/guide/without-a-gpu.md]",
    "test_commands[doc/guide/overflow.md]", "test_commands[doc/guide/see.md]",
    "test_commands[doc/guide/passes.md]", "test_commands[doc/guide/pytest.md]",
    "test_commands[doc/guide/shapes.md]", "test_commands[doc/guide/ghosts.md]",
    "test_commands[doc/guide/assembler.md]", "test_room", "test_commands[doc/reference/views.md]",
    "test_commands[doc/guide/torch-bisect.md]", "test_lines",
]  # fmt: skip

# Machine code beside PTX, random kernels, AMD's launches, passes inside LLVM: marked `machine`, with a turn
# of their own.
MACHINE = [
    "test_sass_releases", "test_sass_pairs", "test_hazards", "test_differential", "test_amd_launch",
    "test_bisection_llvm", "test_bisection_undefined", "test_assemble", "test_source_map",
    "test_machine_registers", "test_machine_code_is_reported_as_its_ptx_is",
    "test_kernels_are_decoded_letter_by_letter", "test_rows_and_operands_are_decoded_to_their_text",
]  # fmt: skip


def pytest_collection_modifyitems(items):
    for item in items:
        names = {item.path.stem, item.originalname, item.name}
        if names & set(SHARE):
            item.add_marker("share")
        elif names & set(PROGRAMS):
            item.add_marker("programs")
        elif names & set(MACHINE):
            item.add_marker("machine")
    place = {f"test_{name}": at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


@pytest.fixture(autouse=True)
def environment():
    """Settings end with their test: those of the command line, run in this process, are variables. So do
    dumps that nobody fetched."""
    before = {name: value for name, value in os.environ.items() if name.startswith("TRITON_RUNNER_")}
    yield
    for name in [name for name in os.environ if name.startswith("TRITON_RUNNER_")]:
        if name not in before:
            del os.environ[name]
    os.environ.update(before)
    if session := sys.modules.get("triton_runner._kernel.dumps.requests"):
        session.dumps()
