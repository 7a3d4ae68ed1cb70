"""Reads what is declared of a function's arguments: by `triton_runner.testing.dims`, annotations, --dims.

M=(0, 5000), N=[64, 128]                    a size: its range, or all that it may be
x="f16|f32[M, 2 * N] contiguous in 0..1"    a tensor
x="contiguous inout"                        words about a tensor that is otherwise as in the calls
n="M * N"                                   a number that follows
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing

from triton_runner._base.errors import fail
from triton_runner._memory.files import DTYPES, kind_of
from triton_runner.verbs.verify.shapes.domain import (
    Domain,
    Kept,
    Number,
    Several,
    Size,
    Tensor,
    Values,
    expression,
)

_TENSOR = re.compile(r"\s*([\w|.]+)\s*\[([^\]]*)\]\s*(.*?)\s*")
_BETWEEN = re.compile(r"in\s+(\S+?)\.\.(\S+)(?:\s+or\s+(-?\d+))?")
_TYPES = {"float": ("f32", "f16", "bf16"), "int": ("i64", "i32")}
_WORDS = ("contiguous", "aligned", "finite", "inout", "distinct")
_FORM = 'as in M=(0, 5000), x="f16|f32[M, N] contiguous", idx="i64[M] in 0..N"'
_USUAL = 64
ATTRIBUTE = "triton_runner_dims"


def of_function(function) -> dict:
    """Returns what the decorator and the annotations of a function declare."""
    found = {}
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception:  # names that only a type checker has
        hints = getattr(function, "__annotations__", {})
    for name, hint in hints.items():
        if name != "return" and (text := _annotated(hint)):
            found[name] = text
    return together(found, getattr(function, ATTRIBUTE, {}))


def together(first: dict, second: dict) -> dict:
    """Both declarations: the second one is in force, and its words alone are added to what the first says of
    the argument."""
    added = {
        name: f"{first[name]} {text}"
        for name, text in second.items()
        if is_words(text) and isinstance(first.get(name), str)
    }
    return first | second | added


def is_words(text) -> bool:
    """Returns whether a text has words about a tensor and does not say its sizes."""
    rest = _BETWEEN.sub("", text).split() if isinstance(text, str) else []
    return isinstance(text, str) and bool(text.strip()) and all(word in _WORDS for word in rest)


def _annotated(hint) -> str:
    """The text about a tensor in an annotation: of a string, of Annotated, of jaxtyping."""
    for one in (hint, *getattr(hint, "__metadata__", ())):
        text = one.__forward_arg__ if isinstance(one, typing.ForwardRef) else one
        text = text.strip("\"' ") if isinstance(text, str) else ""
        if ((match := _TENSOR.fullmatch(text)) and _types_of(match[1]) is not None) or is_words(text):
            return text
    dims, types = getattr(hint, "dim_str", None), getattr(hint, "dtypes", None)
    if isinstance(dims, str) and isinstance(types, (list, tuple)):
        known = [kind_of(kind) for kind in types if kind_of(kind) in DTYPES]
        if known and all(re.fullmatch(r"\w+", dim) for dim in dims.split()):
            return f"{'|'.join(known)}[{', '.join(dims.split())}]"
    return ""


def of_texts(texts) -> dict:
    """Returns what the options --dims declare: "M=0..5000", "N=64,128", "x=f32[M]", "x=inout"."""
    declared: dict = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name.isidentifier():
            raise fail(f"--dims {text}: expected NAME=...", "as in --dims M=0..5000 --dims 'x=f32[M, 64]'")
        if match := re.fullmatch(r"(-?\d+)\.\.(-?\d+)", value):
            declared[name] = (int(match[1]), int(match[2]))
        elif re.fullmatch(r"-?\d+(,\s*-?\d+)*", value):
            declared[name] = [int(part) for part in value.split(",")]
        else:
            declared = together(declared, {name: value})
    return declared


def _types_of(text: str) -> tuple | None:
    kinds: list[str] = []
    for word in text.split("|"):
        word = word.removeprefix("torch.")
        more = _TYPES.get(word) or ((kind_of(word),) if kind_of(word) in DTYPES else None)
        if more is None:
            return None
        kinds += more
    return tuple(dict.fromkeys(kinds))


def tensor(name: str, text: str, device: str) -> Tensor:
    """The tensor argument of a text."""
    match = _TENSOR.fullmatch(text)
    types = _types_of(match[1]) if match else None
    if types is None:
        kinds = ", ".join([*_TYPES, *DTYPES])
        raise fail(f"{name}={text!r} is not a tensor: expected TYPES[SIZES]", _FORM, f"types: {kinds}")
    dims = tuple(str(expression(dim)) for dim in match[2].split(",") if dim.strip())
    plain = Tensor(dims, types, types[0], device=device)
    if types[0][0] in "iu":
        low, high = ("0", "2") if types[0] == "i1" else ("-8", "9")
        plain = dataclasses.replace(plain, values=Values(low, high))
    return _worded(plain, name, text, match[3])


def _worded(plain: Tensor, name: str, text: str, words: str) -> Tensor:
    """A tensor with the words about it."""
    values = plain.values
    if between := _BETWEEN.search(words):
        low, high = (str(expression(bound)) for bound in between.groups()[:2])
        other = int(between[3]) if between[3] else None
        values = dataclasses.replace(values, low=low, high=high, other=other, order="", kept=None)
        words = _BETWEEN.sub("", words)
    said = words.split()
    if unknown := [word for word in said if word not in _WORDS]:
        raise fail(
            f"{name}={text!r}: unknown word {unknown[0]!r}",
            f"words: {', '.join(_WORDS)}, in LOW..HIGH, in LOW..HIGH or NUMBER",
        )
    order = "distinct" if "distinct" in said else values.order
    values = dataclasses.replace(values, is_finite=values.is_finite or "finite" in said, order=order)
    flags = {word: True for word in ("contiguous", "aligned", "inout") if word in said}
    return dataclasses.replace(plain, values=values, **flags)


def _all_worded(argument, name: str, words: str):
    """An argument of the calls with words about it; those of a list are about each tensor in it."""
    if isinstance(argument, Tensor):
        return _worded(argument, name, words, words)
    if isinstance(argument, Several):
        return dataclasses.replace(
            argument, items=tuple(_all_worded(one, name, words) for one in argument.items)
        )
    return argument


def domain(function, declared: dict, known: Domain | None, device: str) -> Domain:
    """The domain that is declared; what nobody declares is as in a known one, of the calls."""
    names = list(known.arguments) if known else _parameters(function)
    ranges = {n: v for n, v in declared.items() if isinstance(v, (tuple, list, range))}
    odd = {n: v for n, v in declared.items() if n not in ranges and not isinstance(v, str)}
    if odd:
        name, value = next(iter(odd.items()))
        raise fail(f"{name}={value!r}: expected a range (0, 5000), a list of sizes or a text", _FORM)
    texts = {name: value for name, value in declared.items() if isinstance(value, str)}
    if unknown := [name for name in texts if name not in names]:
        arguments = ", ".join(names) or "none"
        raise fail(f"{unknown[0]!r} is declared, and no argument of {_called(function)}", f"its: {arguments}")
    arguments = dict(known.arguments) if known else {}
    for name, text in texts.items():
        if not is_words(text):
            arguments[name] = tensor(name, text, device) if "[" in text else Number(str(expression(text)))
        elif name in arguments:
            arguments[name] = _all_worded(arguments[name], name, text)
    for name in names:
        if name in ranges and (name not in arguments or not isinstance(arguments[name], Tensor)):
            arguments[name] = Number(name)
    arguments = {name: arguments[name] for name in names if name in arguments}
    _complete(function, arguments, names, known)
    used = _used(arguments)
    called = _called_with(arguments, known)
    called = (known.usual if known else {}) | called
    sizes = {name: _size(name, ranges.get(name), called.get(name, _USUAL)) for name in used}
    if unused := [name for name in ranges if name not in used]:
        raise fail(
            f"the size {unused[0]!r} is declared, and no argument of {_called(function)} has it",
            f"the sizes of its arguments: {', '.join(used) or 'none'}", _FORM,
        )  # fmt: skip
    frozen = any(one.values.order == "offsets" for one in Domain(arguments, {}).tensors().values())
    if frozen and (moving := {name for name, size in sizes.items() if size.declared}):
        frozen = False
        sizes = {n: size if n in moving else dataclasses.replace(size, only=(size.usual,))
                 for n, size in sizes.items()}  # fmt: skip
    return Domain(
        arguments, sizes, known.starred if known else "", known.keywords if known else (), frozen
    )  # fmt: skip


def _parameters(function) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _complete(function, arguments: dict, names: list, known) -> None:
    """Arguments of which nobody says anything have their default."""
    if known:
        return
    for name, parameter in inspect.signature(function).parameters.items():
        if name in arguments or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is parameter.empty:
            raise fail(
                f"nothing says what {_called(function)} takes as {name!r}",
                "the program makes no call of it; declare it: @triton_runner.testing.dims(...), an "
                f"annotation, or --dims '{name}=f32[M, N]'",
            )
        arguments[name] = Kept(parameter.default)


def _used(arguments: dict) -> list[str]:
    """The sizes that arguments name."""
    texts = []
    probe = Domain(arguments, {})
    for one in probe.tensors().values():
        texts += [*one.dims, *(text for text in (one.values.low, one.values.high) if text)]
    texts += [one.text for one in arguments.values() if isinstance(one, Number)]
    return list(dict.fromkeys(name for text in texts for name in expression(text).figures))


def _called_with(arguments: dict, known: Domain | None) -> dict[str, int]:
    """The sizes that the calls had, where a dimension is a size alone. A name that an argument of the calls
    has is that argument's size, whatever else has it by a declaration."""
    if known is None:
        return {}
    tensors, seen = Domain(arguments, {}).tensors(), known.tensors()
    there = [path for path, one in tensors.items() if path in seen and len(seen[path].dims) == len(one.dims)]
    return {
        dim: extent
        for path in sorted(there, key=lambda path: tensors[path].dims == seen[path].dims)
        for dim, extent in zip(tensors[path].dims, seen[path].shape(known.usual), strict=True)
        if dim.isidentifier()
    }


def _size(name: str, given, usual: int) -> Size:
    size = Size(name, usual)
    if given is None:
        return size
    if isinstance(given, tuple):
        whole = len(given) == 2 and all(type(one) is int for one in given)
        if not whole or given[0] > given[1]:
            raise fail(f"{name}={given!r} is not a range: expected (lowest, highest)", _FORM)
        usual = min(max(size.usual, given[0]), given[1])
        return dataclasses.replace(size, low=given[0], high=given[1], usual=usual, declared=True)
    values = tuple(given)
    if not values or not all(type(one) is int for one in values):
        raise fail(f"{name}={given!r} is not a list of sizes", _FORM)
    usual = size.usual if size.usual in values else values[len(values) // 2]
    return dataclasses.replace(
        size, low=min(values), high=max(values), only=values, usual=usual, declared=True
    )  # fmt: skip


def _called(function) -> str:
    return f"{getattr(function, '__qualname__', function)}()"
