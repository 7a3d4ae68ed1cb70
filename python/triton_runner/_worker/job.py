"""Does one compilation by the Triton that this interpreter imports: any known release, from any level to any
other.

The installed release runs it in process, every other one in a worker, so that there is one way through the
stages. A request is a dict:

    kernel      a JIT function, or {"file", "name"}, or what portable.py made of one; of a text None
    signature, constexprs, attrs    see signature_of()
    text, level, filename           of a text: the IR, its level, what messages call it
    metadata    of a text: what is known of it; fields that are compile options are taken as such
    options     compile options by Triton's names; language: "triton" or "gluon"
    target      "cuda:90", "hip:gfx942"; to: the last level, None for the binary
    wrap        optional: wrap(stages, backend) may replace stage functions; walk: of a text, all stages run
    hint        optional: what a parser that refuses the text does not know
    attempt     optional: attempt(step) tries a step that may end the process, and raises where it does

run() answers {"asm": {level: text or bytes}, "metadata": {...}, "name", "release"}; of a text "notes" too."""

import contextlib
import dataclasses
import functools
import hashlib
import importlib.util
import inspect
import io
import json
import numbers
import os
import re
import sys
import traceback

from . import architectures, program_file, rebuild
from .recorder import parse
from .refused import NotAssembled, Refused
from .signatures import signature_of

MLIR_LEVELS = ("ttir", "ttgir", "glir")
NEWER_LLIR = "LLIR of a newer release may need that release; enter at ttir or ptx"


def release():
    """(3, 4) of the Triton at hand."""
    import triton

    return tuple(int(part) for part in triton.__version__.split("+")[0].split(".")[:2])


def target_fields(target):
    """Returns what Triton's GPUTarget takes for "cuda:90" or "hip:gfx942"."""
    backend, _, arch = target.partition(":")
    if backend == "cuda" and arch.isdigit():
        return "cuda", int(arch), 32
    if backend == "hip" and arch.startswith("gfx"):
        return "hip", arch, 64 if arch.startswith("gfx9") else 32
    raise Refused(f"unknown target {target!r}", 'targets are written "cuda:90" or "hip:gfx942"')


def check_target(target):
    """Refuses an architecture that this Triton does not compile for, with the nearest that it does."""
    backend, arch, _ = target_fields(target)
    reason = architectures.unknown(backend, str(arch))
    if reason:
        raise Refused(*reason)


def find_backend(target, checked=True):
    """Triton's own backend for a target, never one of triton_runner's that stops early. checked: an
    architecture that this Triton does not know is refused."""
    import triton
    import triton.backends
    from triton.backends.compiler import GPUTarget

    if checked:
        check_target(target)
    gpu = GPUTarget(*target_fields(target))
    for backend in triton.backends.backends.values():
        compiler = getattr(backend.compiler, "runner_base", backend.compiler)
        if compiler.supports_target(gpu):
            return compiler(gpu)
    raise Refused(
        f"Triton {triton.__version__} has no backend for {target}",
        "its backends: " + ", ".join(triton.backends.backends),
    )


def option_names(backend):
    """The compile options of a backend."""
    return [field.name for field in dataclasses.fields(type(backend.parse_options({})))]


def run(request, note=lambda stage: None):
    """Compiles a request. note(level) is called when a stage begins."""
    backend = find_backend(request["target"], request.get("checked", True))
    if request.get("kernel") is not None:
        return _compile_kernel(request, backend, note)
    return _compile_text(request, backend, note)


# --- a kernel ---------------------------------------------------------------------------------------------


def load_function(kernel):
    """The JIT function of a file ({"file", "name"}), or the one given."""
    if not isinstance(kernel, dict):
        return kernel
    if "functions" in kernel:
        return rebuild.function(kernel)
    return innermost(load_decorated(kernel))


def load_decorated(kernel):
    """The same of a file, with the autotuners and heuristics around it."""
    path, name = os.path.abspath(kernel["file"]), kernel["name"]
    if not os.path.isfile(path):
        raise Refused("no such file: " + path)
    sys.path.insert(0, os.path.dirname(path))  # as if the file were run
    spec = program_file.spec_of(os.path.splitext(os.path.basename(path))[0], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)
    try:
        _execute(spec, module)
    except (Exception, SystemExit) as error:  # a script that ends by sys.exit() has its kernels by then
        if not (isinstance(error, SystemExit) and hasattr(module, name.split(".")[0])):
            raise _not_imported(path, error) from None
    function = module
    for part in name.split("."):
        function = getattr(function, part, None)
    if innermost(function) is None:
        raise Refused(
            f"{path} has no kernel {name!r}",
            "its kernels: " + (", ".join(n for n, v in vars(module).items() if innermost(v)) or "none"),
        )
    return function


