"""Tests the debugger for editors when things go wrong: clients that send nonsense or vanish, programs that
die, Ctrl-C. Each ends with an answer or an event, with no traceback of ours, and with no process left."""

import contextlib
import json
import random
import re
import signal
import socket
import subprocess

import psutil
import pytest

pytest.importorskip("triton")
from dap_editor import COMMAND, HERE, PATIENCE, Editor, Gone, on_port
from triton_runner import DiagnosticError
from triton_runner.verbs.debug.dap import serve
from triton_runner.verbs.debug.dap.requests import REQUESTS
from triton_runner.verbs.debug.dap.transport import Decoder, Malformed, encoded

KERNEL = {
    "program": str(HERE.parents[2] / "examples" / "exec" / "add_kernel.ttir"),
    "args": ["f32[64]=iota", "f32[64]=1", "f32[64]=zeros", "i32=64"],
    "grid": "2",
    "stopOnEntry": True,
}


def family(pid: int) -> list[psutil.Process]:
    """A process and those below it."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def assert_gone(processes, seconds: float = 10) -> None:
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    assert not [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]


def program(tmp_path, text: str) -> str:
    path = tmp_path / "program.py"
    path.write_text(text)
    return str(path)


# ---- bytes


def test_messages_in_any_pieces():
    messages = [
        {"seq": i, "type": "request", "command": "x" * i, "arguments": {"ä": "☃"}} for i in range(1, 30)
    ]
    data = b"".join(map(encoded, messages))
    for size in (1, 2, 7, 100, len(data)):
        decoder = Decoder()
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        assert [m for piece in pieces for m in decoder.feed(piece)] == messages
        assert decoder.is_empty


@pytest.mark.parametrize(
    "nonsense, why",
    [
        (b"Content-Length: 5\r\n\r\nabcde", "not JSON"),
        (b"Content-Length: 2\r\n\r\n[]", "not a JSON object"),
        (b"Content-Length: 4\r\n\r\n\xff\xfe\x00\x01", "not JSON"),
        (b"Content-Lenght: 5\r\n\r\n", "no Content-Length"),
        (b"Content-Length: -5\r\n\r\n", "no Content-Length"),
        (b"Content-Length: 99999999999\r\n\r\n", "at most"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "no Content-Length"),
        (b"x" * 20000, "no header"),
        (b"Content-Length: 60000\r\n\r\n" + b"[" * 60000, "not JSON"),
        (encoded({"a": 1})[:-1] + b"?", "not JSON"),
    ],
)
def test_reading_goes_on_after_nonsense(nonsense, why):
    decoder, message = Decoder(), {"seq": 1, "type": "request", "command": "threads"}
    first, *rest = [m for data in (nonsense, encoded(message)) for m in decoder.feed(data)]
    assert isinstance(first, Malformed) and why in first.why
    assert rest[-1] == message


def test_a_length_that_is_too_long_costs_one_message():
    decoder, message = Decoder(), {"seq": 1, "type": "request", "command": "threads"}
    body = json.dumps(message).encode()
    decoder.feed(b"Content-Length: %d\r\n\r\n" % (len(body) + 10) + body)
    answers = [m for _ in range(3) for m in decoder.feed(encoded(message))]
    assert isinstance(answers[0], Malformed) and answers[-1] == message


# ---- requests


def test_each_request_in_a_wrong_state_is_refused():
    with Editor() as editor:
        for command in REQUESTS:
            if command in ("disconnect", "cancel"):
                continue
            response = editor.ask(command)
            if not response["success"]:
                assert response["message"] and "internal" not in response["message"], command
        assert "a second time" in editor.ask("initialize")["message"]
        assert "cannot be attached to" in editor.ask("attach")["message"]
        assert "did you mean 'scopes'" in editor.ask("scope")["message"]
        assert "came before 'launch'" in editor.ask("stackTrace")["message"]
        assert editor.close() == 0


def anything(random: random.Random, depth: int = 0):
    """A value of JSON."""
    kinds = [
        None, True, -1, 0, 1, 2, 10**20, 1.5, "", "acc", "0x1", "%12", "a[", "\x00", "x" * 5000, "1/0",
        "../..",
    ]  # fmt: skip
    if depth < 3 and random.random() < 0.4:
        if random.random() < 0.5:
            return [anything(random, depth + 1) for _ in range(random.randint(0, 3))]
        names = random.sample(NAMES, random.randint(0, 5))
        return {name: anything(random, depth + 1) for name in names}
    return random.choice(kinds)


NAMES = re.findall(
    r"\w+",
    """
    source path sourceReference breakpoints line condition hitCondition logMessage name filters
    threadId frameId variablesReference filter start count expression context value memoryReference
    offset instructionCount instructionOffset instructionReference dataId granularity startFrame
    levels text column format seq program level args env
    """,
)
# Those that end the session, or run on to the program's end.
ENDING = {"disconnect", "terminate", "continue", "reverseContinue", "stepOut"}


def nonsense(random: random.Random, seq: int) -> bytes:
    """A request with nonsense in it, or bytes that are none."""
    command = random.choice([name for name in REQUESTS if name not in ENDING] + ["nothing", "", "x" * 200])
    arguments = {name: anything(random) for name in random.sample(NAMES, random.randint(0, 8))}
    request = {"seq": seq, "type": "request", "command": command, "arguments": arguments}
    if random.random() < 0.15:
        request[random.choice(["seq", "type", "command", "arguments"])] = anything(random)
    data = encoded(request)
    if random.random() < 0.15:
        at = random.randrange(len(data))
        data = data[:at] + bytes(random.randrange(256) for _ in range(random.randint(0, 5))) + data[at + 1 :]
    return data


@pytest.mark.parametrize("launched", [False, True], ids=["before the launch", "at a stop"])
def test_nonsense(launched):
    with Editor() as editor:
        if launched:
            editor.body("launch", **KERNEL)
            assert editor.go("configurationDone")["event"] == "stopped"
        for seed in range(150):
            editor.write(nonsense(random.Random(seed), 100_000 + seed))
        editor.write(b"\r\n\r\n")  # the end of a header that was cut
        for _ in range(3):  # a length that was changed swallows some
            editor.write(encoded({"seq": 200_000, "type": "request", "command": "cancel"}) + b"\r\n\r\n")
        editor.wait(lambda m: m.get("request_seq") == 200_000)
        pids = family(editor.process.pid)
        assert len(pids) > 1, "the program's process is there"
        told = [m.get("message") or str(m["body"]) for m in editor.messages]
        assert not [text for text in told if "internal error" in text or "Traceback" in text]
        assert len([m for m in editor.messages if m["type"] == "response"]) > 100
        assert editor.close() == 0
        assert editor.process.stderr.read() == b""
    assert_gone(pids)


# ---- programs

ABORTING = """
import os, torch, triton, triton.language as tl
import triton.backends.nvidia.compiler as nvidia
nvidia.CUDABackend.make_ttir = staticmethod(lambda *arguments: os.abort())
@triton.jit
def kernel(out):
    tl.store(out, 1.0)
