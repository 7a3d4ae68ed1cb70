"""Settings of all Python tests: the CPU is the device, and compiled kernels go to a temporary folder."""

import atexit
import collections
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
import run_all  # noqa: E402

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
    "test_ctrl_c_twice_ends_it", "test_commands[doc/guide/prove.md]",
    "test_commands[doc/guide/cuda.md]", "test_commands[doc/guide/tune.md]",
    "test_commands[doc/guide/judge.md]", "test_commands[doc/guide/registers.md]",
    "test_commands[doc/guide/compiler-tips.md]", "test_commands[doc/reference/cli.md]",
]  # fmt: skip

# Machine code beside PTX, random kernels, AMD's launches, passes inside LLVM: marked `machine`, with a turn
# of their own.
MACHINE = [
    "test_sass_releases", "test_sass_pairs", "test_hazards", "test_differential", "test_amd_launch",
    "test_bisection_llvm", "test_bisection_undefined", "test_assemble", "test_source_map",
    "test_machine_registers", "test_machine_code_is_reported_as_its_ptx_is",
    "test_engine_gives_the_bits_of_hardware[mma.py]", "test_engine_gives_the_bits_of_hardware[im2col.py]",
    "test_kernels_are_decoded_letter_by_letter", "test_rows_and_operands_are_decoded_to_their_text",
]  # fmt: skip