def _execute(spec, module):
    try:
        spec.loader.exec_module(module)
    except RuntimeError as error:
        if "active drivers" not in str(error):
            raise
        # It asks for its device as it is imported, and there is no GPU: this package's driver answers.
        import triton_runner  # noqa: F401

        spec.loader.exec_module(module)


def _not_imported(path, error):
    """Why a kernel's file cannot be imported: the error of its code, and the line that it comes from."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    at = f"{path}:{lines[-1]}" if lines else path
    said = [line for line in str(error).splitlines() if line.strip()] or [""]
    what = " ".join([said[0], said[-1].strip()] if said[0].endswith(":") else said[:1])
    if isinstance(error, AssertionError) and "not compiled with CUDA" in what:
        hint = "on this machine it may ask for a GPU under `if __name__ == '__main__':` only"
    else:
        hint = "code outside of kernels can be put under `if __name__ == '__main__':`"
    message = f"{at}: its file cannot be imported: {type(error).__name__}: {what}"
    return Refused(message.rstrip(": "), hint)


def innermost(function):
    """The JIT function inside of autotuners and heuristics, or None. Modules import what is asked of them."""
    from triton.runtime.jit import JITFunction

    while function is not None and not isinstance(function, JITFunction):
        function = None if inspect.ismodule(function) else getattr(function, "fn", None)
    return function


def _source(function, types, constants, attributes):
    """Triton's ASTSource of a kernel, in this release's form."""
    from triton.compiler import ASTSource

    version = release()
    index = {name: i for i, name in enumerate(function.arg_names)}
    if version >= (3, 3):
        if getattr(function, "is_gluon", lambda: False)():
            from triton.experimental.gluon._runtime import GluonASTSource as ASTSource
        # In the parameters' order: it is that of the kernel's arguments.
        signature = {name: "constexpr" if name in constants else types[name] for name in function.arg_names}
        return ASTSource(function, signature, constants, {(index[n],): a for n, a in attributes.items()})
    aligned = tuple(index[n] for n, a in attributes.items() if ["tt.divisibility", 16] in a)
    constexprs = {p.name for p in function.params if p.is_constexpr}
    ones = tuple(index[n] for n, value in constants.items() if n not in constexprs and value == 1)
    # In these releases a signature has all runtime parameters, those that are 1 among them.
    signature = {
        name: types.get(name, "i32" if constants.get(name) == 1 else "*i8")
        for name in function.arg_names
        if name not in constexprs
    }
    if version == (3, 2):
        from triton.backends.compiler import AttrsDescriptor

        properties = {"tt.divisibility": aligned, "tt.equal_to": ones}
        described = AttrsDescriptor.from_dict({"arg_properties": properties, "cls": "AttrsDescriptor"})
    else:
        from triton.compiler.compiler import AttrsDescriptor

        described = AttrsDescriptor(divisible_by_16=aligned, equal_to_1=ones)
    return ASTSource(function, signature, constants, described)


def _matching(function, **given):
    """Calls a function of the backend with those arguments that this release's form of it has."""
    names = inspect.signature(function).parameters
    return function(**{name: value for name, value in given.items() if name in names})


def _compile_kernel(request, backend, note):
    import triton

    function = innermost(load_function(request["kernel"]))
    source = _source(
        function,
        *signature_of(function, request.get("signature"), request.get("constexprs"), request.get("attrs")),
    )
    given = dict(request.get("options") or {})
    _check_options(backend, given)
    options = backend.parse_options({**_with_tuples(given), **source.parse_options()})
    stages = _stages(backend, options, getattr(source, "language", None), request)
    note(source.ext)
    context = _context(backend)
    codegen = _matching(backend.get_codegen_implementation, options=options)
    modules = backend.get_module_map() if hasattr(backend, "get_module_map") else None
    module = _matching(
        source.make_ir,
        target=backend.target,
        options=options,
        codegen_fns=codegen,
        module_map=modules,
        context=context,
    )
    metadata = {"target": backend.target, **options.__dict__, "triton_version": triton.__version__}
    asm = {"source": str(module)}
    names, notes = list(stages), []
    last = _last(names, request.get("to"), "source", request["target"])
    for level in names[: last + 1]:
        note(level)
        module = stages[level](module, metadata)
        if level != "glir":
            asm[level] = _content(module)
        notes += _relocated(module, level, function.__name__)
    return {**_answer(asm, metadata, function.__name__), "notes": notes}


