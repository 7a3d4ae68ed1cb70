"""Writes the results of `prove` as text."""

from __future__ import annotations

from triton_runner.verbs.prove.results import (
    NOTHING,
    PROPERTIES,
    PROVED,
    REFUTED,
    UNKNOWN,
    Answer,
    CounterExample,
    Proof,
    Proofs,
)

_MOST_REASONS = 4


def text_of(result: Proofs) -> str:
    lines = [line for proof in result.proofs for line in _proof(proof)]
    for reason in result.broken:
        lines.append(f"not as assumed: {reason.text}")
    for reason in result.left_out:
        lines.append(f"not looked at: {reason.text}{_at(reason)}")
    if not result.proofs and not result.left_out:
        lines.append("no kernel was launched: FILE.py:NAME looks at a kernel of a file without a launch")
    if result.status:
        lines.append(f"the program itself ended with status {result.status}")
    return "\n".join(lines)


def _proof(proof: Proof):
    yield f"{proof.kernel}, {proof.target}: {_verdicts(proof)} ({proof.seconds:.1f} s)"
    if proof.contradictory:
        yield "  the assumptions contradict each other, so that anything would be proved:"
        for one in proof.contradictory:
            yield f"    {one.text} ({one.place})"
        yield "  change or leave out one of them"
        return
    for answer in proof.answers:
        yield from _answer(answer)
    shown = [one for one in proof.assumptions if one.text]
    if shown and proof.answers:
        yield "  assumed:"
        for one in shown:
            yield f"    {one.text}" + (f" ({one.place})" if one.place and one.text not in one.place else "")


def _verdicts(proof: Proof) -> str:
    if proof.contradictory:
        return "nothing is proved"
    counts = [
        (verdict, sum(one.verdict == verdict for one in proof.answers))
        for verdict in (PROVED, REFUTED, UNKNOWN)
    ]
    return ", ".join(f"{count} {verdict}" for verdict, count in counts if count) or NOTHING


def verdicts_of(proof: Proof) -> str:
    """A line: what is proved, what is refuted, what is unknown."""
    words = {PROVED: [], REFUTED: [], UNKNOWN: []}
    for answer in proof.answers:
        words.get(answer.verdict, []).append(answer.property)
    told = "; ".join(f"{verdict}: {', '.join(names)}" for verdict, names in words.items() if names)
    told = "nothing, as the assumptions contradict each other" if proof.contradictory else told or NOTHING
    return f"{proof.kernel}: {told}"


def _answer(answer: Answer):
    yield f"  {answer.verdict:16} {PROPERTIES[answer.property]}"
    yield from (f"    where {one.text} ({one.place})" for one in answer.assumptions)
    if answer.verdict == REFUTED:
        yield f"    {launch_of(answer.counter_example)}:"
        yield from (f"      {line}" for line in answer.counter_example.report.splitlines())
    elif answer.verdict == UNKNOWN:
        for reason in answer.reasons[:_MOST_REASONS]:
            yield f"    {reason.text}{_at(reason)}"
        if len(answer.reasons) > _MOST_REASONS:
            yield f"    and {len(answer.reasons) - _MOST_REASONS} more (--json)"


def launch_of(example: CounterExample) -> str:
    numbers = ", ".join(f"{name} = {value}" for name, value in example.arguments.items())
    return f"by the launch {numbers}, grid {tuple(example.grid)}"


def _at(reason) -> str:
    return f" at {reason.file}:{reason.line}" if reason.line else ""
