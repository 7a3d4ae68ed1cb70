"""`triton-runner bench` says which benchmarks run, and beside whom."""

from __future__ import annotations

import contextlib
import json
import os
import sys

import click

from triton_runner._base import scratch
from triton_runner._base.paths import write_file
from triton_runner._programs.options import Output, Picture, json_option, print_json, verbs
from triton_runner._settings import devices

NAMES = ("launch_latency", "matmul", "attention")


ROUNDS = 60


def finish(sections, right: bool, as_json: bool, save: str | None, plot: str | None) -> None:
    """Writes what was asked for, and exits: 1 where a result was wrong."""
    # As above.
    from triton_runner.bench import report

    results = report.as_json(sections)
    if save:
        write_file(save, json.dumps(results, indent=1))
    if plot:
        report.plot(sections, plot)
    if as_json:
        print_json(results)
    sys.exit(0 if right else 1)


def _sizes(text: str | None) -> tuple[int, ...]:
    """The numbers of "512,1024"."""
    parts = [part.strip() for part in (text or "").split(",") if part.strip()]
    if not all(part.isdigit() and int(part) for part in parts):
        raise click.UsageError(f"--size {text}: expected numbers of at least 1, as in 512,1024")
    return tuple(map(int, parts))


@contextlib.contextmanager
def opened_peers(texts):
    """The interpreters that --peer names, closed at the end."""
    from triton_runner.bench.peers import Peer

    with contextlib.ExitStack() as stack:
        on_gpu = devices.resolved_device() != "cpu"
        yield tuple(stack.enter_context(Peer(text, on_gpu)) for text in texts)


@verbs.command("bench", group="measure", place=1)
@click.argument("benchmarks", nargs=-1, type=click.Choice([*NAMES, "all"]))
@click.option("--ab", nargs=2, metavar="A B", help="Compare two kernels (kernel.py:fn), files, or releases.")
@click.option(
    "--peer",
    "peers",
    multiple=True,
    help="Rows of another interpreter: its path, its environment's folder or name, or a Triton release.",
)
@click.option("--size", "sizes", help="Sizes of matmul and attention: 512,1024.")
@click.option(
    "--rounds", type=click.IntRange(1), default=ROUNDS, show_default=True, help="Samples of each row."
)
@click.option(
    "--launches", type=click.IntRange(1), default=200, show_default=True, help="Launches of a burst."
)
@click.option(
    "--seconds", type=click.FloatRange(0), default=60, show_default=True, help="Longest time of a section."
)
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda", "hip"]), help="What kernels run on.")
@click.option(
    "--threads", type=click.IntRange(1), default=1, show_default=True,
    help="On the CPU: threads of the engines and of torch.",
)  # fmt: skip
@click.option("--lock-sm", type=int, default=0, help="Hold the GPU's clock at this many MHz.")
@click.option("--grid", help="With --ab: programs, 4 or 4,2,1.")
@click.option(
    "--arg", "args", multiple=True, help="With --ab: an argument, once for each parameter, as for exec."
)
@click.option("--constexpr", "-c", "constexprs", multiple=True, help="With --ab: NAME=VALUE, options too.")
@click.option("--tolerance", type=float, default=1e-2, show_default=True, help="With --ab: of results.")
@click.option("--save", type=Output(), help="Write all samples to a JSON file.")
@click.option("--plot", type=Picture(), help="Draw medians and intervals into a picture.")
@json_option
def bench_command(
    benchmarks, ab, peers, sizes, rounds, launches, seconds, device, threads, lock_sm, grid, args, constexprs,
    tolerance, save, plot, as_json,
):  # fmt: skip
    """Measure launches, matmul or attention: every way to run them side by side, in one run.

    Each row is checked before it is timed, and says what it launches. Rows take turns; a verdict is faster
    or slower only where the whole interval is. Without a GPU the engines of the CPU are measured.
    """
    if device:
        os.environ["TRITON_RUNNER_DEVICE"] = device
    if not benchmarks and not ab:
        raise click.UsageError(f"which benchmark? {', '.join(NAMES)}, all, or --ab A B")
    sizes = _sizes(sizes)
    # The other verbs do without what it loads.
    from triton_runner.bench.running import environment, run

    environment(threads)
    from triton_runner.bench import clocks, suites
    from triton_runner.verbs.bench import ab as two

    chosen = NAMES if "all" in benchmarks else benchmarks
    with contextlib.ExitStack() as stack:
        if lock_sm:
            try:
                stack.enter_context(clocks.lock(lock_sm))
            except (RuntimeError, OSError) as error:
                raise click.UsageError(f"--lock-sm: {error}") from None
        folder = stack.enter_context(scratch.folder("bench"))
        if ab:
            sections_ = two.sections(ab, chosen, grid, args, constexprs, tolerance, sizes, stack, launches)
        else:
            plan = suites.Measurement(
                folder, stack.enter_context(opened_peers(peers)),
                sizes, launches,
            )  # fmt: skip
            sections_ = (section for name in chosen for section in suites.SUITES[name](plan))
        done, right = run(sections_, rounds, seconds, quiet=as_json)
    finish(done, right, as_json, save, plot)
