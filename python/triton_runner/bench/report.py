"""Reports what was measured, for people (a table), for programs (JSON) and as a picture."""

from __future__ import annotations

import platform
import statistics

import click

import triton_runner
from triton_runner._settings import devices
from triton_runner.bench import clocks, intervals
from triton_runner.bench.rounds import Row, Section

FORMAT = 1
_UNITS = {1e-6: "us", 1e-3: "ms"}


def machine() -> dict:
    """Says what ran: device, releases."""
    about = {"triton_runner": triton_runner.__version__, "python": platform.python_version()}
    for name in ("triton", "torch"):
        try:
            about[name] = __import__(name).__version__
        except ImportError:
            about[name] = None
    device = devices.resolved_device()
    about["device"] = device
    if device != "cpu":
        from triton_runner._launch import gpu_driver  # not on a machine without a driver

        driver = gpu_driver.driver()
        about["gpu"] = driver.properties(gpu_driver.current_device())["name"]
        about["driver"] = driver.driver_version()
    else:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        about["cpu"] = names[0] if names else platform.machine()
    return about


def compared(section: Section, row: Row) -> intervals.Comparison | None:
    """The row against the section's baseline; None of the baseline itself, and where one was not timed."""
    base = section.row(section.baseline)
    if base is None or base is row or not (base.samples and row.samples):
        return None
    return intervals.compare(row.samples, base.samples)


def as_dict(section: Section) -> dict:
    rows = []
    for row in section.rows:
        fields = {"name": row.name, "launches": row.launches, "skipped": row.skipped, "wrong": row.wrong,
                "samples": row.samples}  # fmt: skip
        if row.samples:
            median, low, high = intervals.median_interval(row.samples)
            fields |= {"minimum": min(row.samples), "median": median, "interval": [low, high]}
            if section.work:
                fields["tflops"] = section.work / median * 1e-12
        if comparison := compared(section, row):
            fields["comparison"] = comparison.as_dict()
        rows.append(fields)
    return {"title": section.title, "baseline": section.baseline, "clocks": section.clocks, "rows": rows}


def as_json(sections: list[Section]) -> dict:
    """Seconds, each sample kept; a comparison's ratio is of the row's time to the baseline's."""
    return {"format": FORMAT, "machine": machine(), "sections": [as_dict(s) for s in sections]}


def _number(seconds: float, unit: float) -> str:
    value = seconds / unit
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}" if value < 100 else f"{value:.1f}"


def cells(section: Section, row: Row) -> list[str]:
    """Name, minimum, median, quotient with interval, verdict, what it launches."""
    if row.skipped:
        return [row.name, "", "", "", "not run", row.skipped]
    if row.wrong:
        return [row.name, "", "", "", "wrong", row.wrong]
    times = [_number(min(row.samples), section.unit), _number(statistics.median(row.samples), section.unit)]
    comparison = compared(section, row)
    if comparison is None:
        return [row.name, *times, "", "baseline" if row.name == section.baseline else "", row.launches]
    ratio = f"{comparison.ratio:.3f} [{comparison.low:.3f}, {comparison.high:.3f}]"
    return [row.name, *times, ratio, comparison.verdict, row.launches]


def show(section: Section) -> None:
    """A table on a terminal, columns of text in a pipe."""
    unit = _UNITS[section.unit]
    heading = ["", f"min {unit}", f"median {unit}", f"of {section.baseline}", "", "launches"]
    rows = [cells(section, row) for row in section.rows]
    rounds = max((len(row.samples) for row in section.rows), default=0)
    click.echo(f"{section.title}: {rounds} rounds, {clocks.summary(section.clocks)}")
    if click.get_text_stream("stdout").isatty():
        from rich import box
        from rich.console import Console
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD)
        for number, title in enumerate(heading):
            table.add_column(title, justify="right" if 1 <= number <= 3 else "left")
        colours = {intervals.FASTER: "green", intervals.SLOWER: "red", "wrong": "red", "not run": "dim"}
        for row in rows:
            table.add_row(*row, style=colours.get(row[4]))
        Console().print(table)
        return
    widths = [max(len(row[i]) for row in [heading, *rows]) for i in range(len(heading))]
    for row in [heading, *rows]:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    click.echo("")


def plot(sections: list[Section], path: str) -> None:
    """A picture: each row's median with its interval, a panel a section."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    heights = [1.2 + 0.32 * sum(bool(row.samples) for row in s.rows) for s in sections]
    figure, panels = pyplot.subplots(
        len(sections), 1, figsize=(9, sum(heights)), squeeze=False, layout="constrained",
        gridspec_kw={"height_ratios": heights},
    )  # fmt: skip
    for section, panel in zip(sections, panels[:, 0], strict=True):
        rows = [row for row in section.rows if row.samples]
        for place, row in enumerate(rows):
            median, low, high = (v / section.unit for v in intervals.median_interval(row.samples))
            colour = "black" if row.name == section.baseline else "tab:blue"
            panel.errorbar(
                median, place, xerr=[[median - low], [high - median]], fmt="o", color=colour, capsize=3
            )
            panel.annotate(f" {_number(median * section.unit, section.unit)}", (high, place), va="center",
                           fontsize=8, xytext=(4, 0), textcoords="offset points")  # fmt: skip
        panel.set_yticks(range(len(rows)), [row.name for row in rows])
        panel.invert_yaxis()
        widest = max((intervals.median_interval(row.samples)[2] for row in rows), default=1)
        panel.set_xlim(0, 1.12 * widest / section.unit)
        panel.grid(axis="x", alpha=0.3)
        panel.set_xlabel(f"{_UNITS[section.unit]} a launch: median, 95 % interval")
        panel.set_title(section.title, loc="left", fontsize=10)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
