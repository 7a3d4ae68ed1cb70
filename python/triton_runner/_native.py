"""Kernels that enter below Triton's IR (LLIR, PTX, cubin, AMDGCN): which values such an artifact takes, and
the types that they settle where it names none. What loads and launches is a driver or the SIMT engine.
"""

from __future__ import annotations

import warnings
from types import SimpleNamespace

from triton_runner import _core
from triton_runner._errors import fail

# Types as PTX, LLVM and MLIR spell them.
_FLOATS = {
    ".f64": 64,
    ".f32": 32,
    ".f16": 16,
    ".bf16": 16,
    "double": 64,
    "float": 32,
    "half": 16,
    "bfloat": 16,
    "f64": 64,
    "f32": 32,
    "f16": 16,
    "bf16": 16,
}
_SCALARS = {
    "float16": ("f16", 16),
    "bfloat16": ("bf16", 16),
    "float32": ("f32", 32),
    "float64": ("f64", 64),
}
_WORDS = ("", ".u64", ".b64")
_GIVE_METADATA = "give its metadata file: metadata_json=, or <kernel>.json beside the artifact"


def inherit(below: dict, above: dict) -> dict:
    """The description of compiled code, completed by what the artifact that it was compiled from told."""
    filled = {
        name: above[name] for name, value in below.items() if value is None and above.get(name) is not None
    }
    description = {**below, **filled}
    description["missing"] = [name for name in below["missing"] if description.get(name) is None]
    # Parameters keep their order on the way down; descriptors of the IR become several of them.
    params = [dict(p) for p in below["params"]]
    if len(above["params"]) <= len(params) and not any("tensordesc" in q["type"] for q in above["params"]):
        for p, q in zip(params, above["params"]):  # noqa: B905  (Triton's own follow in the code)
            p.update(
                name=q["name"] or p["name"], type=q["type"] or p["type"], unused=p["unused"] or q["unused"]
            )
    description["params"] = params
    return description


def is_descriptor(value) -> bool:
    # Asked for each value of each launch: most have not even the first.
    return hasattr(value, "block_shape") and hasattr(value, "base") and hasattr(value, "strides")


def _may_be_folded(value) -> bool:
    # Triton compiles None and the integer 1 into the kernel.
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value == 1)


def _kind(value):
    # What of a value decides how it is passed.
    if is_descriptor(value):
        return type(value), len(value.shape)
    return type(value), _may_be_folded(value)


def _flatten(name: str, value) -> list:
    if not isinstance(value, tuple):
        return [(name, value)]
    return [pair for i, item in enumerate(value) for pair in _flatten(f"{name}.{i}", item)]


