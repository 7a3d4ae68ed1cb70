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
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

HANG = 10
LEAST_HANG = 1800  # seconds of wall clock


@dataclasses.dataclass
class Case:
    """A command: its name, what its environment has beside this one's (None: has not), its folder (None: a
    scratch folder), its limits: seconds of CPU of a process, GiB of data (0: none)."""

    name: str
    command: list[str]
    environment: dict[str, str | None] = dataclasses.field(default_factory=dict)
    folder: Path | None = None
    cpu_limit: float = 900
    memory: float = 0

    @property
    def wall_limit(self) -> float:
        return max(LEAST_HANG, HANG * self.cpu_limit)


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
        if self.seconds >= self.case.wall_limit:
            return f"no end after {self.case.wall_limit:g} s"
        return f"ended by {signal.Signals(-self.status).name}"

    @property
    def last_line(self) -> str:
        """The last line of the errors, else of the output; how it ended where there is neither."""
        lines = (self.errors.strip() or self.output.strip()).splitlines()
        return lines[-1][:300] if lines else self.how


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
            case.command, cwd=case.folder or scratch, env=environment, stdin=subprocess.DEVNULL,
            stdout=output, stderr=errors, preexec_fn=limits, start_new_session=True,
        )  # fmt: skip
        hangs = threading.Timer(case.wall_limit, os.killpg, (child.pid, signal.SIGKILL))
        hangs.daemon = True
        hangs.start()
        try:
            _, status, used = os.wait4(child.pid, 0)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        finally:
            hangs.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        took = time.monotonic() - started
        for file in (output, errors):
            file.seek(0)
        cpu = used.ru_utime + used.ru_stime
        return Outcome(case, child.returncode, output.read(), errors.read(), took, cpu)


def execute_all(cases: Iterable[Case], jobs: int) -> Iterator[Outcome]:
    """In the order of the cases, `jobs` at a time."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(execute, cases)
