"""Tests cases: a launch in a file that runs again, from a program, from torch.compile, from a launch that
stopped; and files that somebody made to do harm."""

import contextlib
import json
import pathlib
import struct
import sys
import zipfile

import numpy
import pages
import pytest
import warm

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from triton_runner import DiagnosticError, KernelTrap  # noqa: E402
from triton_runner._kernel.cases import archive, source, tensors  # noqa: E402
from triton_runner._kernel.cases.case import open_case  # noqa: E402
from triton_runner._memory.difference import tolerance  # noqa: E402
from triton_runner._pipeline import portable  # noqa: E402
from triton_runner.verbs.bisect import reproducer  # noqa: E402
from triton_runner.verbs.bisect.results import CompilerFault, Evidence, Found, NamedPass, Releases  # noqa: E402
from triton_runner.verbs.bisect.runs import BisectedProgram  # noqa: E402

LIMIT = tl.constexpr(7)


@triton.jit
def helper(x):
    return tl.minimum(x, LIMIT)


@triton.jit
def capped(x, out, n, shift, scale: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = helper(tl.load(x + i, mask=i < n, other=0)) * scale
    if shift is not None:
        value += tl.load(shift)
    tl.store(out + i, value.to(out.dtype.element_ty), mask=i < n)


@triton.jit
def unmasked(x, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i) * 2)


def launch_capped(n=100):
    generator = torch.Generator().manual_seed(1)
    whole = torch.randint(0, 20, (2 * n,), generator=generator, dtype=torch.int32)
    out = torch.zeros(n, dtype=torch.bfloat16)
    capped[(2,)](whole[n:], out, n, None, scale=3, B=64, num_warps=2)
    return out


@pytest.fixture(scope="module")
def case_file(tmp_path_factory):
    """A case of a launch of `capped`."""
    folder = tmp_path_factory.mktemp("cases")
    with triton_runner.capture(folder, verify=True, passes=True, report=True) as captured:
        launch_capped()
    (path,) = captured.cases
    return pathlib.Path(path)


def invoke(*command):
    answer = warm.invoke(*command)
    return answer.exit_code, answer.stdout + answer.stderr


def test_a_case_has_what_its_launch_had(case_file):
    case = triton_runner.open_case(case_file)
    about = case.about
    assert (about["kernel"], about["grid"], about["target"]) == ("capped", [2, 1, 1], "cuda:90")
    assert (
        about["verdict"] == "no fault found" and about["options"] == {"num_warps": 2} and about["notes"] == []
    )
    kinds = {one["name"]: one for one in about["arguments"]}
    assert set(kinds) == {"x", "out", "n"} and about["constants"] == {"shift": None, "scale": 3, "B": 64}
    assert (kinds["x"]["offset"], about["blocks"][kinds["x"]["block"]]["bytes"]) == (
        400,
        800,
    )  # a view stays one
    assert about["blocks"][kinds["out"]["block"]]["generator"] == {"kind": "repeat", "hex": "0000"}
    names = case.archive.names()
    assert {f"artifacts/capped.{level}" for level in ("ttir", "ttgir", "llir", "ptx", "cubin")} <= set(names)
    assert any(name.startswith("passes/") and "Coalesce" in name for name in names)
    assert case.archive.json("verify.json")["kernel"] == "capped"
    expected = tensors.unpacked(case.archive.bytes("expected.safetensors"))
    assert expected["out"].tobytes() == launch_capped().view(torch.int16).numpy().tobytes()


def test_a_case_has_its_page(case_file, tmp_path):
    case = triton_runner.open_case(case_file)
    (tmp_path / "in.html").write_bytes(case.archive.bytes("report.html"))
    status, said = invoke("report", case_file, "-o", tmp_path / "out.html")
    assert status == 0 and "out.html: capped" in said
    (inside,), (made,) = (pages.Read(tmp_path / name).kernels for name in ("in.html", "out.html"))
    assert made == inside
    assert {level["name"]: level["text"] for level in made["levels"]}["ptx"] == case.subject.texts["ptx"]
    assert len(made["passes"]) == len(case.archive.json("passes/passes.json")["passes"]) + 1
    assert pathlib.Path(__file__).read_text() in [file["text"] for file in made["files"]]