def _check_options(backend, options):
    import triton

    if not options:
        return
    defaults, names = backend.parse_options({}), option_names(backend)
    for name, value in options.items():
        if name not in names:
            raise Refused(
                f"Triton {triton.__version__} has no compile option {name!r} for {backend.target.backend}",
                "its options: " + ", ".join(names),
            )
        kind = type(getattr(defaults, name, None))
        taken = {bool: numbers.Integral, int: numbers.Integral, str: str}.get(kind)  # True is integral
        if taken and value is not None and not isinstance(value, taken):
            raise Refused(
                "Triton's compile option {} takes {}, not {!r}".format(
                    name, {bool: "True or False", int: "an integer", str: "a text"}[kind], value
                )
            )


# --- a text -----------------------------------------------------------------------------------------------


def _compile_text(request, backend, note):
    import triton

    text, level, filename = request["text"], request["level"], request.get("filename", "")
    if level in MLIR_LEVELS:
        _plug_in(text)
    known = set(option_names(backend))
    metadata = _with_libraries(dict(request.get("metadata") or {}), backend)
    metadata.update(request.get("options") or {})
    _check_options(backend, request.get("options") or {})
    given = {k: _with_tuples(v) for k, v in metadata.items() if k in known and v is not None}
    given.pop("arch", None)  # the target says it
    # After TTGIR it is a number like any other: that of a warp-specialised kernel is a sum.
    warps = given.pop("num_warps", None) if level not in MLIR_LEVELS else None
    options = backend.parse_options(given)
    language = "gluon" if level == "glir" else request.get("language")
    stages = _stages(backend, options, _language(language), request)
    metadata = {
        **metadata,
        **options.__dict__,
        "target": backend.target,
        "triton_version": triton.__version__,
    }
    metadata["num_warps"] = warps or metadata["num_warps"]
    module = text
    if level in MLIR_LEVELS:
        note(level)
        read = functools.partial(_parse, text, level, _context(backend), filename, request.get("hint"))
        # Triton 3.9 ends the process on products of RDNA with one warp.
        if "#ttg.amd_wmma" in text and request.get("attempt"):
            request["attempt"](read)
        module = read()
        if level != "ttir" and hasattr(module, "get_tensordesc_metadata"):
            metadata.setdefault("tensordesc_meta", module.get_tensordesc_metadata())
    elif level == "llir":
        from triton._C.libtriton import llvm

        llvm.init_targets()  # else done by the stage above; without it LLVM crashes
    names, notes = list(stages), []
    if level == "glir" and "glir" not in names:  # before 3.9 the first stage takes it, and is called ttgir
        stages = dict([("glir", lambda text, metadata: text), *stages.items()])
        names = list(stages)
    again = request.get("walk") or request.get("inline")  # the text's own stage too
    asm = {"source" if request.get("inline") else level: text}
    if level not in names:
        raise Refused(
            "{} has no level {!r}".format(request["target"], level), "its levels: " + ", ".join(names)
        )
    last = _last(names, request.get("to"), level, request["target"])
    for name in names[0 if again else names.index(level) + 1 : last + 1]:
        note(name)
        if level == "llir" and module is text and request.get("attempt"):
            request["attempt"](lambda stage=stages[name]: stage(text, dict(metadata)))
        if level == "ptx":
            module = _assembled(stages[name], text, metadata, filename or "this PTX", notes)
        else:
            module = stages[name](module, metadata)
        asm[name] = _content(module)
        if level == "llir" and name == "ptx":
            _check_intrinsics(asm[name], text, filename)
        notes += _relocated(module, name, metadata.get("name", ""))
    return {**_answer(asm, metadata, metadata.get("name", "")), "notes": notes}


def _with_libraries(metadata, backend):
    """Returns metadata without libraries that a compiler kept by their names alone (Meta's fork): the backend
    knows where its own are. Refuses those that it does not bring."""
    names = [one for one in metadata.get("extern_libs") or () if isinstance(one, str)]
    if names and not isinstance(metadata["extern_libs"], dict):
        own = dict(backend.parse_options({}).extern_libs)
        missing = [name for name in names if name not in own]
        if missing:
            raise Refused(
                "the metadata names the library {} without its path".format(", ".join(missing)),
                f"give it as an option: extern_libs={{{missing[0]!r}: PATH}}",
            )
        del metadata["extern_libs"]
    return metadata


