"""Programs that end their process: before a launch, after one, at exit, in a child, by a signal, for
another program, by Ctrl-C. What they print is no verdict.

    $ verify FILE first
    status  125
    says  the program left this process with status 0
    says  no kernel was launched
    says  verdict: no launch
    $ verify --json FILE first
    status  125
    says  "verdict": "no launch"
    $ verify FILE exec
    status  125
    says  verdict: no launch
    $ verify FILE abort
    status  125
    says  the program was killed by SIGABRT
    says  verdict: no launch
    $ verify FILE after
    status  0
    says  the program left this process with status 0
    says  the result was compared by the program: assert at
    says  verdict: right
    $ verify FILE fails
    status  1
    says  the program left this process with status 3
    says  verdict: wrong
    $ verify FILE segfault
    status  1
    says  the program was killed by SIGSEGV
    says  verdict: wrong
    $ verify FILE killed
    status  125
    says  the program was killed by SIGKILL
    says  verdict: unknown
    $ verify FILE at_exit
    status  0
    says  verdict: right
    $ verify FILE child
    status  0
    says  verdict: right
    never  left this process
    $ verify FILE launching_child
    status  0
    says  not judged: 1 launch in processes that the program started
    says  verdict: right
    $ verify FILE thread
    status  0
    says  verdict: right
    $ verify FILE interrupted
    status  130
    says  interrupted
    never  verdict: right
    $ verify --json FILE killed
    status  125
    says  "verdict": "unknown"
    $ verify --shapes FILE:doubled first
    status  125
    says  ended this process by itself, with status 0
    says  verdict: unknown
    $ verify --shapes --json FILE:doubled first
    status  125
    says  "verdict": "unknown"
"""

import atexit
import os
import signal
import sys
import threading

import torch
import triton
import triton.language as tl

how = sys.argv[1]
print("verdict" + ": right" * (how in ("first", "exec", "abort")), flush=True)


@triton.jit
def double(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(x + at) * 2)


def doubled(x):
    out = torch.empty_like(x)
    double[(1,)](x, out, N=64)
    return out


if how == "first":
    os._exit(0)
if how == "exec":
    os.execv(sys.executable, [sys.executable, "-c", "print('verdict: right')"])
if how == "abort":
    os.abort()
assert torch.equal(doubled(torch.ones(64)), torch.full((64,), 2.0))
if how == "after":
    os._exit(0)
elif how == "fails":
    os._exit(3)
elif how == "segfault":
    os.kill(os.getpid(), signal.SIGSEGV)
elif how == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
elif how == "at_exit":
    atexit.register(os._exit, 0)
elif how in ("child", "launching_child"):
    if os.fork() == 0:
        if how == "launching_child":
            doubled(torch.ones(64))
        os._exit(7)
    os.wait()
elif how == "thread":
    thread = threading.Thread(target=sys.exit, args=(0,))
    thread.start()
    thread.join()
elif how == "interrupted":
    os.kill(os.getpid(), signal.SIGINT)
