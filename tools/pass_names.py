"""Writes passes_names.py of the package: what MLIR calls the passes that Triton's backends add.

    python tools/pass_names.py [VERSION ...]

In the environment of each release (tools/releases.py), every add_* function of the bindings adds its pass
to a pass manager, which runs it on a module of empty functions with MLIR_ENABLE_DUMP=1; the header that
MLIR prints names it. Each in a forked child, as some abort on it (after the header).
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "python" / "triton_runner" / "_kernel" / "compiling" / "passes_names.py"
# "Name (argument) (...)" to 3.7, "Name: argument{options} (...)" since.
HEADER = re.compile(r"IR Dump Before ([^\s:]+):? \(?([\w.-]+)")
# Passes of functions print nothing where there is none.
MODULE = "module { tt.func @f() { tt.return }  llvm.func @g() { llvm.return } }"
SAMPLES = {"int": 80, "str": "cuda:80", "bool": False}


def functions(module, path):
    """(path, function) of every add_* below a module."""
    for name in sorted(vars(module)):
        value = getattr(module, name)
        if isinstance(value, type(os)):
            yield from functions(value, f"{path}.{name}")
        elif name.startswith("add_"):
            yield f"{path}.{name}", value


def header(function):
    """The name and the argument of the pass that a function adds."""
    import recorder
    from triton._C.libtriton import amd, ir, nvidia

    read, write = os.pipe()
    if os.fork() == 0:
        os.dup2(write, 2)
        signal.alarm(3)  # ends it, also inside of the compiler
        context = ir.context()
        ir.load_dialects(context)
        nvidia.load_dialects(context)
        amd.load_dialects(context)
        module = recorder.parse(MODULE, context)
        manager = ir.pass_manager(context)
        manager.enable_debug()
        arguments = []
        for kind in re.findall(r"arg\d+: ([\w.]+)", function.__doc__.splitlines()[0])[1:]:
            cluster = "ClusterInfo" in kind
            arguments.append(nvidia.ClusterInfo() if cluster else SAMPLES.get(kind.split(".")[-1], 80))
        try:
            function(manager, *arguments)
            manager.run(module, *(["names"] if "arg1" in manager.run.__doc__ else []))
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, errors="replace") as pipe:
        found = HEADER.search(pipe.read())
    os.wait()
    return list(found.groups()) if found else None


def child():
    """Inside of a release: {function: [name, argument]} as JSON."""
    from triton._C.libtriton import amd, nvidia, passes

    sys.path.insert(0, str(TABLE.parents[2] / "_worker"))
    every = [*functions(passes, "passes"), *functions(nvidia.passes, "nvidia.passes")]
    every += functions(amd.passes, "amd.passes")
    print(json.dumps({path: header(function) for path, function in every}))


def main(versions):
    import releases

    names, missing = {}, {}
    for version in versions:
        env = {**os.environ, "MLIR_ENABLE_DUMP": "1"}
        command = [releases.ensure(version), __file__, "--child"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=env, check=True)
        for path, found in json.loads(done.stdout).items():
            if found is None:
                missing.setdefault(path, []).append(version)
            else:
                names.setdefault(path, {}).setdefault(tuple(found), []).append(version)
    for path, kinds in names.items():
        if len(kinds) > 1:
            print(path, kinds)
    print("missing", {p: v for p, v in missing.items() if p not in names})
    modules: dict = {}
    for path in sorted(names):
        module, _, function = path.rpartition(".")
        name, argument = list(names[path])[-1]
        modules.setdefault(module, []).append(f"    {function} {name} {argument}")
    table = "".join("\n".join([module, *rows, ""]) for module, rows in modules.items())
    before, _, rest = TABLE.read_text().partition('_TABLE = """\n')
    TABLE.write_text(before + '_TABLE = """\n' + table + '"""' + rest.partition('"""')[2])


if __name__ == "__main__":
    if "--child" in sys.argv:
        child()
    else:
        import releases

        main(sys.argv[1:] or releases.NEWEST)
