"""Golden sessions by the Debug Adapter Protocol: a file of sessions/*.dap has requests, a line each after >,
and below each the messages that answer it: responses after <, events after *. UPDATE_SESSIONS=1
writes them."""

import json
import os
import re

import pytest
import warm

pytest.importorskip("triton")
from dap_editor import COMMAND, GOING, HERE, Editor, lines_of
from triton_runner.verbs.debug.dap import console

SESSIONS = sorted((HERE / "sessions").glob("*.dap"))
UNSTABLE = ("process", "thread")  # numbers of processes


def answered(editor, line: str) -> list[str]:
    """The messages up to the response, and of requests that go on up to where they stop."""
    command, _, text = line.removeprefix("> ").partition(" ")
    arguments = json.loads(text.replace("$HERE", str(HERE)) or "{}")
    start = len(editor.messages)
    response = editor.ask(command, **arguments)
    goes_on = command in GOING
    if command == "evaluate" and arguments.get("context") == "repl":
        goes_on = console.command_of(arguments["expression"]) in console.MOVES
    if goes_on and response["success"]:
        editor.stop()
    if command == "launch" and response["success"]:
        editor.wait(lambda m: m.get("event") == "process")
    shown = [line for m in joined(editor.messages[start:]) for line in lines_of(m)]
    shown = [re.sub(r"0x[0-9a-f]{6,}", "0x...", line.replace(f"{HERE}/", "")) for line in shown]
    return [line.replace(f"{HERE.parents[2]}/", "") for line in shown]


def joined(messages: list[dict]) -> list[dict]:
    """Without what differs from run to run. A program's output comes in as many pieces as the pipe gave."""
    shown: list[dict] = []
    for m in messages:
        last = shown[-1] if shown else {}
        kinds = [(one.get("event"), one["body"].get("category")) for one in (m, last) if one.get("body")]
        if len(kinds) == 2 and kinds[0] == kinds[1] and kinds[0][0] == "output":
            body = m["body"] | {"output": last["body"]["output"] + m["body"]["output"]}
            shown[-1] = m | {"body": body}
        elif m.get("event") not in UNSTABLE:
            shown.append(m)
    return shown


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_session(path):
    expected = path.read_text()
    output: list[str] = []
    with Editor(command=[*warm.python(), *COMMAND[1:]]) as editor:
        for line in expected.splitlines():
            if line.startswith((">", "#")):
                output.append(line)
            if line.startswith(">"):
                output += answered(editor, line)
    text = "\n".join(output) + "\n"
    if os.environ.get("UPDATE_SESSIONS"):
        path.write_text(text)
    assert text == expected


def test_a_level_s_text_takes_breakpoints():
    with Editor(command=[*warm.python(), *COMMAND[1:]]) as editor:
        stopped = editor.launch("debugged.py", level="ttgir", kernel="row_sums", stopOnEntry=True)
        thread = {"threadId": stopped["body"]["threadId"]}
        frame = editor.body("stackTrace", **thread)["stackFrames"][-1]
        text = editor.body("source", **frame["source"])["content"].splitlines()
        assert frame["name"].rpartition(" ")[2] in text[frame["line"] - 1]
        line = next(number for number, row in enumerate(text, 1) if "tt.store" in row)
        editor.body("setBreakpoints", source=frame["source"], breakpoints=[{"line": line}])
        assert editor.go("continue", **thread)["body"]["reason"] == "breakpoint"
        assert editor.body("stackTrace", **thread)["stackFrames"][-1]["line"] == line
        assert editor.close() == 0
