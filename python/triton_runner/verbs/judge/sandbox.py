"""Confines a process, which cannot reach anything: no network, no other process, no file but those that
Python needs and a folder of its own to write to, and limits of memory and CPU time.

Namespaces (user, network, processes) and Landlock are the kernel's own, asked for through ctypes: a process
gives up its rights by itself and cannot take them back. bubblewrap would use the same ones and start a new
Python for each answer.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import tempfile

from triton_runner._worker.child import die_by, end_with_parent

_NEWUSER, _NEWNET, _NEWIPC, _NEWPID = 0x10000000, 0x40000000, 0x08000000, 0x20000000
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
    libc, user = ctypes.CDLL(None, use_errno=True), os.getuid()
    if libc.unshare(_NEWUSER | _NEWNET | _NEWIPC | _NEWPID) != 0:
        return False
    try:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1")):
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
        (resource.RLIMIT_FSIZE, 1 << 30), (resource.RLIMIT_NOFILE, 256),
    ):  # fmt: skip
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def _mapped() -> int:
    """The addresses that this process has by now, most of them libraries."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def enter(scratch: str, seconds: float, memory: int) -> bool:
    """Gives up all rights but those above. Returns whether there is a sandbox: files and network are shut."""
    os.chdir(scratch)
    os.environ.update(dict.fromkeys(("HOME", "TMPDIR", "TORCHINDUCTOR_CACHE_DIR"), scratch))
    tempfile.tempdir = scratch
    os.environ["TRITON_CACHE_DIR"] = os.path.join(scratch, "cache")
    has_namespaces = _namespaces()
    if has_namespaces:
        if child := os.fork():
            # The first process of the new names takes all others with it, and may have told the kernel that
            # it does not end with this one.
            signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
            ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGTERM)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if code < 0:
                die_by(-code)
            os._exit(code & 255)
        end_with_parent()  # this is the first process of the new names
    has_landlock = _landlock(scratch)
    limits(seconds, memory)
    return has_landlock and has_namespaces