# These use verbs at length (each compiles or judges several times), beside shorter uses of the same verbs
# that stay. They are marked `verbs`, with a turn of their own.
VERBS = [
    "test_results_that_differ_say_by_how_much", "test_the_time_on_a_chip_is_a_figure",
    "test_the_gate_against_an_earlier_run", "test_levels_are_configurations",
    "test_figures_are_those_of_resources", "test_the_launch_that_goes_wrong_first",
    "test_judged_at_the_lowest_level_that_was_chosen", "test_the_verdict_in_a_file",
    "test_a_right_program", "test_rounding_alone", "test_the_page_and_the_findings_of_ci",
    "test_libraries_of_another_environment", "test_the_interpreter_from_outside",
    "test_reduce::test_levels_that_disagree", "test_faults_planted_in_an_attention_kernel_in_python",
    "test_an_invented_release_differs_as_its_row_says",
    "test_an_invented_release_can_be_fetched_and_compiled_with",
    "test_texts_of_an_invented_release_are_read_and_written",
    "test_an_invented_distribution_differs_as_its_row_says",
    "test_an_invented_distribution_can_be_fetched_and_compiled_with",
    "test_texts_of_an_invented_distribution_have_its_ops",
    "test_a_wrong_ldmatrix_offset_is_pinned_to_what_it_loads",
    "test_every_kind_of_value_does_as_with_triton", "test_a_case_is_bisected_and_compared",
    "test_a_kernel_of_torch_compile", "test_a_bisection_has_the_schema_of_its_classes",
    "test_the_ledger_is_that_of_the_command", "test_findings_of_the_other_verbs",
    "test_other_inputs_are_said_before_other_outputs",
    "test_a_comparison_with_an_earlier_run_that_failed",
    "test_a_stored_crash_without_its_reproducer_is_seen_again",
    "test_an_autotuned_kernel_takes_its_first_configuration",
    "test_a_program_that_goes_on_after_a_failure_is_judged",
    "test_warps_and_stages_of_a_launch_without_an_autotuner", "test_answers_to_tasks_of_other_benchmarks",
    "test_what_an_answer_does_in_later_calls", "test_a_task_that_is_too_large_is_scaled",
    "test_a_captured_case_is_reduced", "test_another_python_that_imports_us_first",
    "test_a_layout_is_drawn", "test_torch_compile_is_not_in_the_way_of_uninit",
    "test_the_page_and_bad_usage", "test_passes_time::test_parts_add_up_to_no_more_than_the_whole",
    "test_ledger::test_command_line", "test_all_kernels_and_launches_of_a_program", "test_two_kernels",
    "test_action::test_pytest", "test_how_often_an_answer_is_called_is_drawn",
    "test_a_killed_judge_leaves_nothing", "test_results_that_are_kept_in_another_form",
    "test_statuses_and_what_stands_in_the_way", "test_a_manifest_goes_on_where_it_was",
    "test_no_process_of_an_answer_stays", "test_bisection_kernels::test_bisect_in_python",
    "test_oracles_that_are_programs", "test_a_terminal_says_what_is_loaded_and_completes",
    "test_a_dump_is_split_as_a_trace", "test_the_page_of_a_crash_is_short_and_its_reproducer_fails_again",
    "test_the_page_of_a_crash_that_no_cell_is_without", "test_compare::test_a_trap_is_a_result",
    "test_a_cell_that_does_not_compile_fails_the_run",
    "test_bits::test_a_case_and_a_program_without_launches",
    "test_bits::test_the_program_goes_on_as_if_nobody_had_looked",
    "test_a_line_and_its_instructions_show_a_contraction", "test_bits::test_a_kernel_with_arguments",
    "test_the_first_rows_of_batches_of_other_sizes", "test_a_static_class_has_one_number_and_one_class",
    "test_where_targets_of_amd_part", "test_reduce::test_a_compiler_that_fails",
    "test_reduce::test_a_resource", "test_bisection_slower", "test_no_change_does_it",
    "test_passes::test_the_verbs", "test_ci_files::test_bisect",
    "test_machine_code_is_captured_and_judged", "test_a_file_is_debugged_and_reduced_as_its_text",
    "test_the_launch_that_stops_is_debugged", "test_a_race_between_streams_is_found",
    "test_a_pass_that_one_target_runs_is_its_alone", "test_a_launch_is_timed_too",
    "test_a_program_with_dumps", "test_values_of_machine_code_stand_on_its_lines",
    "test_a_gluon_kernel_with_a_layout_among_its_constexprs", "test_room_allowed",
    "test_sums_are_live_through_a_loop", "test_ledger::test_none", "test_isas_built",
    "test_products_on_tensor_memory_are_refused", "test_counters_are_those_of_ncu_on_an_h200",
    "test_spills_that_are_executed", "test_what_an_address_does_not_reach",
    "test_nothing_else_says_which_releases_there_are",
    "test_pytest_plugin::test_a_finding_fails_its_test",
    "test_prove_buffers::test_a_ring_that_counts_its_turns",
    "test_prove_buffers::test_tasks_wait_for_each_other",
    "test_no_launch_that_the_program_cannot_make_refutes", "test_prove_ci::test_it_needs_z3",
    "test_what_is_not_followed_of_tasks_is_unknown", "test_a_divisor_that_is_a_stride_of_another_tensor",
    "test_somebody_says_the_shape_of_a_tensor_that_is_alike", "test_shapes::test_a_clock_that_is_another",
    "test_warnings_of_numpy_stay_inside", "test_fmad::test_environment", "test_what_autotuning_chose",
    "test_a_batch_of_one", "test_an_answer_stays_within_its_bounds",
    "test_a_message_cannot_move_the_cursor", "test_what_is_no_answer_is_told_with_its_line",
    "test_planted_faults_have_their_line_and_advice", "test_other_forms_of_tasks",
    "test_what_a_module_keeps_for_the_next_call", "test_a_coarser_rounding_than_the_references_is_noted",
]  # fmt: skip

