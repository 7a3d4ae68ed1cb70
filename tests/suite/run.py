"""Cases, each in a process of its own: a crash, a hang or an abort costs that case alone.

Limits count CPU time, as no wall clock decides a test; what waits for ever without using any is ended by the
wall clock after HANG times as long.
"""

import concurrent.futures
import dataclasses
import os
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

HANG = 10
LEAST_HANG = 1800  # seconds of wall clock


@dataclasses.dataclass
class Case:
    """A command: its name, what its environment has beside this one's (None: has not), its folder (None: a
    scratch folder), its limits: seconds of CPU, GiB of data (0: none). What it is about is its owner's."""

    name: str
    command: list[str]
    environment: dict[str, str | None] = dataclasses.field(default_factory=dict)
    folder: Path | None = None
    cpu_limit: float = 900
    memory: float = 0
    about: object = None


@dataclasses.dataclass
class Outcome:
    """How a case ended: its status (negative: the signal), what it printed, seconds of wall clock and CPU."""

    case: Case
    status: int
    output: str
    errors: str
    seconds: float
    cpu: float

    @property
    def how(self) -> str:
        """How it ended; "" where it ended well."""
        if self.status >= 0:
            return f"status {self.status}" if self.status else ""
        if -self.status == signal.SIGXCPU:
            return f"no end after {self.case.cpu_limit:g} s of CPU"
        if self.seconds >= self._wall_limit:
            return f"no end after {self._wall_limit:g} s"
        return f"ended by {signal.Signals(-self.status).name}"

    @property
    def last_line(self) -> str:
        """Of the errors, else of the output; how it ended where there is neither."""
        lines = (self.errors.strip() or self.output.strip()).splitlines()
        return lines[-1][:300] if lines else self.how

    @property
    def _wall_limit(self) -> float:
        return max(LEAST_HANG, HANG * self.case.cpu_limit)


def execute(case: Case) -> Outcome:
    environment = {**os.environ, **case.environment}
    environment = {name: value for name, value in environment.items() if value is not None}
    seconds, data = int(case.cpu_limit), int(case.memory * 2**30)

    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        if data:
            resource.setrlimit(resource.RLIMIT_DATA, (data, data))

    with (
        tempfile.TemporaryDirectory() as scratch,
        tempfile.TemporaryFile("w+", errors="replace") as output,
        tempfile.TemporaryFile("w+", errors="replace") as errors,
    ):
        started = time.monotonic()
        child = subprocess.Popen(
            case.command,
            cwd=case.folder or scratch,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            preexec_fn=limits,
            start_new_session=True,
        )
        try:
            used, status = _waited(child, started + max(LEAST_HANG, HANG * case.cpu_limit))
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        took = time.monotonic() - started
        for file in (output, errors):
            file.seek(0)
        return Outcome(case, status, output.read(), errors.read(), took, used)


def _waited(child: subprocess.Popen, until: float) -> tuple[float, int]:
    """Seconds of CPU that the process and its children used, and its status."""
    pause = 0.005
    while True:
        pid, status, used = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return used.ru_utime + used.ru_stime, child.returncode
        if time.monotonic() > until:
            os.killpg(child.pid, signal.SIGKILL)
        time.sleep(pause)
        pause = min(pause * 1.2, 0.2)


def execute_all(cases: Iterable[Case], jobs: int) -> Iterator[Outcome]:
    """In the order of the cases, `jobs` at a time."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(execute, cases)
