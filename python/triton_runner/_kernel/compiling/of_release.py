"""Compiles a launch as another release of Triton does, and gives the launch with these texts."""

from __future__ import annotations

import dataclasses

from triton_runner._artifact.relaunch import Relaunch
from triton_runner._base.errors import fail
from triton_runner._base.levels import MLIR
from triton_runner._kernel.compiling import compile as compiler
from triton_runner._launch.launchers import Call

_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion")


def of_release(call: Call | None, relaunch: Relaunch, release: str) -> Relaunch:
    """The launch as another release compiles it: from its Python where the call has a JIT function, else from
    its TTIR."""
    source = getattr(call and call.kernel, "src", None)
    if getattr(source, "fn", None) is None:
        return _of_text(relaunch, release)
    function = call.function

    def name_of(key) -> str:
        key = key[0] if isinstance(key, tuple) else key
        return key if isinstance(key, str) else function.arg_names[key]

    constants = {name_of(key): value for key, value in source.constants.items()}
    signature = {name: kind for name, kind in source.signature.items() if kind != "constexpr"}
    attrs = {name_of(key): value for key, value in (source.attrs or {}).items()}
    metadata = relaunch.metadata
    options = {name: metadata[name] for name in _OPTIONS if metadata.get(name) is not None}
    made = compiler.compile(
        function, signature, constants, target=relaunch.target, to=_lowest(relaunch), options=options,
        attrs=attrs, triton=release,
    )  # fmt: skip
    return _with_texts_of(relaunch, made, "ttir")


def _of_text(relaunch: Relaunch, release: str) -> Relaunch:
    if relaunch.entry not in MLIR:
        raise fail(
            f"kernel '{relaunch.name}' enters at {relaunch.entry}, and releases compile from its IR",
            "give its .ttir or .ttgir",
        )
    made = compiler.compile(
        relaunch.texts[relaunch.entry], target=relaunch.target, from_=relaunch.entry, to=_lowest(relaunch),
        metadata=relaunch.metadata, triton=release,
    )  # fmt: skip
    return _with_texts_of(relaunch, made, relaunch.entry)


def _lowest(relaunch: Relaunch) -> str:
    return "ptx" if relaunch.target.startswith("cuda") else "ttgir"


def _with_texts_of(relaunch: Relaunch, made: compiler.Compilation, entry: str) -> Relaunch:
    return dataclasses.replace(
        relaunch, texts=made.asm, metadata_of=lambda: {**made.metadata, "name": made.name}, entry=entry
    )
