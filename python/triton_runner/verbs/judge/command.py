"""`triton-runner judge` judges answers to tasks."""

from __future__ import annotations

import click

from triton_runner._base.paths import check_there
from triton_runner._base.progress import telling
from triton_runner._programs.options import Output, json_option, print_json, print_result, verbs
from triton_runner.verbs.judge.results import FORMATS


@verbs.command("judge", group="find", place=9)
@click.argument("task", required=False)
@click.argument("answer", required=False)
@click.option("--format", "form", type=click.Choice(FORMATS), help="The form of TASK (default: by its text).")
@click.option(
    "--seconds", type=click.FloatRange(1), default=60.0, show_default=True,
    help="CPU time that an answer may take.",
)  # fmt: skip
@click.option(
    "--memory", type=click.IntRange(1), default=8, show_default=True, help="GiB that an answer may take."
)
@click.option(
    "--inputs", type=click.IntRange(1), default=32, show_default=True,
    help="MiB of inputs, beyond which the task's largest constants are halved.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(0), help="The seed of inputs (default: one that nobody knows).")
@click.option(
    "--sandbox", type=click.Choice(["auto", "require"]), default="auto", show_default=True,
    help="Whether an answer is judged on a machine that gives no sandbox.",
)  # fmt: skip
@click.option("--no-generated", is_flag=True, help="Leave out the second verdict, on generated inputs.")
@click.option("--chip", help="Estimate the answer's time on h200, ..., beside the reference's.")
@click.option("--manifest", help="A file with a TASK and an ANSWER a line, instead of one of each.")
@click.option("--jobs", "-j", type=click.IntRange(1), default=1, show_default=True, help="Trials at a time.")
@click.option("--dask", metavar="dask://HOST:PORT", help="Judge a manifest on a Dask cluster.")
@click.option("--out", type=Output(is_folder=True), help="The folder of a manifest's rows, counts and page.")
@json_option
def judge_command(
    task,
    answer,
    form,
    seconds,
    memory,
    inputs,
    seed,
    sandbox,
    no_generated,
    chip,
    manifest,
    jobs,
    dask,
    out,
    as_json,
):
    """Judge whether ANSWER, a file with Triton kernels, solves TASK, without a GPU and without trusting it.

    TASK is a file in the form of KernelBench, TritonBench or BackendBench, or has reference() and inputs().
    Exit status: 0 verified, 1 wrong, 3 unsafe, 4 no_kernel, 5 idle, 6 cached, 7 tampered, 8 error,
    9 too_slow, 125 not_judged; 2 bad usage. With --manifest: 0 where all trials have a row.
    """
    if manifest and (task or not out):
        raise click.UsageError("--manifest stands for TASK and ANSWER, and needs --out")
    if not manifest:
        if not task or not answer:
            raise click.UsageError(f"Missing argument '{'ANSWER' if task else 'TASK'}'")
        for option, value in (("--out", out), ("--dask", dask)):
            if value:
                raise click.UsageError(f"{option} is for --manifest")
    for path in [manifest] if manifest else [task, answer]:  # before torch is imported
        check_there(path)
    from triton_runner._kernel.cost import chips, timing

    if chip:
        chips.chip_named(chip, timing.TIMINGS)  # raises for one that is not known
    with telling() as say:
        say("importing torch")
        from triton_runner.verbs.judge import run, text
        from triton_runner.verbs.judge.trial import Options

        options = Options(seconds, memory << 30, inputs << 20, sandbox, not no_generated, seed, form, chip)
        say(manifest or answer)
        if manifest:
            rows = run.judge_all(manifest, out, jobs, options, say, dask)
        else:
            row = run.judge(task, answer, options)
    if not manifest:
        print_result(row, as_json, text.of_row)
        return row.status
    if as_json:
        print_json({"counts": run.counts(rows), "rows": rows})
    else:
        click.echo(text.of_counts(run.counts(rows), out))
    return 0