kernel[(1,)](torch.zeros(1))
"""


@pytest.mark.parametrize(
    "text, status, told",
    [
        ("import os\nprint('last words', flush=True)\nos._exit(3)", 3, "status 3"),
        ("import signal\nsignal.raise_signal(signal.SIGSEGV)", 139, "signal SIGSEGV"),
        (ABORTING, 134, "fails on kernel 'kernel' in make_ttir: it died of SIGABRT"),
        ("import sys\nprint('bye')\nsys.exit(5)", 5, "bye"),
        ("raise ValueError('of the program')", 1, "ValueError: of the program"),
        ("print(input())", 1, "EOFError"),
        ("print('ä' * 3)", 0, "äää"),
        ("for i in range(30_000): print('x' * 100)\nprint('the last line')", 0, "the last line"),
        ("import os\nos.write(1, b'\\xff\\xfe')\nos.system('echo below')", 0, "below"),
    ],
    ids=[
        "_exit",
        "signal",
        "compiler",
        "exit",
        "raises",
        "reads its input",
        "prints",
        "prints much",
        "prints bytes",
    ],
)
def test_a_program_that_ends(tmp_path, text, status, told):
    with Editor() as editor:
        assert editor.launch(program(tmp_path, text))["event"] == "terminated"
        assert [m["body"]["exitCode"] for m in editor.messages if m.get("event") == "exited"] == [status]
        assert told in "".join(m["body"]["output"] for m in editor.messages if m.get("event") == "output")
        assert "ended" in editor.ask("stackTrace")["message"]
        assert "ended" in editor.ask("evaluate", expression="1")["message"]
        assert editor.close() == 0
        assert editor.process.stderr.read() == b""


ENDLESS = (
    "import subprocess, sys\nsubprocess.Popen(['sleep', '600'])\nprint('begun', flush=True)\nwhile True: pass"
)


def begun(editor, tmp_path) -> list[psutil.Process]:
    """Starts a program that does not end; its processes."""
    editor.body("launch", program=program(tmp_path, ENDLESS))
    editor.body("configurationDone")
    editor.printed("begun")
    processes = family(editor.process.pid)
    assert len(processes) == 3
    return processes


def test_a_client_that_vanishes(tmp_path):
    with Editor() as editor:
        processes = begun(editor, tmp_path)
        editor.process.stdin.close()
        assert editor.process.wait(PATIENCE) == 1
        assert_gone(processes)


def test_the_debugger_is_killed(tmp_path):
    with Editor() as editor:
        processes = begun(editor, tmp_path)
        editor.process.kill()
        assert_gone(processes)


@pytest.mark.parametrize("command", ["disconnect", "terminate"])
def test_a_program_that_does_not_end_by_itself(tmp_path, command):
    with Editor() as editor:
        processes = begun(editor, tmp_path)
        assert editor.ask(command)["success"]
        if command == "terminate":
            assert editor.stop()["event"] == "terminated"
        assert editor.close() == 0
        assert_gone(processes)


# ---- while a program runs


LAUNCHES = """
import sys
import numpy, triton_runner
kernel = triton_runner.load(sys.argv[1])
x = numpy.ones(64, "float32")
print("begun", flush=True)
while True:
    kernel[(1,)](x, x, x, 64)