def test_a_page_shows_no_file_that_a_case_names(case_file, tmp_path):
    path = changed(case_file, tmp_path, "sources.json", b"{}")
    triton_runner.report(triton_runner.open_case(path), tmp_path / "out.html")
    (made,) = pages.Read(tmp_path / "out.html").kernels
    assert made["files"] and {file["text"] for file in made["files"]} == {None}
    path = changed(case_file, tmp_path, "passes/passes.json", b'{"passes": [{"number": "one"}, 3]}')
    with pytest.raises(DiagnosticError, match="its page cannot be made"):
        triton_runner.report(triton_runner.open_case(path), tmp_path / "out.html")


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
def test_a_case_runs_at_each_level(case_file, level):
    status, said = invoke("run", "--level", level, case_file)
    assert status == 0 and said.splitlines()[-1] == "right" and f"capped ({level})" in said


def test_a_level_that_a_case_lacks(case_file, tmp_path):
    place = tmp_path / "without.trcase"
    with zipfile.ZipFile(case_file) as old, zipfile.ZipFile(place, "w") as new:
        for name in old.namelist():
            if not name.endswith(".cubin"):
                new.writestr(name, old.read(name))
    status, said = invoke("run", "--device", "cpu", "--level", "cubin", place)
    assert status == 2 and "has no level cubin" in said and "ttir, ttgir, ptx" in said, said


def test_a_case_runs_with_a_release(case_file):
    status, said = invoke("run", "--triton", triton.__version__, "--level", "ttgir", case_file)
    lines = said.splitlines()
    assert status == 0 and lines[0] == f"capped (ttgir) by Triton {triton.__version__}, grid (2, 1, 1)"
    assert lines[-1] == "right"
    status, said = invoke("run", "--triton", triton.__version__, "--level", "cubin", case_file)
    assert status == 2 and "has no level cubin that another release's compilation runs at" in said


RACE = """
import torch, triton, triton.language as tl

@triton.jit
def race(x):
    tl.store(x, tl.load(x) + 1)

race[(4,)](torch.zeros(1))
"""


def test_bisect_names_the_case_and_not_where_it_was_unpacked(tmp_path):
    (tmp_path / "program.py").write_text(RACE)
    path = tmp_path / "race.trcase"
    plain = ("--no-passes", "--no-report", "--no-verify")
    assert invoke("bundle", "-o", path, *plain, tmp_path / "program.py")[0] == 0
    out = tmp_path / "found.json"
    status, said = invoke("bisect", "--json", out, "--save", tmp_path / "saved", path)
    found = json.loads(out.read_text())
    assert status == 1 and "triton-runner-case" not in said + out.read_text()
    assert f"at {path}/kernel.py:" in said and found["evidence"][0]["file"] == f"{path}/kernel.py"
    assert "nothing is written" in said and not (tmp_path / "saved").exists()


def test_a_reproducer_of_a_case_has_the_case(case_file, tmp_path):
    case = triton_runner.open_case(case_file)
    version = triton.__version__
    fields = {
        "verdict": "compiler", "level": "ttir", "stage": "make_ttir", "confirmed_by": [], "notes": [],
        "pass_": NamedPass("CSEPass", "cse", "passes.common.add_cse", 1),
        "release": Releases([version], [], []), "evidence": [Evidence("repro.py", kernel="capped")],
    }  # fmt: skip
    found = Found(**fields, faults=[CompilerFault(**fields)], target=case.target, runs=1)
    with case.extracted() as folder:
        program = BisectedProgram(str(folder / "repro.py"), target=case.target)
        reproducer.write(str(tmp_path / "saved"), program, found, str(case_file))
    saved = {path.name for path in (tmp_path / "saved").iterdir()}
    assert {case_file.name, "run.sh", "verdict.txt", "before.mlir", "after.mlir"} <= saved
    assert "repro.py" not in saved
    assert f"--target cuda:90 {case_file.name}" in (tmp_path / "saved" / "run.sh").read_text()