def _relocated(module, level, name):
    """USE_IR_LOC=ttgir, as Triton's own compile takes it: from here on the lines of the code are those of
    this text, which is written for that. In a file of its content's name, so that compiling again gives the
    same. What a person should know of it."""
    if os.environ.get("USE_IR_LOC") != level or not hasattr(module, "create_location_snapshot"):
        return []
    base = os.environ.get("TRITON_CACHE_DIR") or os.path.expanduser("~/.triton/cache")
    folder = os.path.join(base, "ir_loc", hashlib.sha256(str(module).encode()).hexdigest()[:16])
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "{}.{}".format(name or "kernel", level))
    module.create_location_snapshot(path)
    return [f"USE_IR_LOC: lines are those of {path}"]


def _check_intrinsics(ptx, text, filename):
    """An intrinsic that LLVM does not know is a function of another module to it, which nobody has."""
    import triton

    match = re.search(r"^\s*(?:\.extern \.func|call)\b.*?\b(llvm\.[\w.]+)", ptx, re.M)
    if match:
        name = match.group(1)
        line = text[: text.find(f"@{name}(")].count("\n") + 1
        raise Refused(
            f"{filename or '<llir>'}:{line}: LLVM of Triton {triton.__version__} has no @{name}",
            NEWER_LLIR,
        )


_NEWER_PTX = re.compile(r"Unsupported \.version ([\d.]+); current version is '([\d.]+)'")


def _assembled(stage, ptx, metadata, filename, notes):
    """The cubin of a PTX text, which is given the version that this ptxas reads where it is of a newer one:
    ptxas itself then judges whether an instruction needs that."""
    import triton

    try:
        with contextlib.redirect_stdout(io.StringIO()):  # Triton prints the whole text where ptxas refuses it
            return stage(ptx, metadata)
    except Exception as error:
        newer = _NEWER_PTX.search(str(error))
        if newer:
            lowered = ptx.replace(".version " + newer.group(1), ".version " + newer.group(2), 1)
            binary = _assembled(stage, lowered, metadata, filename, notes)
            notes.append(f"{filename} is PTX {newer.group(1)}, assembled as {newer.group(2)}")
            return binary
        lines = [line for line in str(error).splitlines() if "ptxas" in line]
        fatal = [line for line in lines if "fatal" in line or "error" in line]
        if not fatal:
            raise
        what = f"ptxas of Triton {triton.__version__} does not accept {filename}"
        raise NotAssembled(what, *fatal) from None


def _plug_in(text):
    """Imports the plug-in whose ops a text holds (TLX): what lowers them comes with its import. Where it is
    not installed, the parser says that it does not know them."""
    if re.search(r"^\s*(?:%\S+ = )?\"?tlx\.", text, re.M):
        with contextlib.suppress(ImportError):
            importlib.import_module("utlx_plugin")


def _parse(text, level, context, filename, hint):
    """The module of a TTIR or TTGIR text, by Triton's own parser (which reads files only)."""
    import triton

    try:
        return parse(text, context)
    except RuntimeError as error:
        raise Refused(
            "Triton {} does not accept {}: {}".format(
                triton.__version__, filename or "this " + level.upper(), error
            ),
            "its parser wrote the place to stderr",
            hint or "an artifact of another release may need that release",
        ) from None


# --- both -------------------------------------------------------------------------------------------------


def _context(backend):
    from triton._C.libtriton import ir

    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    return context


def _language(name):
    if release() < (3, 4):
        return None
    from triton.backends.compiler import Language

    return Language.GLUON if name == "gluon" else Language.TRITON


def _stages(backend, options, language, request):
    stages = {}
    _matching(backend.add_stages, stages=stages, options=options, language=language)
    if request.get("wrap"):
        request["wrap"](stages, backend)
    return stages


def _last(names, to, first, target):
    """The index of the last stage; -1: none runs."""
    order = names if first in names else [first, *names]
    to = to or names[-1]
    if to not in order:
        raise Refused(f"{target} has no level {to!r}", "its levels: " + ", ".join(order))
    if order.index(to) < order.index(first):
        raise Refused(f"{to} lies above {first}: compilation cannot go back", "levels: " + ", ".join(order))
    return names.index(to) if to in names else -1


def _content(module):
    return module if isinstance(module, (str, bytes)) else str(module)


def _with_tuples(value):
    if isinstance(value, dict):
        return {name: _with_tuples(v) for name, v in value.items()}
    return tuple(_with_tuples(v) for v in value) if isinstance(value, list) else value


def _answer(asm, metadata, name):
    import triton

    return {
        "asm": asm,
        "metadata": metadata,
        "name": metadata.get("name") or name,
        "release": triton.__version__,
    }


def jsonable(metadata):
    """Metadata as Triton writes them to disk."""
    return json.loads(
        json.dumps(metadata, default=lambda value: getattr(value, "__dict__", None) or str(value))
    )
