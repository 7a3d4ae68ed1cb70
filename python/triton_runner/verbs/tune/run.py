"""Implements triton_runner.autotune(): Triton's, which with chip= ranks configurations by their estimated
time first."""

from __future__ import annotations

from triton_runner._base.errors import fail
from triton_runner._jit import jit
from triton_runner._kernel.cost.chips import chip_named
from triton_runner._programs.intercept import InterceptedLaunch
from triton_runner.verbs.tune.ranking import Ranker


def autotune(
    configs, key, *args, chip: str | None = None, top: int = 3, device: str | None = None,
    autotune_cubin_dir=None, **kwargs,
):  # fmt: skip
    """triton.autotune for kernels that take triton_runner's keywords too.

    - `chip`: "h200" ranks the configurations by their estimated time on that chip, as `triton-runner tune`
      does, before any is timed. Those that cannot win are left out.
    - `device`: None takes the first of that ranking, and needs no GPU; "cuda" lets the GPU time the `top`
      first ones. Without `chip` all are timed.
    - `autotune_cubin_dir`: a folder in which the compiled kernel of each winning configuration is saved.
      Later launches, also in other processes, load it from there without compiling or timing anything.
    """
    if chip is None:
        return jit.autotune(configs, key, *args, autotune_cubin_dir=autotune_cubin_dir, **kwargs)
    chip_named(chip)
    if prune := kwargs.pop("prune_configs_by", None):
        raise fail(f"chip= prunes configurations itself, and {', '.join(prune)} would too", "leave one out")
    ranker = Ranker(chip, top, device=None)
    tuned: list = []  # the tuner, once there is one

    def ranked(choices, named: dict, **keywords) -> list:
        names = [name for name in tuned[0].arg_names if name in named]
        launch = InterceptedLaunch(type(tuned[0]).run, tuned[0], [named[name] for name in names], keywords)
        rows = ranker.rank(launch).rows
        order = [row.options for row in rows if row.state == "estimated"]
        by_options = [(choice.all_kwargs(), choice) for choice in choices]
        found = [choice for options in order for own, choice in by_options if own == options]
        if not found:
            raise fail(
                f"no configuration of kernel '{launch.name}' could be estimated for {chip}",
                *dict.fromkeys(f"{row.state}: {row.text}" for row in rows),
            )
        return found[: top if device else 1]

    kwargs["prune_configs_by"] = {"early_config_prune": ranked}
    decorate = jit.autotune(configs, key, *args, autotune_cubin_dir=autotune_cubin_dir, **kwargs)

    def decorated(function):
        made = decorate(function)
        tuned.append(made if autotune_cubin_dir is None else made.fn)
        return made

    return decorated