def test_a_case_is_judged_and_compared(case_file):
    assert triton_runner.verify(case_file).verdict == "no fault found"
    status, said = invoke("lockstep", "--levels", "ttir,ttgir", case_file)
    assert status == 0 and "no value differs" in said


def test_the_program_of_a_case_runs_alone(case_file, tmp_path):
    folder = triton_runner.open_case(case_file).archive.extract(tmp_path / "there")
    run = lambda *more: warm.run(  # noqa: E731
        [sys.executable, "repro.py", *more], cwd=folder, capture_output=True, text=True
    )
    done = run("--level", "ttgir")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    table = (folder / "repro.py").read_text().partition("\nTOLERANCE = ")[2]
    assert f"'float16': {tolerance('f16')}" in table and f"'bfloat16': {tolerance('bf16')}" in table
    kernel = folder / "kernel.py"
    kernel.write_text(kernel.read_text().replace("tl.minimum", "tl.maximum"))
    done = run()
    assert done.returncode == 1 and "WRONG: out:" in done.stdout


def test_the_python_of_a_kernel_stands_alone():
    text, name = source.module_of(portable.kernel(capped))
    assert name == "capped" and "LIMIT = tl.constexpr(7)" in text
    assert text.index("def helper") < text.index("def capped") and text.count("import triton\n") == 1


def test_names_that_mean_two_things_get_a_number():
    one = {
        "kind": "plain", "name": "f", "source": "def f(x):\n    return x + C\n", "options": {},
        "names": {"C": 1},
    }  # fmt: skip
    other = {**one, "name": "f", "names": {"C": 2}}
    top = {
        **one, "name": "k", "source": "def k(x):\n    return f(x) + g(x)\n",
        "names": {"f": {"function": 0}, "g": {"function": 1}},
    }  # fmt: skip
    text, _ = source.module_of({"functions": [one, other, top], "order": [0, 1, 2], "entry": 2})
    scope: dict = {}
    exec(text, scope)
    assert scope["k"](10) == (10 + 1) + (10 + 2)


def test_a_launch_that_stops_is_captured(tmp_path):
    x, out = torch.ones(100), torch.zeros(128)
    with triton_runner.capture(tmp_path, "trap") as captured, pytest.raises(KernelTrap):
        unmasked[(1,)](torch.ones(128), out, B=64)
        unmasked[(2,)](x, out, B=64)
    (path,) = captured.cases
    status, said = invoke("run", path)
    assert status == 1 and "out of bounds" in said and "argument 'x' (f32[100])" in said
    assert "out of bounds" in triton_runner.open_case(path).about["trap"]


def test_which_launches_are_captured(tmp_path):
    def launches():
        for value in (1.0, float("inf"), 2.0):
            unmasked[(1,)](torch.full((64,), value) * 0.0, torch.zeros(64), B=64)

    for when, wanted in (
        (None, 1),
        ("nan", 1),
        (lambda seen: seen.number > 0, 2),
        (lambda seen: (seen.after["out"] == 0).all(), 2),
        ("wrong", 0),
    ):
        with triton_runner.capture(tmp_path, when) as captured:
            launches()
        assert len(captured.cases) == wanted, when
    with triton_runner.capture(tmp_path, kernel="another") as captured:
        launches()
    assert captured.cases == []
    with pytest.raises(DiagnosticError, match="words: trap, nan, wrong"):
        triton_runner.capture(tmp_path, "sometimes")


