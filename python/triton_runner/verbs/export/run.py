"""Implements triton_runner.export(): a kernel compiled for several architectures and specialisations, in a
folder from which C++ programs launch it (include/triton_runner/deploy/deploy.h)."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re

from triton_runner import _core
from triton_runner._base.errors import fail
from triton_runner._base.levels import LEVELS, binary_level, levels_of
from triton_runner._base.paths import check_output, make_folder
from triton_runner._kernel.compiling import compile as compiler
from triton_runner._pipeline import versions
from triton_runner._worker import job, signatures

_FORMAT = 1
INDEX = "index.json"
_ENDS = re.compile(r"^(.*:(?:16|1))\?$")  # "i32:16?": with the hint, and without
_ONE_ARCHITECTURE = re.compile(r"^\.target\s+sm_\d+[af]\b", re.MULTILINE)  # "sm_90a"
# Paths of the machine that compiled, and nothing that a launch needs.
_LOCAL = ("extern_libs", "cache_dir")


def specialisations(signature):
    """A signature without "?": "T:16?" stands for "T:16" and for "T", in all combinations."""
    if isinstance(signature, dict):
        names, words = list(signature), list(signature.values())
    else:
        names = None
        is_list = isinstance(signature, (list, tuple))
        words = list(signature) if is_list else signatures.split_signature(signature)
    alternatives = []
    for word in words:
        ends = _ENDS.match(word) if isinstance(word, str) else None
        alternatives.append((ends[1], ends[1].rpartition(":")[0]) if ends else (word,))
    for chosen in itertools.product(*alternatives):
        yield dict(zip(names, chosen, strict=True)) if names else list(chosen)


def _function(kernel):
    """(the JIT function, what compile() is given for it)."""
    if not isinstance(kernel, (str, os.PathLike)):
        return job.innermost(kernel), kernel
    path, colon, name = os.fspath(kernel).rpartition(":")
    if not colon or not path.endswith(".py"):
        raise fail(f"{kernel}: a Python kernel is exported", "name it as kernel.py:name")
    try:
        return job.load_function({"file": path, "name": name}), kernel
    except job.Refused as error:
        raise fail(error.message, *error.notes) from None


def _constant(value, name: str):
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if type(value).__name__ == "dtype":  # tl.float16
        return str(value)
    raise fail(
        f"parameter {name!r} is {value!r} ({type(value).__name__}), which an index cannot say",
        "constexprs of exported kernels are numbers, texts, None and dtypes",
    )


def _levels_for(target: str, asked) -> list[str]:
    there = levels_of(target)
    named = [binary_level(target) if level == "binary" else level for level in asked]
    unknown = [level for level in named if level not in LEVELS]
    if unknown:
        raise fail(f"{unknown[0]!r} is not a level", f"levels: binary, {', '.join(LEVELS)}")
    chosen = [level for level in dict.fromkeys(named) if level in there]
    if not chosen:
        raise fail(f"{target} has none of the levels {', '.join(asked)}", f"its levels: {', '.join(there)}")
    return chosen


class _Folder:
    """Files named after their content, so that variants share what is the same; written at the end, so that
    work that fails or is interrupted leaves nothing."""

    def __init__(self, folder: str):
        check_output(folder, is_folder=True)
        self.path, self._files = folder, {}

    def put(self, name: str, ending: str, content: str | bytes) -> str:
        data = content if isinstance(content, bytes) else content.encode()
        file = f"{name}-{hashlib.sha256(data).hexdigest()[:12]}.{ending}"
        self._files[file] = content
        return file

    def index(self) -> dict:
        path = os.path.join(self.path, INDEX)
        if not os.path.exists(path):
            return {"format": _FORMAT, "kernels": []}
        try:
            with open(path, encoding="utf-8") as opened:
                index = json.load(opened)
        except (OSError, ValueError) as error:
            raise fail(f"cannot read {path}: {error}", "it is not a package: choose another folder") from None
        if not isinstance(index, dict) or index.get("format") != _FORMAT:
            raise fail(f"{path} is not an index of format {_FORMAT}", "choose another folder")
        return index

    def write_index(self, index: dict) -> None:
        """Writes the files, and the index last, so that a reader finds every file that it names."""
        make_folder(self.path)
        for file, content in self._files.items():
            _core.artifact.write(os.path.join(self.path, file), content)
        text = json.dumps(index, indent=1) + "\n"
        _core.artifact.write(os.path.join(self.path, INDEX), text)


def _variant(compiled, levels, types, constants, attributes, parameters, folder: _Folder) -> dict:
    """A compilation in the folder, as the index has it."""
    metadata = {k: v for k, v in compiled.metadata.items() if k not in _LOCAL}
    metadata["name"] = compiled.name
    for name in parameters:
        if name not in constants and not isinstance(types.get(name), str):
            raise fail(f"parameter {name!r} is a tuple", "exported kernels take its parts by themselves")
    return {
        "symbol": compiled.name,
        "target": compiled.target,
        "exact_target": bool(_ONE_ARCHITECTURE.search(compiled.asm.get("ptx", ""))),
        "triton": compiled.release,
        "files": {level: folder.put(compiled.name, level, compiled.asm[level]) for level in levels},
        "metadata": folder.put(compiled.name, "json", json.dumps(metadata, sort_keys=True)),
        "types": {name: types[name] for name in parameters if name not in constants},
        "multiples_of_16": [
            name
            for name in parameters
            if name not in constants and ["tt.divisibility", 16] in attributes.get(name, [])
        ],
        "constants": {
            name: _constant(constants[name], name) for name in parameters if name in constants
        },
        "options": {
            name: metadata[name] for name in ("num_warps", "num_ctas", "num_stages") if name in metadata
        },
    }  # fmt: skip


def export(
    kernel,
    variants,
    out,
    *,
    targets=None,
    levels=("binary",),
    triton: str | None = None,
    timeout: float | None = None,
    progress=None,
) -> list[dict]:
    """Compiles a kernel in several variants, and writes a folder from which a C++ program can launch it.

    - `kernel`: a JIT function, or "kernel.py:name".
    - `variants`: one or more of {"signature": ..., "constexprs": {...}, "options": {...}}, as for compile().
      "T:16?" in a signature stands for two variants, one with the hint and one without it.
    - `out`: the folder; it replaces a kernel of the same name in it, and keeps the others.
    - `targets`, `triton`, `timeout`: as for compile(); several targets are a list, or separated by commas.
    - `levels`: the levels to keep: "binary" (cubin, hsaco), "ptx" (also for newer GPUs), "ttir" (for the
      CPU).
    - `progress`: a function that is called with the numbers of finished variants and of all variants.

    Returns the variants as they stand in index.json.
    """
    function, source = _function(kernel)
    if function is None:
        raise fail(f"{kernel!r} is not a kernel", "export takes a JIT function, or kernel.py:name")
    if isinstance(targets, str):
        targets = targets.split(",")
    targets = list(targets or [compiler.default_target()])
    asked = {target: _levels_for(target, levels) for target in targets}
    if triton is None or triton == versions.installed():
        source = function  # loaded once for all
    requests = [
        (target, signature, one)
        for target in targets
        for one in ([variants] if isinstance(variants, dict) else variants)
        for signature in specialisations(one.get("signature") or "")
    ]
    folder = _Folder(os.fspath(out))
    index = folder.index()
    entries = []
    for number, (target, signature, variant) in enumerate(requests):
        if progress:
            progress(number, len(requests))
        constexprs = variant.get("constexprs") or None
        last = max(asked[target], key=levels_of(target).index)
        compiled = compiler.compile(
            source, signature, constexprs, target=target, to=last, triton=triton, timeout=timeout,
            options=variant.get("options"),
        )  # fmt: skip
        types, constants, attributes = signatures.signature_of(function, signature, constexprs, None)
        entry = _variant(compiled, asked[target], types, constants, attributes, function.arg_names, folder)
        if entry not in entries:
            entries.append(entry)
    kernels = [k for k in index["kernels"] if k["name"] != function.__name__]
    kernels.append({"name": function.__name__, "parameters": list(function.arg_names), "variants": entries})
    folder.write_index({"format": _FORMAT, "kernels": sorted(kernels, key=lambda k: k["name"])})
    return entries
