"""Reads the signature of a kernel: which parameter has which type, constant and attributes."""

import ast
import inspect
import re

from . import elements, rebuild
from .refused import Refused
from .spelling import option


def split_signature(text):
    """The parts of "*fp32:16, tensordesc<fp16[64,64]>, 8": commas within brackets and quotes do not count."""
    parts, depth, quote = [""], 0, ""
    for c in text:
        if quote or c in "\"'":
            quote = "" if c == quote else quote or c
        depth += (c in "<[({") - (c in ">])}")
        if c == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts] if text.strip() else []


_TYPE = re.compile(r"\*|[iu]\d+(:|$)|fp\d|bf16|tensordesc<|nvTmaDesc|B$|constexpr$")


def _constant(word):
    """The value that a word of a signature stands for, in a tuple; None if it is a type."""
    if _TYPE.match(word):
        return None
    if word.startswith("tl."):
        import triton.language as tl

        return (getattr(tl, word[3:]),)
    try:
        return (ast.literal_eval(word),)
    except (ValueError, SyntaxError):
        raise Refused(
            f"the signature has {word!r}, which is neither a type nor a constant",
            "types: *fp32, *fp16:16 (a multiple of 16), i32, fp32, tensordesc<fp16[64,64]>; "
            "constants: 128, 0.5, True, None, 'text', tl.float16",
        ) from None


def signature_of(function, signature, constexprs, attrs):
    """(types, constants, attributes) by parameter name.

    signature: a dict, or "*fp32:16, i32, 128": a type, or a constant, for each parameter that constexprs
    does not name. T:16 says that the value is a multiple of 16, T:1 that it is 1. attrs: more attributes,
    {name: [[attribute, value]]}. Constants that nobody gives are the parameters' defaults.
    """
    parameters = inspect.signature(function.fn).parameters
    constants = {name: decoded(value) for name, value in (constexprs or {}).items()}
    if not isinstance(signature, dict):
        words = signature if isinstance(signature, (list, tuple)) else split_signature(signature or "")
        open_names = [name for name in parameters if name not in constants]
        if len(words) > len(open_names):
            raise Refused(
                f"the signature has {len(words)} entries for {len(open_names)} parameters of kernel "
                f"'{function.__name__}'",
                "its parameters: " + ", ".join(parameters),
            )
        signature = dict(zip(open_names, words, strict=False))
    for name in [*signature, *constants, *(attrs or {})]:
        if name not in parameters:
            raise Refused(
                f"kernel '{function.__name__}' has no parameter {name!r}",
                "its parameters: " + ", ".join(parameters),
            )
    types, attributes = {}, {name: [list(a) for a in value] for name, value in (attrs or {}).items()}
    constexpr_names = {p.name for p in function.params if p.is_constexpr}
    for name, parameter in parameters.items():
        word = signature.get(name)
        if name in constants or word == "constexpr":
            if name not in constants:
                raise Refused(
                    f"parameter {name!r} is a constexpr without a value", "give it in " + option("constexprs")
                )
            if word and word != "constexpr":
                types[name] = word.partition(":")[0]  # a runtime parameter that is known to be 1
        elif word is not None:
            if isinstance(word, str):
                word, unknown = elements.in_triton(word)
                if unknown:
                    raise Refused(
                        f"the signature has {word!r}, and there is no element type {unknown!r}",
                        elements.KNOWN,
                    )
            value = _constant(word) if isinstance(word, str) else (decoded(word),)
            if value is not None:
                constants[name] = value[0]
                continue
            types[name], _, hint = word.partition(":") if "<" not in word else (word, "", "")
            if hint == "16":
                attributes.setdefault(name, []).append(["tt.divisibility", 16])
            elif hint == "1":
                constants[name] = 1
            elif hint:
                raise Refused(f"parameter {name!r}: hint :{hint} is neither :16 nor :1")
        elif parameter.default is not inspect.Parameter.empty:
            constants[name] = getattr(parameter.default, "value", parameter.default)
        else:
            what = "no value" if name in constexpr_names else "no type"
            where = option("constexprs" if name in constexpr_names else "signature")
            raise Refused(
                f"kernel '{function.__name__}': parameter {name!r} has {what}",
                "give it in {}; the parameters: {}".format(where, ", ".join(parameters)),
            )
    return types, constants, attributes


def decoded(value):
    """A constant as it came through JSON."""
    if isinstance(value, dict):
        return rebuild.value(value)
    return value