def test_capturing_leaves_what_the_launch_left(tmp_path):
    with triton_runner.capture(tmp_path):
        out = launch_capped()
    assert torch.equal(out, launch_capped())


def test_arguments_that_do_not_fit_are_drawn_again(tmp_path):
    with triton_runner.capture(tmp_path, max_bytes=100) as captured:
        unmasked[(1,)](torch.randn(64) + 5, torch.zeros(64), B=64)
    case = triton_runner.open_case(captured.cases[0])
    (block,) = [block for block in case.about["blocks"] if block["generator"]["kind"] == "normal"]
    assert 4 < block["generator"]["mean"] < 6 and len(block["sha256"]) == 64
    assert "drawn again" in case.about["notes"][0]
    assert invoke("run", captured.cases[0])[0] == 0


def test_bundle_takes_one_launch_of_a_program(tmp_path):
    (tmp_path / "program.py").write_text(
        "import torch, triton, triton.language as tl, triton_runner\n"
        "@triton.jit\ndef fill(x, value, B: tl.constexpr):\n    tl.store(x + tl.arange(0, B), value)\n"
        "for value in (1.0, 2.0, 3.0): fill[(1,)](torch.zeros(64), value, B=64)\n"
    )
    out = tmp_path / "two.trcase"
    command = ["bundle", "--kernel", "fill", "--no-passes", "--no-verify", "--json", "-o", out]
    status, said = invoke(*command, "--launch", 1, tmp_path / "program.py")
    assert status == 0 and json.loads(said)["arguments"][1] == {
        "name": "value",
        "kind": "number",
        "value": 2.0,
    }
    status, said = invoke(*command, "--launch", 9, tmp_path / "program.py")
    assert status == 2 and "3 of fill were seen" in said
    status, said = invoke("bundle", "-o", tmp_path / "case.zip", tmp_path / "program.py")
    assert status == 2 and "a case is named *.trcase" in said


def test_a_kernel_of_torch_compile(tmp_path):
    import torch._inductor.config as config

    with config.patch(cpu_backend="triton"):
        torch._dynamo.reset()
        function = torch.compile(lambda x: torch.softmax(x * 2, -1))
        with triton_runner.capture(tmp_path) as captured:
            function(torch.randn(16, 40))
    assert captured.cases
    for path in captured.cases:
        assert invoke("run", "--level", "ptx", path)[0] == 0
        assert "kernel.py" in triton_runner.open_case(path).archive


# --- files that somebody made to do harm


def changed(case_file, tmp_path, name, content=None, **entry):
    """The case with another content of a file, or with one more."""
    path = tmp_path / "changed.trcase"
    with zipfile.ZipFile(case_file) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for one in old.infolist():
            if one.filename != name:
                new.writestr(one, old.read(one.filename))
        info = zipfile.ZipInfo(name)
        info.compress_type = zipfile.ZIP_DEFLATED
        for key, value in entry.items():
            setattr(info, key, value)
        new.writestr(info, content if content is not None else b"harm")
    return path


@pytest.mark.parametrize(
    "name",
    ["../out.txt", "/etc/out.txt", "a/../../out.txt", "C:/out.txt", "a\\..\\out.txt", ".hidden", "a//b",
     "a/./b", "nul\x01", "a/b/c/d/e/f", "", "artifacts/", "-rf"],
)  # fmt: skip
def test_names_that_leave_the_folder(case_file, tmp_path, name):
    with pytest.raises(DiagnosticError, match=r"no case has|no whole zip"):
        triton_runner.open_case(changed(case_file, tmp_path, name))


def test_links_devices_and_files_twice(case_file, tmp_path):
    link = changed(case_file, tmp_path, "link", b"/etc/passwd", external_attr=0o120777 << 16)
    with pytest.raises(DiagnosticError, match="link is a link or a device, not a plain file"):
        triton_runner.open_case(link)
    with pytest.raises(DiagnosticError, match="twice"):
        triton_runner.open_case(changed(case_file, tmp_path, "CASE.json"))


