"""Makes a kernel again from what portable.py (_pipeline) took down of it, in a process that has none of the
caller's objects.

Sources are compiled under their own file names and at their own lines, so that locations in the IR are those
of the original."""

import importlib
import inspect
import linecache


class Missing(Exception):
    """A module or name that the kernel uses and this process does not have."""


def value(taken):
    """A constant: JSON's own, or one of portable.py's forms."""
    if not isinstance(taken, dict):
        return taken
    (kind, content), *_ = taken.items()
    if kind == "dtype":
        import triton.language as tl

        return tl.dtype(content)
    if kind == "tuple":
        return tuple(value(item) for item in content)
    if kind == "constexpr":
        import triton.language as tl

        return tl.constexpr(value(content))
    if kind == "module":
        return importlib.import_module(content)
    if kind == "attribute":
        return _attribute(*content)
    raise ValueError("unknown form of a constant: " + kind)


def _attribute(module, path):
    # Names that triton.language offers have moved between its modules: its own name goes first.
    places = ["triton.language", module] if module.startswith("triton.language") else [module]
    for place in places:
        try:
            value = importlib.import_module(place)
            for part in path.split("."):
                value = getattr(value, part)
            return value
        except (ImportError, AttributeError):
            continue
    import triton

    raise Missing(f"Triton {triton.__version__} has no {module}.{path}")


def function(kernel):
    """The JIT function of {"functions": [...], "entry": index}."""
    taken, functions = kernel["functions"], {}
    for function in taken:
        _remember_lines(function)
    # Every function exists before any namespace is filled: they may call each other, or themselves.
    for index, function in enumerate(taken):
        functions[index] = {"__name__": function["module"]}
    wrapped = dict.fromkeys(functions)
    for index in kernel["order"]:
        function, names = taken[index], functions[index]
        for name, reference in function["names"].items():
            if isinstance(reference, dict) and "function" in reference:
                names[name] = wrapped[reference["function"]]
            else:
                names[name] = value(reference)
        wrapped[index] = _wrapped(function, _executed(function, names))
    for index, function in enumerate(taken):
        for name, reference in function["names"].items():
            if isinstance(reference, dict) and "function" in reference:
                functions[index][name] = wrapped[reference["function"]]
    return wrapped[kernel["entry"]]


def _remember_lines(function):
    """Gives inspect the source: the file may not be there, or be another by now."""
    lines = list(linecache.cache[function["file"]][2]) if function["file"] in linecache.cache else []
    own = function["source"].splitlines(keepends=True)
    first = function["line"] - 1
    lines += ["\n"] * (first + len(own) - len(lines))
    lines[first : first + len(own)] = own
    linecache.cache[function["file"]] = (sum(map(len, lines)), None, lines, function["file"])


def _executed(one, names):
    source, line = one["source"], one["line"]
    if source[:1].isspace():  # within another function: columns stay
        source, line = "if 1:\n" + source, line - 1
    exec(compile("\n" * (line - 1) + source, one["file"], "exec", dont_inherit=True), names)
    function = names[one["name"]]
    function.__qualname__, function.__module__ = one["qualname"], one["module"]
    return function


def _wrapped(function, executed):
    if function["kind"] == "plain":
        return executed
    import triton

    if function["kind"] == "constexpr_function":
        return triton.constexpr_function(executed)
    if function["kind"] == "gluon":
        from triton.experimental.gluon import jit
    else:
        jit = triton.jit
    parameters = inspect.signature(triton.runtime.jit.JITFunction.__init__).parameters
    return jit(executed, **{name: v for name, v in function["options"].items() if name in parameters})
