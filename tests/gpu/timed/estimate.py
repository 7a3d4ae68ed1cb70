"""The launches of launches.py, estimated, beside what measure.py measured of them.

    estimate.py trace OUT [--only TEXT] [--part 0/2]    runs some programs of each; needs Triton 3.6
    estimate.py compare OUT MEASURED [--record]         replays them: errors by kind, groups

`trace` writes a file a launch (listing, trace, grid), so that `compare` needs no Triton; it runs under
`triton-runner run --device cpu --level cubin --target cuda:90 --pretend-cuda`. Pairs are by (item, kernel,
nth), where the machine code is the measured one. FITTED are the kernels that parameters may be fitted on: at
most a fifth of all. The others are the test.
"""

import argparse
import dataclasses
import json
import math
import pathlib
import pickle
import statistics
import sys
import traceback

HERE = pathlib.Path(__file__).resolve().parent
FITTED = (
    "nothing", "add", "chase", "copy_strided", "special", "polynomial", "doubles", "gather", "row_sum",
    "product", "chunk_fwd_kernel_o", "cumulative", "sort_rows", "histogram",
)  # fmt: skip


def trace(options) -> None:
    """Runs in front of the launches of ITEMS: each is traced, and not launched."""
    sys.path.insert(0, str(HERE))
    import launches
    from measure import code_of
    from triton_runner._artifact.relaunch import of_call
    from triton_runner._core import probe
    from triton_runner._kernel.cost import chips
    from triton_runner._kernel.cost.replay import subject_of
    from triton_runner._launch.launchers import observe

    options.out.mkdir(parents=True, exist_ok=True)
    item, seen = "", {}

    def watch(call, go):
        launch = dataclasses.replace(of_call(call), assembled=True)
        nth = seen[launch.name] = seen.get(launch.name, -1) + 1
        path = options.out / f"{item} {launch.name} {nth}.pickle".replace("/", "_")
        try:
            subject = subject_of(launch, chips.chip_named("h200"))
        except Exception as error:
            print(f"{item} {launch.name} {nth}: {type(error).__name__} {error}", flush=True)
            return None
        fields = dataclasses.asdict(dataclasses.replace(subject, what=None))
        what = subject.what
        fields |= {
            "item": item, "nth": nth, "grid": list(launch.grid), "listing": what.listing,
            "code": code_of(launch.texts["cubin"], launch.name),
            "memory": what.memory, "trace": probe.trace_bytes(what.observer),
        }  # fmt: skip
        path.write_bytes(pickle.dumps(fields))
        return None

    observe(watch)
    mine, parts = map(int, options.part.split("/"))
    for at, (name, function) in enumerate(launches.ITEMS.items()):
        if options.only not in name or at % parts != mine:
            continue
        item = name
        seen.clear()
        launches.randn.cache_clear()
        launches.integers.cache_clear()
        try:
            function("cuda")
        except Exception:
            print(f"{name}: {traceback.format_exc(limit=-1)}", flush=True)


@dataclasses.dataclass
class Pair:
    """A launch, traced and measured."""

    item: str
    kernel: str
    nth: int
    subject: object
    measured: dict

    @property
    def cycles(self) -> float:
        return self.measured["ncu"]["sm__cycles_elapsed.max"]

    @property
    def clock(self) -> float:
        return self.measured["ncu"]["sm__cycles_elapsed.avg.per_second"]

    @property
    def is_fitted(self) -> bool:
        return self.kernel in FITTED


def pairs(options) -> list[Pair]:
    from triton_runner import _core
    from triton_runner._core import probe
    from triton_runner._kernel.cost.counting import Traced
    from triton_runner._kernel.cost.replay import ReplayedLaunch

    rows = [json.loads(line) for line in options.measured.read_text().splitlines()]
    measured = {(row["item"], row["kernel"], row["nth"]): row for row in rows}
    out, other = [], 0
    for path in sorted(options.out.glob("*.pickle")):
        if options.only not in path.name:
            continue
        fields = pickle.loads(path.read_bytes())
        row = measured.get((fields["item"], fields["kernel"], fields["nth"]))
        grid = (fields["grid"] + [1, 1])[:3]
        if row is None or not row.get("ncu") or row["code"] != fields["code"] or row["grid"] != grid:
            other += 1
            continue
        observer = probe.CountObserver()
        probe.give_trace(observer, fields["trace"])
        listing = fields["listing"]
        rows = _core.sass.parse_kernel(listing, fields["kernel"]).instructions
        what = Traced(observer, rows, listing, fields["memory"])
        subject = ReplayedLaunch(fields["kernel"], fields["total"], fields["blocks"], fields["shared"], what)
        out.append(Pair(fields["item"], fields["kernel"], fields["nth"], subject, row))
    print(f"{len(out)} pairs; {other} without a measurement of the same machine code", flush=True)
    return out


def estimated(pair: Pair, chip, changed: dict | None = None):
    """At the clock at which it was measured."""
    from triton_runner._kernel.cost import timing
    from triton_runner._kernel.cost.replay import estimate_of

    numbers = timing.parameters(chip.name, pair.clock) | (changed or {})
    return estimate_of(pair.subject, chip, numbers, clock=pair.clock)


def tau(left: list[float], right: list[float]) -> float:
    """Kendall's."""
    agree = total = 0
    for i in range(len(left)):
        for j in range(i):
            if left[i] != left[j] and right[i] != right[j]:
                total += 1
                agree += 1 if (left[i] < left[j]) == (right[i] < right[j]) else -1
    return agree / total if total else 1.0