def test_a_bomb(case_file, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_RUNNER_UNPACK", str(4 << 20))
    assert triton_runner.open_case(case_file).name == "capped"
    bomb = changed(case_file, tmp_path, "big.bin", bytes(32 << 20))
    assert bomb.stat().st_size < 1 << 20
    with pytest.raises(DiagnosticError, match="TRITON_RUNNER_UNPACK"):
        triton_runner.open_case(bomb)
    # An entry that lies about its size, in the directory and in front of its data.
    data = bytearray(bomb.read_bytes())
    for signature, at in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        start = data.rindex(signature)
        data[start + at : start + at + 4] = struct.pack("<I", 10)
    bomb.write_bytes(data)
    with pytest.raises(DiagnosticError):
        triton_runner.open_case(bomb)


def test_files_that_share_their_bytes(case_file, tmp_path):
    """As bombs of the newer kind do: many entries of the directory that lead to the same data."""
    data = bytearray(case_file.read_bytes())
    first = data.index(b"PK\x01\x02")
    second = data.index(b"PK\x01\x02", first + 4)
    data[second + 42 : second + 46] = data[first + 42 : first + 46]
    path = tmp_path / "shared.trcase"
    path.write_bytes(data)
    with pytest.raises(DiagnosticError, match=r"shares bytes|no whole zip"):
        triton_runner.open_case(path)


def test_files_that_are_cut_off_or_changed(case_file, tmp_path):
    data = case_file.read_bytes()
    path = tmp_path / "cut.trcase"
    for size in (0, 10, len(data) // 2, len(data) - 10):
        path.write_bytes(data[:size])
        with pytest.raises(DiagnosticError, match=r"is not a case|not a complete zip file|cut off"):
            triton_runner.open_case(path)
    chance = numpy.random.default_rng(3)
    for _ in range(200):  # whatever is changed, it opens as a case or is a message
        broken = bytearray(data)
        for at in chance.integers(0, len(data), 3):
            broken[at] = chance.integers(256)
        path.write_bytes(broken)
        with contextlib.suppress(DiagnosticError):
            triton_runner.open_case(path)


def edited(case_file, tmp_path, edit):
    about = json.loads(zipfile.ZipFile(case_file).read("case.json"))
    edit(about)
    return changed(case_file, tmp_path, "case.json", json.dumps(about))


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda a: a.update(schema="triton-runner.case/9"), "reads triton-runner.case/1"),
        (lambda a: a.update(grid=[1, 1]), "its grid is"),
        (lambda a: a.update(grid=[1, 1, 1 << 40]), "its grid is"),
        (lambda a: a.update(kernel="../../x"), "has no text of that level"),
        (lambda a: a.update(kernel=3), "should be a text"),
        (lambda a: a["arguments"][0].update(offset=1 << 20), "cannot be read"),
        (lambda a: a["arguments"][0].update(offset=-8), "cannot be read"),
        (lambda a: a["arguments"][0].update(shape=[1 << 40]), "cannot be read"),
        (lambda a: a["arguments"][0].update(strides=[-2]), "cannot be read"),
        (lambda a: a["arguments"][0].update(block=99), "cannot be read"),
        (lambda a: a["arguments"][0].update(dtype="object"), "cannot be read"),
        (
            lambda a: a["arguments"].append({"name": "n", "kind": "number", "value": {"a": 1}}),
            "cannot be read",
        ),
        (lambda a: a["blocks"][1].update(bytes=1 << 50), "are allowed"),
        (lambda a: a["blocks"][1].update(bytes=-1), "a block of"),
        (lambda a: a["blocks"][1].update(generator={"kind": "exec"}), "unknown generator"),
        (lambda a: a["blocks"][1].update(generator={"kind": "repeat", "hex": ""}), "unknown generator"),
        (lambda a: a.update(blocks=None), "cannot be read"),
    ],
)
def test_descriptions_that_lie(case_file, tmp_path, edit, said):
    with pytest.raises(DiagnosticError, match=said):
        triton_runner.open_case(edited(case_file, tmp_path, edit))


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff" * 8, struct.pack("<Q", 1 << 60), struct.pack("<Q", 2) + b"[]",
     struct.pack("<Q", 90) + b'{"x": {"dtype": "I32", "shape": [4], "data_offsets": [0, 16]}}'.ljust(90),
     struct.pack("<Q", 90) + b'{"x": {"dtype": "I32", "shape": [-4], "data_offsets": [0, 0]}}'.ljust(90),
     struct.pack("<Q", 200000) + b"[" * 200000],
)  # fmt: skip
def test_arrays_that_lie(case_file, tmp_path, content):
    with pytest.raises(DiagnosticError, match="not safetensors"):
        triton_runner.open_case(changed(case_file, tmp_path, "arguments.safetensors", content))


