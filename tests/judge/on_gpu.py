"""Runs the thirty programs of programs.py on a GPU under compute-sanitizer, and on the same machine under
this tool's checks where the package is there, and writes FILE, which head_to_head.py takes with `--gpu FILE`:

    python tests/judge/on_gpu.py FILE [--jobs N] [--seconds S]

memcheck, racecheck and initcheck run on every program with torch's caching allocator off: with it all
tensors lie in one allocation, and no access beyond a tensor is beyond its memory. A program is found faulty
where one of the three reports an error of it, or where its own comparison fails, also without a tool. Rows
are written after each program, so that what ran is kept where the time ends."""

import argparse
import concurrent.futures
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import programs

TOOLS = {"memcheck": [], "racecheck": ["--racecheck-report", "all"], "initcheck": []}
_REPORT = re.compile(
    r"^========= +(?!ERROR SUMMARY|COMPUTE-SANITIZER|RACECHECK SUMMARY)(\S.*)$", re.MULTILINE
)
_SUMMARY = re.compile(r"(?:ERROR SUMMARY: (\d+) error)|(?:RACECHECK SUMMARY: (\d+) hazard)")
_FAULTY = 77  # the status with which compute-sanitizer ends where it reports something


def sanitizer() -> str | None:
    """Returns where compute-sanitizer is."""
    named = [shutil.which("compute-sanitizer"), *glob.glob("/usr/local/cuda*/bin/compute-sanitizer")]
    named += glob.glob("/usr/local/cuda*/compute-sanitizer/compute-sanitizer")
    named += glob.glob("/opt/nvidia/**/compute-sanitizer", recursive=True)
    return next((path for path in named if path and os.access(path, os.X_OK) and os.path.isfile(path)), None)


def ran(words: list, path: pathlib.Path, more: dict, limit: float) -> tuple[int | None, float, float, str]:
    """(status, None beyond the limit; CPU seconds; seconds; what it printed)."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as said:
        environment = {**os.environ, **more}
        child = subprocess.Popen([*words, str(path)], stdout=said, stderr=said, env=environment)
        timer = threading.Timer(limit, child.kill)
        timer.start()
        _, status, used = os.wait4(child.pid, 0)
        timer.cancel()
        child.returncode = status = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().decode(errors="replace")
    spent = time.monotonic() - began
    return None if spent >= limit else status, used.ru_utime + used.ru_stime, spent, text


def judged(kind: str, status: int | None, text: str) -> tuple[str, str]:
    """("fault", "right" or "cannot", the line that says so)."""
    text = re.sub(r"\x1b\[[\d;]*m", "", text)
    lines = text.strip().splitlines() or [f"status {status}"]
    if kind in TOOLS:
        counts = [int(one or other) for one, other in _SUMMARY.findall(text)]
        report = next(iter(_REPORT.findall(text)), "")
        if status == _FAULTY or sum(counts):
            return "fault", report
        if not counts:
            return "cannot", lines[-1]
    elif line := next((one for one in lines if "error: kernel '" in one), ""):
        return "fault", line
    if "AssertionError" in text:
        return "fault", "the program's own comparison"
    return ("right", "") if status == 0 else ("cannot", lines[-1])


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("file", type=pathlib.Path)
    options.add_argument("--jobs", type=int, default=8)
    options.add_argument("--seconds", type=float, default=200.0, help="of all")
    options.add_argument("--first", type=int, help="so many programs only")
    chosen = options.parse_args()
    until, tool, lock = time.monotonic() + chosen.seconds, sanitizer(), threading.Lock()
    result = {"sanitizer": tool or "not on this machine", "programs": {}}
    words = {"alone": [sys.executable]}
    if tool:
        version = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout.strip()
        result["version"] = version.splitlines()[-1]
        for kind, more in TOOLS.items():
            words[kind] = [tool, "--tool", kind, *more, "--error-exitcode", str(_FAULTY), sys.executable]
    own = [sys.executable, "-m", "triton_runner", "run", "--pretend-cuda", "--check", "all"]
    if not subprocess.run([*own[:3], "--version"], capture_output=True).returncode:
        words["`run --check all`"] = own
    result["about"] = _about()
    mine = {"`run --check all`": {"CUDA_VISIBLE_DEVICES": "", "TRITON_RUNNER_PROD": "1"}}

    def run(folder: pathlib.Path, kind: str, number: int) -> None:
        name, check, _ = programs.PROGRAMS[number]
        path = folder / f"program{number}.py"
        more = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "TRITON_CACHE_DIR": str(folder / f"cache{number}")}
        left = until - time.monotonic()
        if left < 5:
            return
        status, cpu, seconds, said = ran(words[kind], path, more | mine.get(kind, {}), left)
        verdict, line = ("cannot", "no time was left") if status is None else judged(kind, status, said)
        row = {"says": verdict, "line": line[:200], "cpu": round(cpu, 2), "seconds": round(seconds, 2)}
        with lock:
            result["programs"].setdefault(name, {"check": check})[kind] = row
            chosen.file.write_text(json.dumps(result, indent=1))
        tail = said.strip().splitlines()[-3:] if verdict == "cannot" else ""
        print(f"{name}: {kind}: {verdict} {line[:90]} ({cpu:.1f} s of {seconds:.1f}) {tail}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for number, (_, _, text) in enumerate(programs.PROGRAMS):
            (folder / f"program{number}.py").write_text(text)
        numbers = range(len(programs.PROGRAMS))[: chosen.first]
        # Triton compiles a program's kernel in its first run, and finds it in its cache in the others.
        for kind in words:
            with concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
                list(pool.map(lambda number, kind=kind: run(folder, kind, number), numbers))
    chosen.file.write_text(json.dumps(result, indent=1))
    return 0


def _about() -> str:
    """The GPU and what runs there."""
    text = (
        "import sys, torch, triton; print(torch.cuda.get_device_name(0), '; Python', sys.version.split()[0],"
    )
    text += "'torch', torch.__version__, 'Triton', triton.__version__)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    return done.stdout.strip() or done.stderr.strip()[-200:]


if __name__ == "__main__":
    sys.exit(main())