class NativeKernel:
    """An artifact on what executes it. Its code is loaded at the first launch, once for each set of argument
    types, by load_code of a subclass.

    params: all of the artifact's parameters, Triton's own included, with name and type as far as it tells.
    """

    def __init__(self, description: dict):
        self.description = description
        self.name = description["name"]
        self._who = f"kernel '{self.name}'"
        self.level = description["level"]
        self.target = description["target"]
        self.params = [
            SimpleNamespace(
                name=p["name"] or f"arg{i}", type=p["type"] or f"b{8 * p['bytes']}", bits=8 * p["bytes"]
            )
            for i, p in enumerate(description["params"])
        ]  # fmt: skip
        self.loaded: dict = {}
        self._plans: dict = {}  # by the kinds of the values: which of them are passed, and the loaded code
        self._check_complete()

    def launch(self, grid, named: list, options: _core.Options) -> None:
        """Queues a launch with (name, value) pairs, constexprs left out, on options.stream."""
        values = [pair for name, value in named for pair in _flatten(name, value)]
        key = (options.shared, self.mode(), *(_kind(value) for _, value in values))
        plan = self._plans.get(key)
        if plan is None:
            visible, hidden = self._settle(values)
            names = {name for name, _ in visible}
            kept = [i for i, (name, _) in enumerate(values) if name in names]
            plan = self._plans[key] = (kept, self._find(visible, hidden, options.shared))
        kept, kernel = plan
        kernel.launch(grid, [values[i] for i in kept], options)

    def mode(self):
        """What of the settings in force changes the code."""
        return None

    def resources(self) -> dict:
        """n_regs, n_spills, max_threads and shared of the code as loaded; empty before the first launch."""
        for kernel in self.loaded.values():
            return {name: getattr(kernel, name) for name in ("n_regs", "n_spills", "max_threads", "shared")}
        return {}

    def _check_complete(self) -> None:
        missing = self.description["missing"]
        if "num_warps" in missing:
            raise fail(
                f"{self._who}: the {self.level} does not say how many threads a block has",
                _GIVE_METADATA,
            )
        if "num_ctas" in missing:
            _warn(
                f"nothing says whether {self._who} runs in clusters: launched without (num_ctas = 1); a "
                "metadata file says it"
            )

    def _find(self, visible, hidden: int, shared: int):
        places, _ = self._walk(visible)
        params = tuple(self._param(self.description["params"][at], name, value) for at, name, value in places)
        key = (hidden, params, self.mode())
        if key not in self.loaded:
            flags = {self._descriptor_flags(at, len(v.shape)) for at, _, v in places if is_descriptor(v)}
            self.loaded[key] = self._load(list(params), hidden, shared, max(flags, default=0))
        return self.loaded[key]

    def _slots(self, value, at: int) -> int:
        """How many of the artifact's parameters a value takes from parameter `at` on."""
        if not is_descriptor(value):
            return 1
        rank = len(value.shape)
        if self.description["tensordesc_meta"]:
            return 1 + 2 * rank
        if at < len(self.params) and self.description["params"][at]["bytes"] == 128:
            raise fail(
                f"{self._who} takes host-side tensor descriptors, and the {self.level} does not say how they "
                "are laid out (tensordesc_meta)",
                _GIVE_METADATA,
            )
        return 1 + 4 * rank + self._descriptor_flags(at, rank)

    def _descriptor_flags(self, at: int, rank: int) -> int:
        # A descriptor in pieces: base, shape and strides of 8 bytes, flags of 1, shape of 4. Releases differ
        # in the number of flags.
        sizes = [p["bytes"] for p in self.description["params"][at + 1 + 2 * rank :]]
        return next((i for i, size in enumerate(sizes) if size != 1), len(sizes))

    def _walk(self, values):
        """[(where its parameters begin, name, value)], and how many parameters all of them take."""
        places, at = [], 0
        for name, value in values:
            places.append((at, name, value))
            at += self._slots(value, at)
        return places, at

    def _settle(self, values):
        """By counting: the values that the artifact takes, and how many pointers of Triton's own follow."""
        total = len(self.params)
        known = self.description["hidden_pointers"]
        kept = [(name, value) for name, value in values if not _may_be_folded(value)]
        candidates = (values, kept) if len(kept) != len(values) else (values,)
        counted = [(candidate, total - self._walk(candidate)[1]) for candidate in candidates]
        possible = (0, 1, 2) if known is None else (known,)
        fits = [found for found in counted if found[1] in possible and self._ends_in_pointers(found[1])]
        if not fits:  # metadata of another build: what fits without hidden pointers has none
            fits = [found for found in counted if found[1] == 0]
        if len(fits) == 1:
            return fits[0]
        given = ", ".join(name for name, _ in values) or "none"
        if fits:
            raise fail(
                f"{self._who}: the {self.level} has {total} parameters and {len(values)} arguments were "
                "given: counting does not settle which parameters are Triton's own and which arguments were "
                "compiled in",
                _GIVE_METADATA,
            )
        own = f", {known} of them Triton's own" if known else ""
        raise fail(
            f"{self._who}: the {self.level} has {total} parameters{own}; {len(values)} arguments do not fit",
            f"arguments, constexprs left out: {given}",
            "arguments that are None or the integer 1 may have been compiled in, others are not",
        )

    def _ends_in_pointers(self, count: int) -> bool:
        params = self.description["params"]
        return all(p["bytes"] == 8 and p["type"] in (*_WORDS, "ptr") for p in params[len(params) - count :])

    def _param(self, param: dict, name: str, value):
        """(name, kind, type, bits): by the artifact where it tells, by the value where it does not."""
        type, bits = param["type"], 8 * param["bytes"]
        if is_descriptor(value):
            return name, "tensordesc", type or "tensordesc", 0
        if hasattr(value, "tma_desc_cpu_ptr"):
            return name, "pointer", "nvTmaDesc", 64
        if type in _FLOATS:
            return name, "float", type, _FLOATS[type]
        said = _SCALARS.get(str(getattr(value, "dtype", ""))) if getattr(value, "shape", None) == () else None
        if said is not None:  # a number of NumPy or ml_dtypes says its type
            if said[1] != bits:
                raise fail(
                    f"{self._who}: argument '{name}' is {said[0]}, and the {self.level} takes {bits} bits"
                )
            return name, "float", *said
        is_tensor = any(
            hasattr(value, field) for field in ("data_ptr", "__cuda_array_interface__", "__dlpack__")
        )
        if (
            type == "ptr"
            or type.startswith("!tt.ptr")
            or (type in _WORDS and bits == 64 and (is_tensor or value is None))
        ):
            return name, "pointer", type or "ptr", 64
        if is_tensor:
            raise fail(
                f"{self._who}: argument '{name}' is a tensor, and the {self.level} takes {bits} bits there"
            )
        if isinstance(value, float) and type in ("", ".b16", ".b32", ".b64"):
            if bits == 16:
                raise fail(
                    f"{self._who}: argument '{name}' has 16 bits, and the {self.level} does not tell f16 "
                    "from bf16",
                    "enter at ttir or ttgir, which tell",
                )
            return name, "float", f"f{bits}", bits
        return name, "integer", type or f"i{bits}", bits

    def _load(self, params, hidden: int, shared: int, flags: int):
        d = self.description
        if hidden and d["global_scratch_size"] is None:
            self._check_scratch(d["params"][len(d["params"]) - hidden :])
        descriptors = [p for p in params if p[1] == "tensordesc"]
        options = {
            "target": d["target"], "num_warps": d["num_warps"], "warp_size": d["threads_per_warp"],
            "cluster": d["cluster"] or (d["num_ctas"] or 1, 1, 1), "cooperative": d["cooperative"],
            "pdl": d["pdl"], "shared": shared if shared >= 0 else d["shared"], "hidden_pointers": hidden,
            "descriptor_flags": flags,
            "tensordesc_meta": (d["tensordesc_meta"] or None) if descriptors else None,
        }  # fmt: skip
        for scratch in ("global_scratch", "profile_scratch"):
            for what in ("size", "align"):
                options[f"{scratch}_{what}"] = d[f"{scratch}_{what}"]
        return self.load_code(params, options)

    def load_code(self, params: list, options: dict) -> _core.Kernel:
        """The code for parameters (name, kind, type, bits), ready to launch."""
        raise NotImplementedError

    def _check_scratch(self, own: list) -> None:
        # A buffer of unknown size does no harm as long as the code does not read its address.
        if all(p["unused"] for p in own):
            return
        if self.level in ("ptx", "llir"):
            raise fail(
                f"{self._who} uses scratch memory, and the {self.level} does not say how much",
                _GIVE_METADATA,
            )
        _warn(
            f"nothing says whether {self._who} uses scratch memory: launched without; its metadata "
            "file says it"
        )


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)
