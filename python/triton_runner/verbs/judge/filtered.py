"""A filter of system calls (seccomp) after which a process starts no other one and takes no memory that its
limit does not count. Its threads, and what they start, are under it too, and nothing takes it back."""

from __future__ import annotations

import ctypes
import errno
import os
import struct

_ARCHITECTURE, _NUMBER, _FLAGS = 4, 0, 16  # where a filter finds them; the flags are clone()'s first argument
_LOAD, _EQUAL, _AT_LEAST, _HAS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_THREAD = 0x00010000  # of clone()
_X32 = 0x40000000  # x86-64's system calls under their other numbers begin here
# By machine: the number of its architecture, seccomp(), clone(), clone3(); fork() and vfork(); memory that is
# nobody's address space: memfd_create(), memfd_secret(), shmget(), msgget().
_NUMBERS = {
    "x86_64": (0xC000003E, 317, 56, 435, (57, 58), (319, 447, 29, 68)),
    "aarch64": (0xC00000B7, 277, 220, 435, (), (279, 447, 194, 186)),
}


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_char_p)]


def alone() -> bool:
    """Lets this process start threads and no other process. False: this kernel has no such filters."""
    if os.uname().machine not in _NUMBERS:
        return False
    architecture, seccomp, clone, clone3, forks, memory = _NUMBERS[os.uname().machine]
    refused = _ERROR | errno.EPERM
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, refused),
        # Its flags lie in memory, which a filter does not see; without it the C library takes clone().
        (_EQUAL, 0, 1, clone3), (_RETURN, 0, 0, _ERROR | errno.ENOSYS),
    ]  # fmt: skip
    for number in (*forks, *memory):
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, refused)]
    steps += [
        (_EQUAL, 1, 0, clone), (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _FLAGS), (_HAS, 0, 1, _THREAD), (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, refused),
    ]  # fmt: skip
    program = _Program(len(steps), b"".join(struct.pack("<HBBI", *step) for step in steps))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)  # no new privileges
    in_all_threads, as_fast = 1, 4
    return libc.syscall(seccomp, 1, in_all_threads | as_fast, ctypes.byref(program)) == 0
