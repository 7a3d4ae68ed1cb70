"""Tests --junit, --sarif and --github of verify, compare and bisect: what CI systems read, beside the
verb's own answer and exit status."""

import json
import re
import xml.etree.ElementTree as xml

import kernels_in_text
import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")
from triton_runner._base import ci_files
from triton_runner._base.ci_files import Check, Issue, Suite
from triton_runner._pipeline import versions
from triton_runner._programs import ci as ci_options
from triton_runner.verbs.bisect.results import CompilerFault, Evidence, Found, NamedPass, Releases, Unjudged

PROGRAM = f"""{kernels_in_text.TEXT}
if __name__ == "__main__":
    x, out = torch.arange(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    double[(1,)](x, out, N=64)
    racy[(2,)](out, N=64)
    racy[(3,)](out, N=64)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "ends.py").write_text("import sys\nsys.exit(3)\n")
    return tmp_path


def ran(*words):
    """(exit status, stdout, stderr, the JUnit tree, the SARIF run) of a verb."""
    answer = warm.invoke(words[0], "--junit", "j.xml", "--sarif", "s.sarif", *words[1:])
    assert isinstance(answer.exception, SystemExit | None), answer.exception
    with open("s.sarif") as file:
        sarif = json.load(file)
    check_sarif(sarif)
    return answer.exit_code, answer.stdout, answer.stderr, xml.parse("j.xml").getroot(), sarif["runs"][0]


def check_sarif(document: dict) -> None:
    """Checks what the schema of SARIF 2.1.0 asks of the parts that are used."""
    assert document["version"] == "2.1.0" and set(document) == {"$schema", "version", "runs"}
    (run,) = document["runs"]
    assert set(run) <= {"tool", "invocations", "columnKind", "results"}
    driver = run["tool"]["driver"]
    assert driver["name"] == "triton-runner" and re.fullmatch(r"\d+\.\d+\.\d+", driver["version"])
    names = [rule["id"] for rule in driver["rules"]]
    assert len(set(names)) == len(names) and all(rule["shortDescription"]["text"] for rule in driver["rules"])
    assert isinstance(run["invocations"][0]["executionSuccessful"], bool)
    for result in run["results"]:
        assert names[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note") and result["message"]["text"]
        assert result["occurrenceCount"] >= 1
        for location in result.get("locations", ()):
            physical = location["physicalLocation"]
            assert physical["region"]["startLine"] >= 1 and physical["region"].get("startColumn", 1) >= 1
            uri = physical["artifactLocation"]
            assert (uri.get("uriBaseId") == "%SRCROOT%") != uri["uri"].startswith("file://")
            assert " " not in uri["uri"]
    prints = [result["partialFingerprints"]["tritonRunnerFinding/v1"] for result in run["results"]]
    assert len(set(prints)) == len(prints)


def counts(tree) -> tuple:
    (suite,) = tree
    cases = suite.findall("testcase")
    told = [len(suite.findall(f"testcase/{tag}")) for tag in ("failure", "error", "skipped")]
    assert [suite.get(name) for name in ("failures", "errors", "skipped")] == list(map(str, told))
    assert suite.get("tests") == tree.get("tests") == str(len(cases))
    return len(cases), *told


def test_verify(folder):
    status, out, _, tree, run = ran("verify", "--check", "race", "--github", "program.py")
    assert status == 1 and "verdict: wrong" in out
    assert counts(tree) == (3, 2, 0, 0)
    failure = tree.find("testsuite/testcase[@classname='racy']/failure")
    assert failure.get("type") == "order" and "data race in tt.store at" in failure.text
    race = next(result for result in run["results"] if result["ruleId"] == "race")
    where = race["locations"][0]
    assert where["physicalLocation"] == {
        "artifactLocation": {"uri": "program.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 11, "startColumn": 5},
    }  # fmt: skip
    assert where["logicalLocations"] == [{"name": "racy", "kind": "function"}]
    assert race["occurrenceCount"] == 2 and race["level"] == "error"  # one line, two launches
    lines = [line for line in out.splitlines() if line.startswith("::")]
    assert any(line.startswith("::error file=program.py,line=11,col=5,title=") for line in lines), lines


def test_with_json_the_annotations_go_elsewhere(folder):
    _, out, err, *_ = ran("verify", "--check", "race", "--github", "--json", "program.py")
    assert json.loads(out)["verdict"] == "wrong" and "::error file=program.py" in err


def test_a_program_that_launches_nothing_is_not_green(folder):
    status, _, _, tree, run = ran("verify", "ends.py")
    assert status == 125 and counts(tree) == (1, 0, 1, 0)
    (result,) = run["results"]
    assert result["ruleId"] == "not-judged" and "ended with status 3" in result["message"]["text"]
    assert run["invocations"][0] == {"executionSuccessful": False, "exitCode": 125}


def test_compare(folder):
    kernel = ("program.py:double", "-s", "*i32:16, *i32:16, 64")
    words = ("-t", "cuda:90", "--fail-if", "registers > 1", "--fail-if", "spills > 0", "--github")
    status, out, _, tree, run = ran("compare", *kernel, *words)
    assert status == 1 and counts(tree) == (1, 1, 0, 0)
    assert "--fail-if 'registers > 1'" in tree.find("testsuite/testcase/failure").get("message")
    (result,) = run["results"]
    assert result["ruleId"] == "fail-if"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 5  # its def
    assert "::error file=program.py,line=5,title=triton-runner%3A fail-if in double::" in out


def test_bisect(folder):
    status, out, _, tree, run = ran("bisect", "--versions", versions.installed(), "--github", "ends.py")
    assert status == 1, out
    assert counts(tree) == (1, 1, 0, 0) and "kernel" in out
    assert run["results"][0]["ruleId"] == "bisect-kernel"


def fault(verdict: str, release: Releases | None, **more) -> dict:
    fields = {"verdict": verdict, "release": release, "level": None, "stage": None, "pass_": None}
    return {**fields, "confirmed_by": [], "evidence": [], "notes": [], **more}


def test_a_fault_of_the_compiler_stands_at_its_line():
    one = NamedPass("TritonGPUCoalesce", "tritongpu-coalesce", "add_coalesce", 1)
    releases = Releases(["3.4.0", "3.5.0"], ["3.6.0"], [Unjudged("3.3.0", "it does not install")])
    of = {"level": "ttgir", "stage": "make_ttgir", "pass_": one, "notes": ["a note"]}
    of["evidence"] = [Evidence("kernel.py", "tt.store", 7)]
    inner = CompilerFault(**fault("compiler", releases, **of))
    found = Found(**fault("compiler", releases, **of, faults=[inner]), target="cuda:90", runs=9)
    suite = ci_options.of_bisection(found, "program.py", 1, "0.1.0")
    states = [(check.name, check.state) for check in suite.checks]
    assert states == [("Triton 3.6.0", "passed"), ("Triton 3.4.0", "failed"), ("Triton 3.5.0", "failed"),
                      ("Triton 3.3.0", "skipped")]  # fmt: skip
    ((issue, count),) = suite.issues.items()
    assert (issue.file, issue.line, count) == ("kernel.py", 7, 2)
    assert "first wrong at ttgir, in make_ttgir, pass TritonGPUCoalesce" in issue.message


@pytest.mark.parametrize(
    "verdict, status, state", [("undefined", 1, "failed"), ("unknown", 125, "error"), ("right", 0, "passed")]
)
def test_a_verdict_that_no_release_shows(verdict, status, state):
    unknown = [Unjudged("3.9.0", "it crashes")] if verdict == "unknown" else []
    releases = Releases([], [] if unknown else ["3.9.0"], unknown)
    found = Found(**fault(verdict, releases), target="cuda:90", runs=1)
    suite = ci_options.of_bisection(found, "program.py", status, "0.1.0")
    assert suite.checks[-1].state == state, suite


AWKWARD = Suite(
    "verify", "a & <b>", "1.2.3",
    (
        Check("x\x00y", "k", "failed", "50% of it\nmore", 1.5,
              (Issue("race", "error", "50%: a,b\r\nc", "/else where/k.py", 3, 2, "k"),
               Issue("inf", "warning", "may be meant", "k.py", 4))),
        Check("alone", "k", "error", "nothing ran"),
        Check("later", "k", "skipped", "no such release"),
    ),
)  # fmt: skip


def test_characters_that_mean_something(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tree = xml.fromstring(ci_files.junit(AWKWARD))
    assert counts(tree) == (3, 1, 1, 1)
    assert tree[0].get("name") == "a & <b>" and tree[0][0].get("name") == "x\ufffdy"
    assert tree[0][0].find("system-out").text == "warning, inf: may be meant"
    document = json.loads(ci_files.sarif(AWKWARD))
    check_sarif(document)
    uris = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            for r in document["runs"][0]["results"] if "locations" in r]  # fmt: skip
    assert "file:///else%20where/k.py" in uris and "k.py" in uris
    assert ci_files.annotations(AWKWARD) == [
        "::error file=/else where/k.py,line=3,col=2,title=triton-runner%3A race in k::50%25: a,b%0D%0Ac",
        "::error title=triton-runner%3A not-judged::alone: nothing ran",
        "::warning file=k.py,line=4,title=triton-runner%3A inf::may be meant",
    ]


@pytest.mark.parametrize("verb", ["verify", "bisect", "compare"])
def test_a_place_that_cannot_be_written_is_refused_before_the_work(verb, folder):
    for option in ("--junit", "--sarif"):
        answer = warm.invoke(verb, option, "no/such/file", "program.py")
        assert answer.exit_code == 2 and "cannot write no/such/file" in answer.stderr, answer.output
