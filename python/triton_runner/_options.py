"""What verbs of the command line share: --json, and options of the form NAME=VALUE."""

from __future__ import annotations

import json

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def print_json(value) -> None:
    click.echo(json.dumps(value, indent=2, default=str))


def pairs(texts, option: str, form: str = "NAME=VALUE") -> dict[str, str]:
    """{name: text behind the first "="} of an option that may be repeated. Raises UsageError."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(f"{option} {text}: expected {form}")
        found[name] = value
    return found
