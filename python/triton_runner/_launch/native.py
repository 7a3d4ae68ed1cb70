"""Executor runs a kernel that enters below Triton's IR (LLIR, PTX, cubin, AMDGCN). Which values such a kernel
takes the core settles from its artifact (_core.ArtifactCode); what loads its code is a driver (gpu_driver.py)
or the SIMT engine (simt.py)."""

from __future__ import annotations

from types import SimpleNamespace

from triton_runner import _core, _settings
from triton_runner._base.errors import fail, warn
from triton_runner._worker.spelling import option

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


def launch_options(d: dict, block=None, cluster=None) -> dict:
    """Returns what a described artifact's launches have: shape, shared memory, tensor descriptors, and the
    scratch memory that Triton gives a kernel beside its arguments. block, cluster: where d does not say."""
    return {
        "block": block or (d["num_warps"] and (d["num_warps"] * (d["threads_per_warp"] or 32), 1, 1)),
        "cluster": cluster or d["cluster"] or (d["num_ctas"] or 1, 1, 1),
        "grid_of_blocks": d["grid_of_blocks"],
        "shared": d["shared"],
        "tensordesc_meta": d["tensordesc_meta"] or None,
        **{f"{of}_scratch_{what}": d[f"{of}_scratch_{what}"] for of in ("global", "profile")
           for what in ("size", "align")},
    }  # fmt: skip


class Executor:
    """The executor runs an artifact below Triton's IR: on the SIMT engine (simt.executor), or on a GPU
    (gpu_driver.executor).

    - `load(name, level, params, options)`: gives the code for parameters (name, kind, type, bits), ready to
      launch. It is called at the first launch, once for each set of argument types.
    - `mode()`: a number that says what of the settings in force changes the code.
    - `params`: all of the artifact's parameters, Triton's own included, with name and type as far as known.
    - `block`, `cluster`: as the caller gave them; `says_block`: the text says how many threads a block has.
    """

    def __init__(
        self, description: dict, load, device, mode=lambda: 0, block=None, cluster=None, says_block=False
    ):
        self.description = description
        self.name = description["name"]
        self._who = f"kernel '{self.name}'"
        self.level = description["level"]
        self.target = description["target"]
        self.device = device
        self.block, self.cluster = block, cluster
        self.params = [
            SimpleNamespace(
                name=p["name"] or f"arg{i}", type=p["type"] or f"b{8 * p['bytes']}", bits=8 * p["bytes"]
            )
            for i, p in enumerate(description["params"])
        ]  # fmt: skip
        self._load_code, self._mode = load, mode
        self._code = _core.ArtifactCode(description)
        if block is None and not says_block:
            self._check_complete()

    def launch(self, grid, named: list, options: _core.Options) -> None:
        """Queues a launch with (name, value) pairs, constexprs left out, on options.stream."""
        self._code.launch(grid, named, options, self._mode(), self._load)

    def settle(self, named: list) -> tuple[list, int]:
        """The (name, value) pairs that the artifact takes, tuples taken apart; and how many pointers of
        Triton's own follow."""
        return self._code.settle(named)

    def code_for(self, named: list) -> tuple:
        """(the code that a launch with (name, value) pairs runs, names of the values that it takes)."""
        return self._code.plan(named, _settings.current().shared, self._mode(), self._load)

    def resources(self) -> dict:
        """n_regs, n_spills, max_threads and shared of the code as loaded; empty before the first launch."""
        for kernel in self._code.loaded:
            return {name: getattr(kernel, name) for name in ("n_regs", "n_spills", "max_threads", "shared")}
        return {}

    def _check_complete(self) -> None:
        missing = self.description["missing"]
        if "num_warps" in missing:
            raise fail(
                f"{self._who}: the {self.level} does not say how many threads a block has",
                f"give {option('block', '128', '(128, 1, 1)')}, or {_GIVE_METADATA}",
            )
        if "num_ctas" in missing:
            warn(
                f"nothing says whether {self._who} runs in clusters: launched without (num_ctas = 1); a "
                "metadata file says it"
            )

    def _load(self, params: list, hidden: int, shared: int, flags: int) -> _core.Kernel:
        d = self.description
        if hidden and d["global_scratch_size"] is None:
            self._check_scratch(d["params"][len(d["params"]) - hidden :])
        options = launch_options(d, self.block, self.cluster) | {
            "target": d["target"], "cooperative": d["cooperative"], "pdl": d["pdl"],
            "hidden_pointers": hidden, "descriptor_flags": flags,
        }  # fmt: skip
        if shared >= 0:
            options["shared"] = shared
        if not any(kind == "tensordesc" for _, kind, *_ in params):
            options["tensordesc_meta"] = None
        return self._load_code(self.name, self.level, params, options)

    def _check_scratch(self, own: list) -> None:
        # A buffer of unknown size does no harm as long as the code does not read its address.
        if all(p["unused"] for p in own):
            return
        if self.level in ("ptx", "llir"):
            raise fail(
                f"{self._who} uses scratch memory, and the {self.level} does not say how much",
                _GIVE_METADATA,
            )
        warn(
            f"nothing says whether {self._who} uses scratch memory: launched without; its metadata "
            "file says it"
        )
