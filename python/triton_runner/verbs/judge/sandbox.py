"""Confines a process, which cannot reach anything: no network, no other process, no file but those that
Python needs and a folder of its own to write to, and limits of memory, CPU time, threads, and what the folder
holds.

Namespaces (user, network, processes, mounts), Landlock and a filter of system calls are the kernel's own,
asked for through ctypes: a process gives up its rights by itself and cannot take them back. bubblewrap would
use the same namespaces and start a new Python for each answer.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import stat
import sys
import tempfile

from triton_runner._worker.child import die_by, end_with_parent
from triton_runner.verbs.judge import filtered

SCRATCH, FILES, THREADS = 512 << 20, 20_000, 512  # bytes and files of a scratch folder; threads
_FULL, _MANY_THREADS = 81, 82
# The reasons for which a guard ends its process, by the status that it ends with itself.
BEYOND = {
    _FULL: f"its scratch folder held more than {SCRATCH >> 20} MiB or {FILES:,} files",
    _MANY_THREADS: f"it had more than {THREADS} threads",
}
_EVERY = 0.2  # seconds between two looks at what the kernel does not bound
_NEWUSER, _NEWNET, _NEWIPC, _NEWPID, _NEWNS = 0x10000000, 0x40000000, 0x08000000, 0x20000000, 0x00020000
_NOSUID, _NODEV = 2, 4  # of mount
_CREATE, _ADD, _RESTRICT, _NO_NEW_PRIVILEGES = 444, 445, 446, 38
_PARENT_DEATH = 1  # of prctl
_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read a file, list a folder
_FILES = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}  # by version, then all
_NETWORK, _SCOPES = 0b11, 0b11  # TCP; abstract sockets and signals


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _Path(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32)]


def readable() -> list[str]:
    """The folders that Python, torch and Triton load from."""
    import torch
    import triton

    import triton_runner

    package = os.path.dirname(os.path.realpath(triton_runner.__file__))
    places = {sys.prefix, sys.base_prefix, "/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", package}
    places |= {os.path.dirname(os.path.realpath(one.__file__)) for one in (torch, triton)}
    places |= {"/dev/null", "/dev/urandom", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices"}
    return sorted(place for place in places if os.path.exists(place))


def _landlock(scratch: str) -> bool:
    """Allows reads below readable() and everything below scratch. False: this kernel has no Landlock."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE, None, 0, 1)
    if version < 1:
        return False
    files = _FILES.get(version, (1 << 16) - 1)
    rules = _Ruleset(files, _NETWORK if version >= 4 else 0, _SCOPES if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = libc.syscall(_CREATE, ctypes.byref(rules), size, 0)
    if ruleset < 0:
        return False
    for place in [*readable(), scratch]:
        folder = os.open(place, os.O_PATH | os.O_CLOEXEC)
        allowed = files if place == scratch else _READ if os.path.isdir(place) else _READ & ~(1 << 3)
        if place == "/dev/null":
            allowed |= 1 << 1
        rule = _Path(allowed & files, folder)
        libc.syscall(_ADD, ruleset, 1, ctypes.byref(rule), 0)
        os.close(folder)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    done = libc.syscall(_RESTRICT, ruleset, 0) == 0
    os.close(ruleset)
    return done


def _namespaces() -> bool:
    """Puts the process into a network without anything, and its children among themselves. False: this
    machine does not let it."""
    libc, user, group = ctypes.CDLL(None, use_errno=True), os.getuid(), os.getgid()
    if libc.unshare(_NEWUSER | _NEWNET | _NEWIPC | _NEWPID | _NEWNS) != 0:
        return False
    try:
        maps = ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")
        for name, text in (("setgroups", "deny"), *maps):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    except OSError:
        pass  # the names of users stay unmapped
    return True


def limits(seconds: float, memory: int) -> None:
    """CPU time and memory of this process from here on; the kernel ends it beyond them."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime + seconds) + 2
    for kind, value in (
        (resource.RLIMIT_CPU, most), (resource.RLIMIT_AS, memory + _mapped()), (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, SCRATCH), (resource.RLIMIT_NOFILE, 256),
    ):  # fmt: skip
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def _mapped() -> int:
    """The addresses that this process has by now, most of them libraries."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def enter(scratch: str, seconds: float, memory: int, is_alone: bool = False) -> bool:
    """Gives up all rights but those above. Returns whether there is a sandbox: files and network are shut,
    and the process stays the only one (is_alone: of an answer; what assembles kernels runs ptxas)."""
    os.environ.update(dict.fromkeys(("HOME", "TMPDIR", "TORCHINDUCTOR_CACHE_DIR"), scratch))
    tempfile.tempdir = scratch
    os.environ["TRITON_CACHE_DIR"] = os.path.join(scratch, "cache")
    has_namespaces = _namespaces()
    is_mounted = has_namespaces and _mounted(scratch)
    if child := os.fork():
        _guard(child, None if is_mounted else scratch)
    end_with_parent()  # with namespaces this is the first process of the new names: all others end with it
    os.chdir(scratch)
    has_landlock = _landlock(scratch)
    has_filter = filtered.alone() if is_alone else True
    limits(seconds, memory)
    return has_landlock and has_namespaces and has_filter


def _mounted(scratch: str) -> bool:
    """Puts a file system of its own over the scratch folder, which has a size. False: the machine does not
    let it."""
    libc = ctypes.CDLL(None, use_errno=True)
    size = f"size={SCRATCH},nr_inodes={FILES},mode=700".encode()
    if libc.mount(b"tmpfs", scratch.encode(), b"tmpfs", _NOSUID | _NODEV, size) != 0:
        return False
    try:
        tempfile.TemporaryFile(dir=scratch).close()
    except OSError:  # the names of users are unmapped
        libc.umount(scratch.encode())
        return False
    return True


def _guard(child: int, scratch: str | None) -> None:
    """Waits for the process, and ends as it does; ends it first where it goes beyond a bound that the kernel
    does not keep. It may have told the kernel that it does not end with this one. scratch: the folder that
    has no size of its own."""
    signals = {signal.SIGTERM, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGTERM)
    beyond = 0
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if beyond := beyond or _beyond(child, scratch):
            os.kill(child, signal.SIGKILL)
        got = signal.sigtimedwait(signals, _EVERY)
        if got is not None and got.si_signo == signal.SIGTERM:
            os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(ended[1])
    if beyond:
        os._exit(beyond)
    if code < 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
        die_by(-code)
    os._exit(1 if code in BEYOND else code & 255)


def _beyond(child: int, scratch: str | None) -> int:
    """The bound that a process has gone beyond, a status of BEYOND, or 0."""
    try:
        with open(f"/proc/{child}/status") as file:
            threads = next((int(line.split()[1]) for line in file if line.startswith("Threads:")), 0)
        if threads > THREADS:
            return _MANY_THREADS
        if scratch is not None and _is_full(child, scratch):
            return _FULL
    except (FileNotFoundError, ProcessLookupError):  # it has ended by now
        pass
    return 0


def _is_full(child: int, scratch: str) -> bool:
    """Whether the files of a folder, and those without a name that the process has open, are too many or too
    large."""
    size = count = 0
    left = [scratch]
    while left and count <= FILES and size <= SCRATCH:
        try:
            for entry in os.scandir(left.pop()):
                found = entry.stat(follow_symlinks=False)
                size, count = size + 512 * found.st_blocks, count + 1
                left += [entry.path] * entry.is_dir(follow_symlinks=False)
        except FileNotFoundError:  # it has been removed since
            continue
    try:
        for number in os.listdir(f"/proc/{child}/fd"):
            with contextlib.suppress(FileNotFoundError):
                found = os.stat(f"/proc/{child}/fd/{number}")
                size += 512 * found.st_blocks * (stat.S_ISREG(found.st_mode) and not found.st_nlink)
    except PermissionError:  # it hides them
        return True
    return count > FILES or size > SCRATCH