"""


def test_pause_and_breakpoints_while_it_runs(tmp_path):
    with Editor() as editor:
        editor.body("launch", program=program(tmp_path, LAUNCHES), args=[KERNEL["program"]])
        editor.body("configurationDone")
        editor.printed("")
        assert "pause it first" in editor.ask("stackTrace", threadId=1)["message"]
        assert editor.body("threads")["threads"]
        assert editor.go("pause", threadId=1)["body"]["reason"] == "pause"
        assert editor.body("stackTrace", threadId=2)["stackFrames"][0]["name"] == "add_kernel"
        editor.body("continue", threadId=2)
        added = editor.body("setFunctionBreakpoints", breakpoints=[{"name": "arith.addf"}])["breakpoints"]
        assert not added[0]["verified"]
        stopped = editor.stop()["body"]
        assert stopped["reason"] == "function breakpoint" and stopped["hitBreakpointIds"] == [added[0]["id"]]
        told = [m["body"]["breakpoint"] for m in editor.messages if m.get("event") == "breakpoint"]
        assert told == [{"id": added[0]["id"], "verified": True}]
        assert editor.ask("pause", threadId=1)["success"]  # it stands already
        editor.body("setFunctionBreakpoints", breakpoints=[])
        editor.body("continue", threadId=stopped["threadId"])
        assert editor.go("pause", threadId=1)["body"]["reason"] == "pause"
        assert editor.close() == 0


# ---- ports


@contextlib.contextmanager
def listening(*arguments):
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=HERE
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def test_a_port():
    with listening("0") as process:
        connection = on_port(process)
        with Editor(connection) as editor:
            editor.body("launch", **KERNEL)
            assert editor.go("configurationDone")["body"]["reason"] == "entry"
            with (
                pytest.raises((Gone, OSError)),
                socket.create_connection(connection.getpeername(), 5) as second,
            ):
                Editor(second)
            editor.close()
        assert process.wait(PATIENCE) == 0
        connection.close()


def test_a_port_that_is_tried_and_left():
    with listening("localhost:0") as process:
        address = on_port(process)
        name = address.getpeername()
        address.close()
        with socket.create_connection(name, 5) as connection, Editor(connection) as editor:
            assert editor.capabilities["supportsStepBack"]
            editor.close()


def test_ctrl_c(tmp_path):
    with listening("0") as process:
        connection = on_port(process)
        with Editor(connection) as editor:
            editor.body("launch", program=program(tmp_path, ENDLESS))
            editor.body("configurationDone")
            editor.printed("")
            processes = family(process.pid)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 130
            assert_gone(processes)
            assert process.stderr.read() == b"interrupted\n"
            with contextlib.suppress(Gone, OSError):
                editor.next_message()
        connection.close()


@pytest.mark.parametrize(
    "where, told",
    [("0.0.0.0:0", "on this machine only"), ("x.py", "expected a port"), ("70000", "expected a port")],
)
def test_where_it_does_not_listen(where, told):
    with pytest.raises(DiagnosticError, match=told):
        serve.main(where)


def test_a_port_that_is_taken():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(DiagnosticError, match="cannot listen"):
            serve.main(str(taken.getsockname()[1]))
