"""Turns proofs into what CI systems read: a check for each property of a kernel, an issue for each that is
refuted or unknown, with the launch that refutes it and what is assumed."""

from __future__ import annotations

from triton_runner._base.ci_files import Check, Issue, Suite
from triton_runner.verbs.prove.results import PROPERTIES, REFUTED, UNKNOWN, Answer, Proof, Proofs
from triton_runner.verbs.prove.text import launch_of

# An undecided answer is not a fault, and a check that was not made did not pass.
_STATES = {REFUTED: "failed", UNKNOWN: "skipped"}
RULES = {f"prove-{name}": f"For every size: {text}." for name, text in PROPERTIES.items()}


def suite_of(proofs: Proofs, subject: str, version: str) -> Suite:
    checks = [check for proof in proofs.proofs for check in checks_of(proof)]
    if proofs.status:
        checks.append(
            Check("exit status", subject, "error", f"the program ended with status {proofs.status}")
        )
    checks += [Check("assumptions", subject, "error", one.text) for one in proofs.broken]
    state = "skipped" if proofs.proofs else "error"
    checks += [Check("kernels", subject, state, f"not looked at: {one.text}") for one in proofs.left_out]
    if not checks:
        checks.append(Check("launches", subject, "error", "no kernel was launched"))
    return Suite("prove", subject, version, tuple(checks), subject, proofs.exit_status, RULES)


def checks_of(proof: Proof) -> list[Check]:
    if proof.contradictory:
        words = "; ".join(f"{one.text} ({one.place})" for one in proof.contradictory)
        why = f"the assumptions contradict each other: {words}"
        return [Check(proof.kernel, proof.kernel, "error", why, proof.seconds)]
    return [_check(proof, answer) for answer in proof.answers]


def _check(proof: Proof, answer: Answer) -> Check:
    name, state = f"{proof.kernel}: {PROPERTIES[answer.property]}", _STATES.get(answer.verdict, "passed")
    issues = issues_of(proof, answer)
    why = issues[0].message if issues else ""
    return Check(name, proof.kernel, state, why, answer.seconds, tuple(issues))


def issues_of(proof: Proof, answer: Answer) -> list[Issue]:
    """Says what a person should see of an answer; nothing where it is proved."""
    rule, assumed = f"prove-{answer.property}", _assumed(proof, answer)
    if answer.verdict == REFUTED:
        example = answer.counter_example
        text = (
            f"refuted for some sizes: {PROPERTIES[answer.property]}\n{launch_of(example)}\n{example.report}"
        )
        return [Issue(rule, "error", text + assumed, example.file, example.line, 0, proof.kernel)]
    if answer.verdict == UNKNOWN and answer.reasons:
        first = answer.reasons[0]
        reasons = "\n".join(dict.fromkeys(reason.text for reason in answer.reasons))
        text = f"neither proved nor refuted: {PROPERTIES[answer.property]}\n{reasons}"
        return [Issue(rule, "note", text + assumed, first.file, first.line, 0, proof.kernel)]
    return []


def _assumed(proof: Proof, answer: Answer) -> str:
    lines = [f"assumed: {one.text}" for one in (*proof.assumptions, *answer.assumptions) if one.text]
    return "".join(f"\n{line}" for line in lines)
