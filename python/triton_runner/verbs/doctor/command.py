"""`triton-runner doctor` checks this machine, and `triton-runner env` prints what an issue has to say of
it."""

from __future__ import annotations

import click

from triton_runner._programs.options import json_option, print_json, print_result, verbs


@verbs.command("doctor", group="set up", place=1)
@click.option("--no-selftest", is_flag=True, help="Compile and run nothing.")
@json_option
def doctor_command(no_selftest, as_json):
    """Say what this machine and environment offer: releases, devices, settings, the variables in force and
    what they do; and compile and run a kernel at each level.

    Exit status 1 if there is a problem.
    """
    from triton_runner.verbs.doctor import run as doctor

    report = doctor.facts()
    report["selftest"] = {} if no_selftest or not report["settings"] else doctor.selftest()
    wrong = {level: why for level, why in report["selftest"].items() if not why.startswith("ok")}
    report["problems"] |= {f"self-test at {level}": why for level, why in wrong.items()}
    if as_json:
        print_json(report)
    else:
        for name, value in report.items():
            lines = [_line(k, v) for k, v in value.items()] if isinstance(value, dict) else [str(value)]
            click.echo(f"{name:<13} {lines[0] if lines else '-'}")
            for line in lines[1:]:
                click.echo(f"{'':<13} {line}")
    return bool(report["problems"])


def _line(name: str, value) -> str:
    if isinstance(value, dict):  # a variable
        return f"{name}={value['value']}  ({value['meaning']})"
    return f"{name}={value}"


@verbs.command("env", group="set up", place=2)
@json_option
def env_command(as_json):
    """Print versions, device and variables of this machine in short lines, to paste into an issue."""
    from triton_runner.verbs.doctor import run as doctor

    fingerprint = doctor.fingerprint()
    lines = [f"{name}: {value}" for name, value in fingerprint.items()]
    print_result(fingerprint, as_json, lambda _: "\n".join(lines))
