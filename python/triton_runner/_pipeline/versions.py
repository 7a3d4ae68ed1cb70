"""How Triton's releases differ where this package touches them: one row of data a release line, nothing
else."""

from __future__ import annotations

import dataclasses
import functools


@dataclasses.dataclass(frozen=True)
class Release:
    """One line of Triton releases.

    constexprs_passed: launches pass constexpr arguments too, and signatures spell them "constexpr".
    driver_fields: attributes of triton.runtime.driver that hold the default and the active driver.
    run_field: where CompiledKernel keeps its launcher.
    language_argument: Backend.add_stages takes the source language.
    benchmarker_from_driver: Autotuner asks the driver for its benchmark function.
    hooks_in_knobs: launch hooks live in triton.knobs.runtime, else on CompiledKernel.
    hidden_pointers: pointer parameters that compiled kernels have behind the caller's.
    descriptor_flags: i1 flags of a host tensor descriptor that travels in pieces; None: no host tensor
    descriptors.
    print_takes_signs: builder.create_print takes the signedness of each operand.
    loose_launches: launchers ignore arguments behind the last parameter, and pass an integer's low bits.
    """

    version: tuple[int, int]
    constexprs_passed: bool = True
    driver_fields: tuple[str, str] = ("_default", "_active")
    run_field: str = "_run"
    language_argument: bool = True
    benchmarker_from_driver: bool = True
    hooks_in_knobs: bool = True
    hidden_pointers: int = 2
    descriptor_flags: int | None = 2
    print_takes_signs: bool = True
    loose_launches: bool = True


_3_9 = Release((3, 9))
_row = functools.partial(dataclasses.replace, _3_9)
_lazy = ("default", "active")
_3_1 = _row(
    version=(3, 1),
    constexprs_passed=False,
    driver_fields=_lazy,
    run_field="run",
    language_argument=False,
    benchmarker_from_driver=False,
    hooks_in_knobs=False,
    hidden_pointers=0,
    descriptor_flags=None,
    print_takes_signs=False,
    loose_launches=False,
)
RELEASES = {
    release.version: release
    for release in (
        _3_1,
        dataclasses.replace(_3_1, version=(3, 0)),
        _row(
            version=(3, 2),
            constexprs_passed=False,
            driver_fields=_lazy,
            run_field="run",
            language_argument=False,
            hooks_in_knobs=False,
            hidden_pointers=0,
            descriptor_flags=None,
            loose_launches=False,
        ),
        _row(
            version=(3, 3),
            driver_fields=_lazy,
            run_field="run",
            language_argument=False,
            hooks_in_knobs=False,
            hidden_pointers=1,
            descriptor_flags=None,
            loose_launches=False,
        ),
        _row(
            version=(3, 4),
            driver_fields=_lazy,
            run_field="run",
            hidden_pointers=1,
            descriptor_flags=0,
            loose_launches=False,
        ),
        _row(version=(3, 5), descriptor_flags=1, loose_launches=False),
        _row(version=(3, 6), descriptor_flags=1, loose_launches=False),
        _row(version=(3, 7)),
        _row(version=(3, 8)),
        _3_9,
    )
}


def parse_version(text: str) -> tuple[int, int]:
    """(3, 4) of "3.4.0+git123"."""
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def release_of(version: str) -> Release:
    """The row for a version; an unknown newer one is treated as the newest known."""
    key = parse_version(version)
    return RELEASES.get(key) or RELEASES[max(RELEASES) if key > max(RELEASES) else min(RELEASES)]


@functools.cache
def installed() -> Release:
    """The row for the Triton that is installed."""
    import triton

    return release_of(triton.__version__)
