"""Tells apart values of the IR that share a name. MLIR uses a name again where the first one is out of sight
(both arms of an `if`, two loops one after the other, functions): such values have a number in a dump,
"%acc@2"."""

from __future__ import annotations

import os
import re

from triton_runner._base.errors import fail


def answers_to(site, text: str) -> bool:
    """Returns whether a selector names a value by its own name: "%54"; "%5" for each result of an op, "%54"
    for each definition of a name that has several, "%54@2" and "%54@kernel.py:42" for one of those."""
    if not text.startswith("%"):
        return site.value == text
    name, _, number = site.value.partition("@")
    base, _, choice = text.partition("@")
    if base not in (name, name.partition("#")[0]):
        return False
    return stands_on(site, choice) if ":" in choice else choice in ("", number or "1")


def stands_on(site, place: str) -> bool:
    """Returns whether a value was made for a line, "kernel.py:42"."""
    place = f"{os.path.basename(place)}:"
    return any(place in f"{at}:" for at in (site.stack, site.location))


def check_single(text: str, sites: list) -> None:
    """Refuses a name of the IR that is to mean one value where several definitions have it."""
    definitions = {re.sub(r"#\d+", "", site.value): site for site in reversed(sites)}
    if not text.startswith("%") or len(definitions) < 2:
        return
    matches = []
    for name, site in reversed(definitions.items()):
        line = f" of {os.path.basename(site.file)}:{site.line}" if site.file else ""
        matches.append(f"'{name}' is {site.op}{line}")
    raise fail(f"{text} names {len(matches)} values, in regions that do not see each other", *matches)