# Matrices of levels, targets, layouts, types, kernels or verbs, whose members cost much together: each N-th
# of "file::test" runs with every change. The others are marked `matrices`, with a turn of their own.
MATRICES = {
    "test_translate::test_the_installed_compiler_takes_it": 5,
    "test_broken_programs::test_a_broken_program_is_reported": 3,
    "test_broken_programs::test_nothing_is_said_of_a_program_that_is_right": 5,
    "test_gluon_language::test_conversions": 5, "test_gluon_language::test_shared_layouts": 5,
    "test_gluon_language::test_reductions": 5, "test_gluon_hopper::test_operands_of_wgmma": 5,
    "test_gluon_blackwell::test_through_tensor_memory": 5, "test_gluon_im2col::test_a_convolution": 5,
    "test_gluon_blackwell_clusters::test_a_product_of_several_blocks": 3,
    "test_gluon_copies::test_a_block_at_the_edge": 5, "test_gluon_examples::test_an_example": 4,
    "test_tlx::test_the_artifacts_are_clean_under_the_checks": 5, "test_amdgcn::test_products": 7,
    "test_amdgcn::test_rows": 7, "test_amdgcn::test_sorted_bytes_and_divided_long_integers": 5,
    "test_hsaco::test_kernels_run_from_their_bytes": 5,
    "test_bits::test_classes_and_causes_that_are_known": 4,
    "test_machine_code::test_what_is_reported_of_ptx_is_reported_of_its_machine_code": 4,
    "test_pointer_objects::test_nothing_outside_is_touched": 5,
    "test_pointer_objects::test_any_fields_of_a_tensor": 5,
    "test_resources::test_binaries_say_what_ptxas_said": 5, "test_dump_examples::test_by_stores": 5,
    "test_dump_examples::test_statements_at_other_levels": 4,
    "test_dump_registers::test_a_value_of_ttgir": 3,
    "test_dump_register_stores::test_every_opcode_has_the_observers_records": 5,
    "test_dump_register_stores::test_ptxas_takes_it": 5,
    "test_dump_combine::test_looking_changes_nothing": 7, "test_dump_insert::test_accumulators": 3,
    "test_right_programs::test_a_right_program_is_not_called_wrong": 4,
    "test_changes::test_the_line_of_each_kind": 4,
    "test_verify_right::test_statements_that_stand_in_one_line": 2,
    "test_out_of_bounds::test_a_far_address_may_come_of_an_overflow": 4,
    "test_reduce::test_faults_planted_in_an_attention_kernel": 4,
    "test_compiler_failures::test_a_compiler_that_fails_is_a_line_and_no_verdict": 4,
    "test_compiler_failures::test_run_says_what_the_compiler_died_of": 4,
    "test_sessions::test_session": 3, "test_shown_errors::test_another_triton": 3,
    "test_bisection_inputs::test_what_the_tensor_cores_round_is_no_fault_of_a_pass": 3,
    "test_bad_usage::test_a_file_that_raises": 5,
    "test_bad_usage::test_a_file_that_asks_for_its_device": 3,
    "test_printed_commands::test_a_command_of_a_message": 4,
    "test_printed_commands::test_the_note_of_a_program_and_of_a_case": 3,
    "test_progress::test_a_program_that_triton_is_at_work_for": 2,
    "test_counts::test_counts_of_a_case_are_those_worked_out": 4,
    "test_pretend_details::test_another_python_runs_as_the_program_does": 4,
    "test_examples::test_example": 3,
    "test_cuda_program::test_a_long_launch_says_what_it_is_at_and_ends_at_ctrl_c": 3,
    "test_cuda_program::test_a_case_has_the_variables_as_the_launch_found_them": 3,
    "test_cuda_program::test_a_launch_that_is_refused_says_why": 3,
    "test_prove_planted::test_a_right_kernel_is_proved": 3,
    "test_prove_planted::test_another_right_kernel_is_proved": 3,
    "test_prove_planted::test_a_wrong_kernel_is_refuted_or_unknown": 3,
    "test_prove_planted::test_another_wrong_kernel_is_refuted_or_unknown": 3,
    "test_prove_assumed::test_tensors_of_one_shape_are_not_parted_to_refute": 3,
    "test_prove_odd::test_no_answer_is_wrong": 3, "test_prove_assumed::test_what_follows": 4,
    "test_prove_buffers::test_a_pipeline_is_right_and_its_waits_are_needed": 5,
    "test_prove_assumed::test_a_size_that_is_equal_in_the_launch": 3,
    "test_prove_assumed::test_equal_by_way_of_another_tensor": 2,
    "test_prove_assumed::test_a_right_program_is_not_refuted": 4,
    "test_prove_advice::test_what_is_proposed_proves_it": 3,
    "test_grammars::test_every_word_of_the_corpus_has_a_scope": 3,
    "test_grammars::test_no_line_takes_long": 3,
    "test_replay::test_chips_that_were_never_measured_say_so": 3,
    "test_contents::test_a_comparison_by_parts_is_that_of_whole_arrays": 2,
    "test_compare::test_bad_usage": 3, "test_bisection::test_how_a_program_ends": 3,
    "test_compare_failures::test_a_compiler_that_fails_in_one_configuration": 2,
    "test_costs::test_bank_conflicts_that_bind": 2,
    "test_configs::test_each_configuration_of_an_autotuner_has_its_state": 4,
    "test_machine_code::test_nothing_is_said_of_steps": 4, "test_exec_ptx::test_failures": 3,
    "test_printed_commands::test_the_note_on_how_to_look_at_a_fault": 4,
    "test_verify::test_each_fault_is_found_by_its_check": 3, "test_copies::test_right_kernels": 3,
    "test_pretend_cuda::test_tensors_that_a_function_mode_sees": 2, "test_dump_examples::test_example": 4,
    "test_passes::test_the_traced_compilation_is_the_plain_one": 2,
    "test_passes::test_the_output_of_a_pass_replaced": 2, "test_passes::test_without_a_pass": 2,
    "test_passes::test_fingerprints_tell_the_same": 2,
    "test_lockstep_loaded::test_levels_from_the_entry_on": 3,
    "test_compiler_failures::test_every_verb_that_runs_a_program_says_what_the_compiler_died_of": 3,
    "test_gluon_hopper::test_shapes_of_wgmma": 5,
    "test_cuda_constants::test_kernels_see_what_the_program_writes": 3,
    "test_shapes_of_strangers::test_ctrl_c_ends_it_at_once": 4,
    "test_prove_numbers::test_a_right_kernel_is_not_refuted": 3,
    "test_prove_numbers::test_a_wrong_one_is": 3,
    "test_prove_numbers::test_what_an_autotuner_makes_of_sizes_is_assumed": 2,
    "test_dap_sessions::test_session": 5, "test_graphs::test_graphs": 5,
    "test_outputs_refused::test_refused_before_the_work": 4, "test_bad_usage::test_what_no_verb_takes": 4,
    "test_device_fake::test_every_level_reaches_the_driver": 5, "test_mistakes::test_mistakes": 4,
    "test_json_output::test_one_document_on_stdout": 4,
    "test_pipelines::test_a_loop_gives_what_torch_gives": 5,
    "test_sass_paths::test_paths_run_as_on_a_gpu": 4, "test_simt_levels::test_examples": 5,
    "test_simt_levels::test_the_same_bits": 5, "test_sass_exit::test_all_leave_the_same_after_an_exit": 5,
    "test_foreign::test_as_cpp_does": 3, "test_foreign::test_as_python_does": 3,
    "test_hardware_numerics::test_nans": 3, "test_hardware_numerics::test_matmul": 3,
    "test_sass_matrices::test_matmul": 3, "test_sass_matrices::test_attention": 3,
    "test_amdgcn::test_what_prints_asks_for_another_level": 5,
    "test_amdgcn::test_bytes_of_floats_are_saturated": 5,
    "test_amdgcn::test_sums_that_stay_within_their_type": 5,
    "test_amdgcn::test_atomics_scans_bytes_doubles_and_calls": 5, "test_passes::test_bad_plans": 3,
    "test_passes::test_a_launch_under_a_plan": 2, "test_passes::test_until_a_pass_and_on_from_there": 2,
    "test_gluon_blackwell::test_a_product": 5, "test_shown_errors::test_a_message_and_no_traceback": 4,
}  # fmt: skip


def pytest_collection_modifyitems(items):
    members = collections.Counter()
    for item in items:
        key = f"{item.path.stem}::{item.originalname}"
        names = {item.path.stem, item.originalname, item.name, key}
        if names & set(SHARE):
            item.add_marker("share")
        elif names & set(PROGRAMS):
            item.add_marker("programs")
        elif names & set(MACHINE):
            item.add_marker("machine")
        elif names & set(VERBS):
            item.add_marker("verbs")
        elif key in MATRICES and is_by_default(item):
            if members[key] % MATRICES[key]:
                item.add_marker("matrices")
            members[key] += 1
    place = {f"test_{name}": at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


def is_by_default(item) -> bool:
    """Whether no mark keeps it from the part that every change runs."""
    return not any(item.get_closest_marker(name) for name in ("long", *run_all.MARKS))


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
