"""Compiles what an example launches with the Triton of this interpreter, for a GPU that need not be there.

    python tools/compile_example.py KERNEL TARGET FOLDER LEVEL[,LEVEL...] [absolute]
        as in: matmul cuda:90 out ttir,ttgir

`examples/kernels/KERNEL.py` runs as it does in an example, but each launch is compiled ahead of time,
specialised for its arguments as Triton's JIT would, and written to FOLDER as <kernel>.<level>, with Triton's
<kernel>.json. One process compiles for one target: foreign targets can abort Triton, and the code of 3.2 and
3.3 depends on what the process compiled before. Locations name the file relative to the repository, so run it
there; with "absolute", Triton's own files keep their paths. Needs Triton and NumPy only.
"""

import importlib
import os
import shutil
import sys
import tempfile
import types
from pathlib import Path

import triton
import triton.language
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction

RELEASE = tuple(int(part) for part in triton.__version__.split("+")[0].split(".")[:2])
DTYPES = {"float16": "fp16", "float32": "fp32", "float64": "fp64", "int32": "i32", "int64": "i64"}


def kind(value):
    """Triton's name for the type of an argument."""
    if hasattr(value, "tma_desc_cpu_ptr"):
        return "nvTmaDesc"
    if hasattr(value, "block_shape"):
        return f"tensordesc<{DTYPES[str(value.base.dtype)]}{list(value.block_shape)}>"
    if hasattr(value, "data_ptr"):
        return "*" + DTYPES[str(value.dtype)]
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        return "i32" if -(2**31) <= value < 2**31 else "i64"
    return "fp32"


def divisible(value):
    if hasattr(value, "block_shape") or isinstance(value, float):
        return False
    return (value.data_ptr() if hasattr(value, "data_ptr") else value) % 16 == 0


def bound(function, args, options):
    """The arguments of a launch by name; those given by name leave `options`."""
    arguments = dict(zip(function.arg_names, args, strict=False))
    arguments.update((name, options.pop(name)) for name in function.arg_names if name in options)
    return arguments


def described(function, arguments):
    """(types, constants, attributes) of a launch, as triton_runner.compile takes them."""
    constexprs = {p.name for p in function.params if p.is_constexpr}
    runtime = {name: value for name, value in arguments.items() if name not in constexprs}
    ones = {name for name, value in runtime.items() if type(value) is int and value == 1}
    # One that is 1 is a constant: its type counts in the releases whose signatures keep it.
    types = {name: kind(value) + (":1" if name in ones else "") for name, value in runtime.items()}
    aligned = [name for name, value in runtime.items() if name not in ones and divisible(value)]
    constants = {name: arguments[name] for name in constexprs}
    return types, constants, {name: [["tt.divisibility", 16]] for name in aligned}


def source(function, arguments):
    """The ASTSource of a launch, in this release's form."""
    constexprs = {p.name for p in function.params if p.is_constexpr}
    ones = [n for n, value in arguments.items() if n not in constexprs and type(value) is int and value == 1]
    constants = {name: value for name, value in arguments.items() if name in constexprs or name in ones}
    runtime = {name: kind(value) for name, value in arguments.items() if name not in constexprs}
    index = {name: i for i, name in enumerate(function.arg_names)}
    aligned = [index[name] for name in runtime if name not in ones and divisible(arguments[name])]
    if RELEASE >= (3, 3):
        signature = {name: "constexpr" if name in constants else runtime[name] for name in function.arg_names}
        return ASTSource(function, signature, constants, {(i,): [["tt.divisibility", 16]] for i in aligned})
    from triton.backends import compiler as backend_side
    from triton.compiler import compiler as front_side

    equal = [index[name] for name in ones]
    if RELEASE >= (3, 2):
        attrs = backend_side.AttrsDescriptor.from_dict(
            {
                "arg_properties": {"tt.divisibility": aligned, "tt.equal_to": equal},
                "cls": "AttrsDescriptor",
            }
        )
    else:
        attrs = front_side.AttrsDescriptor(divisible_by_16=tuple(aligned), equal_to_1=tuple(equal))
    return ASTSource(function, runtime, constants, attrs)


def use_relative_names(packages):
    """Names the files of Triton's own library functions relative to `packages`, in every location."""
    for module in [module for name, module in sys.modules.items() if name.startswith("triton.language")]:
        for function in [value for value in vars(module).values() if isinstance(value, JITFunction)]:
            code = function.fn.__code__
            name = code.co_filename.replace(packages, "")
            function.fn.__code__ = code.replace(co_filename=name)
            function.file_name = name  # where 3.8 and 3.9 look


def gpu_target(target):
    backend, arch = target.split(":")
    return GPUTarget(backend, int(arch) if arch.isdigit() else arch, 64 if arch.startswith("gfx9") else 32)


def run_example(kernel, compile_launch):
    """Runs an example whose launches call compile_launch(function, *args, grid=, **options)."""
    sys.modules["torch"] = None  # tensors are NumPy's, whatever is installed
    sys.path.insert(0, "examples")
    from kernels import harness

    JITFunction.run = compile_launch
    # The module is compiled under its relative name: that is the name that Triton puts into locations.
    path = f"examples/kernels/{kernel}.py"
    module = types.ModuleType(kernel)
    exec(compile(Path(path).read_text(), path, "exec"), module.__dict__)
    module.run(harness.Device())


def main(kernel, target, folder, levels, names="relative"):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    stand_in = sys.modules["triton_runner"] = types.ModuleType("triton_runner")
    stand_in.jit = triton.jit
    stand_in.register_memory = lambda *_: None
    if kernel.startswith("tlx_"):
        stand_in.tlx = importlib.import_module("utlx_plugin")

    def compile_launch(function, *args, grid, warmup=False, **options):
        arguments = bound(function, args, options)
        with tempfile.TemporaryDirectory() as cache:
            os.environ["TRITON_CACHE_DIR"] = cache
            triton.compile(source(function, arguments), target=gpu_target(target), options=options)
            for level in [*levels, "json"]:
                [made] = Path(cache).glob(f"*/{function.__name__}.{level}")
                shutil.copy(made, folder / made.name)
            # The only path left: where the library of device functions lies on this machine.
            json_file = folder / f"{function.__name__}.json"
            json_file.write_text(json_file.read_text().replace(packages, ""))

    packages = str(Path(triton.__file__).parents[1]) + "/"
    if names == "relative":
        use_relative_names(packages)
    run_example(kernel, compile_launch)


if __name__ == "__main__":
    main(*sys.argv[1:4], sys.argv[4].split(","), *sys.argv[5:])