def test_opening_and_running_a_case_runs_none_of_its_python(case_file, tmp_path):
    harm = tmp_path / "harm"
    path = changed(case_file, tmp_path, "kernel.py", f"open({str(harm)!r}, 'w')")
    triton_runner.open_case(path)
    assert invoke("run", path)[0] == 0 and not harm.exists()


def test_a_case_is_written_whole_or_not_at_all(tmp_path):
    with pytest.raises(DiagnosticError, match="cannot write"):
        archive.write(tmp_path / "no" / "folder.trcase", {"case.json": "{}"})
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DiagnosticError, match="is there already"):
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "file").write_text("")
        archive.write(tmp_path / "x.trcase", {"case.json": "{}"})
        archive.Archive(tmp_path / "x.trcase").extract(tmp_path / "full")


def test_a_case_is_bisected_and_compared(case_file):
    release = triton.__version__
    status, said = invoke("compare", "--versions", release, "--json", case_file)
    assert status == 0, said
    (cell,) = json.loads(said[said.index("{") :])["cells"]
    assert status == 0 and cell["release"] == release and cell["figures"]["equal"]
    status, said = invoke("bisect", "--versions", release, case_file)
    assert status == 0 and f"{case_file}: right in every release" in said


def test_lines_of_a_case(case_file):
    status, said = invoke("map", case_file)
    assert status == 0 and said.startswith("capped for cuda:") and "ttgir" in said, said
    status, said = invoke("map", "--line", "1", case_file)
    assert status == 2 and "--level says which" in said
    line = open_case(case_file).subject.texts["ttir"].split("tt.store")[0].count("\n") + 1
    status, said = invoke("map", "--line", line, "--level", "ttir", case_file)
    assert status == 0 and "tl.store(out + i" in said and "st.global" in said, said


def test_a_page_of_two_cases(case_file, tmp_path):
    status, said = invoke("report", case_file, "--against", case_file, "-o", tmp_path / "both.html")
    assert status == 0 and (tmp_path / "both.html").stat().st_size > 50_000, said


@pytest.mark.parametrize("verb", ["resources", "ledger", "passes", "compile", "exec"])
def test_verbs_that_take_no_case_say_which_do(verb, case_file):
    launch = ("--grid", "1", "--arg", "1") if verb == "exec" else ()
    status, said = invoke(verb, *launch, case_file)
    assert status == 2 and "is a case" in said and "report and map take it" in said, said


def test_options_behind_a_case(case_file):
    status, said = invoke("run", "--device", "cpu", case_file, "--level", "ptx")
    assert status == 0 and "capped (ptx)" in said, said
    status, said = invoke("verify", case_file, "--check", "oob", "--json")
    assert status == 0 and json.loads(said)["verdict"] == "no fault found", said
    status, said = invoke("run", case_file, "--lvel", "ptx")
    assert status == 2 and "--lvel" in said