def percentile(values: list[float], part: float) -> float:
    values = sorted(values)
    return values[min(len(values) - 1, math.ceil(part * len(values)) - 1)]


def table(rows: list[dict]) -> dict:
    """Errors by kind, and of groups of configurations."""
    out = {}
    by_kind = {"all": rows, "5 us and more": [row for row in rows if row["us"] >= 5]}
    for row in rows:
        by_kind.setdefault(row["kind"], []).append(row)
    for kind, members in by_kind.items():
        if not members:
            continue
        errors = [abs(row["error"]) for row in members]
        out[kind] = {
            "launches": len(members), "kernels": len({row["kernel"] for row in members}),
            "mean": round(statistics.mean(errors), 4), "p90": round(percentile(errors, 0.9), 4),
            "bias": round(statistics.mean(row["error"] for row in members), 4),
        }  # fmt: skip
    groups: dict[str, list[dict]] = {}
    for row in rows:
        if " @ " in row["item"]:
            groups.setdefault(f"{row['item'].split(' @ ')[0]} {row['kernel']}", []).append(row)
    ranked = {}
    for name, members in groups.items():
        if len(members) < 4:
            continue
        ours, theirs = [r["estimate"] for r in members], [r["cycles"] for r in members]
        chosen = theirs[ours.index(min(ours))]
        regret = round(chosen / min(theirs) - 1, 4)
        ranked[name] = {"configurations": len(members), "tau": round(tau(ours, theirs), 3), "regret": regret}
    if ranked:
        out["groups"] = ranked
        out["median tau"] = statistics.median(one["tau"] for one in ranked.values())
        out["median regret"] = statistics.median(one["regret"] for one in ranked.values())
    return out


def compare(options) -> None:
    from triton_runner._kernel.cost import chips

    chip, rows = chips.chip_named(options.chip), []
    for pair in pairs(options):
        one = estimated(pair, chip)
        row = {
            "item": pair.item, "kernel": pair.kernel, "nth": pair.nth, "cycles": pair.cycles,
            "estimate": one.cycles, "error": round(one.cycles / pair.cycles - 1, 4), "kind": one.kind,
            "bound_by": one.bound_by, "us": round(pair.cycles / pair.clock * 1e6, 2),
            "fitted": pair.is_fitted,
        }  # fmt: skip
        rows.append(row)
        if options.verbose:
            about = f"{one.kind:<14} {one.bound_by[:28]:<28} {pair.item} {pair.kernel}"
            print(f"{row['error']:>+7.1%} {pair.cycles:>11,.0f} {about}", flush=True)
    test = [row for row in rows if not row["fitted"]]
    result = {"chip": options.chip, "test": table(test), "fitted": table([r for r in rows if r["fitted"]])}
    print(json.dumps(result, indent=1))
    if options.record:
        record(options, result, rows)


def record(options, result: dict, rows: list[dict]) -> None:
    """Into results/timed.json, and the page that shows it."""
    sys.path.insert(0, str(HERE.parents[1] / "suite"))
    import results

    test = result["test"]
    kinds = [name for name in test if "mean" in (test[name] if isinstance(test[name], dict) else {})]
    fields = ("launches", "kernels", "mean", "p90", "bias")

    def shown(one: dict) -> list[str]:
        return [f"{one[f]:.1%}" if isinstance(one[f], float) else str(one[f]) for f in fields]

    columns = ["kind", "launches", "kernels", "mean error", "90th percentile", "mean, with its sign"]
    body = [[kind, *shown(test[kind])] for kind in kinds]
    body.append(["of the fitted kernels, all", *shown(result["fitted"]["all"])])
    of_group = [
        [name, str(one["configurations"]), f"{one['tau']:.2f}", f"{one['regret']:.1%}"]
        for name, one in test["groups"].items()
    ]
    every, tau_of, regret = test["all"], test["median tau"], test["median regret"]
    figures = {
        "result": f"{every['launches']} launches of {every['kernels']} kernels: mean error "
        f"{every['mean']:.1%}, 90th percentile {every['p90']:.1%}; over the configurations of "
        f"{len(of_group)} kernels Kendall's tau {tau_of:.2f}, regret {regret:.1%} (medians)"
    }
    key, command = options.chip, "python tests/gpu/timed/estimate.py compare OUT MEASURED"
    about = {"machine": f"an {options.chip.upper()}, Triton 3.6.0, ncu"}
    what = f"estimates of cycles beside ncu's, {options.chip.upper()}: launches that nothing was fitted on"
    data = [[r["item"], r["kernel"], r["nth"], r["cycles"], r["estimate"], r["kind"]] for r in rows]
    results.record(
        "timed", key, what, command, figures, table={"columns": columns, "rows": body}, data=data, **about
    )
    groups = {
        "columns": ["kernel and problem", "configurations", "Kendall's tau", "regret"],
        "rows": of_group,
    }
    results.record(
        "timed", f"{key}-groups", f"configurations of one kernel, {options.chip.upper()}", command, figures,
        table=groups, **about,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["trace", "compare"])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("measured", type=pathlib.Path, nargs="?")
    parser.add_argument("--chip", default="h200")
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--record", action="store_true", help="keep the result (results/timed.json)")
    parser.add_argument("--verbose", "-v", action="store_true")
    options = parser.parse_args()
    {"trace": trace, "compare": compare}[options.what](options)


if __name__ == "__main__":
    main()
