"""A reader of the page meets these first: the kernel with the fault, marks, units, scales, keys of colours,
the address, the focus, and paper. Two pages are made of the same program: all.html has all its kernels, and
one.html a kernel with its values and its profile."""

import json
import re
import types

import browsing
import pages
import pytest
import textmate
import warm
from browsing import Opened
from triton_runner._kernel.page import profiles

browser = browsing.browser
PROGRAM = """
import sys, torch, triton, triton.language as tl

@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

@triton.jit
def ratio(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + i, mask=i < n) / tl.load(y + i, mask=i < n)
    for step in range(3):
        total += step
    tl.store(out + i, total, mask=i < n)

@triton.jit
def beyond(out):
    tl.store(out + 60, 1.0)

x, y, out = torch.zeros(60), torch.ones(60), torch.zeros(60)
y[:8] = 0
x[40:43], y[40:43] = 1, 0
x[50], y[50] = -1, 0
double[(2,)](x, out, 60, BLOCK=32)
ratio[(2,)](x, y, out, 60, BLOCK=32)
if "all" in sys.argv:
    beyond[(1,)](out)
"""
LINE = next(i for i, line in enumerate(PROGRAM.splitlines(), 1) if "out + 60" in line)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    (folder / "two.py").write_text(PROGRAM)
    profile = warm.cli("profile", "--chip", "h200", "--replay", "--json", "two.py", check=True, cwd=folder)
    (folder / "profile.json").write_text(profile.stdout)
    warm.cli("report", "-o", "all.html", "two.py", "all", cwd=folder)
    command = "report -o one.html --kernel ratio --dump total --finding profile.json -t cuda:90 two.py"
    warm.cli(*command.split(), check=True, cwd=folder)
    return folder


@pytest.fixture
def shown(browser, folder):
    """Opens a page: shown("all.html#tab=launches"). At the end no script may have failed."""
    opened = []

    def opens(name, **options):
        file, _, place = name.partition("#")
        opened.append(Opened(browser, folder / file, f"#{place}" if place else "", **options))
        return opened[-1]

    yield opens
    for one in opened:
        one.page.close()
        assert not one.errors


def test_it_opens_on_the_kernel_and_the_line_with_the_fault(shown):
    made = shown("all.html")
    assert made.page.locator("#kernel-name").inner_text() == "beyond"
    row = made.page.locator("[data-level=python] .row.cur")
    assert row.get_attribute("data-line") == str(LINE) and "wrong" in row.get_attribute("class")
    assert "out of bounds in tt.store" in made.page.locator("#detail").inner_text()


def test_a_page_without_a_fault_opens_on_its_first_kernel(browser, folder):
    warm.cli("report", "-o", "right.html", "two.py", check=True, cwd=folder)
    made = Opened(browser, folder / "right.html")
    assert made.page.locator("#kernel-name").inner_text() == "double"
    assert made.page.locator(".row.blame").count() == 0 and made.page.locator("#pick .mark").count() == 0
    assert [text[0] for text in made.page.locator("#pick option").all_inner_texts()] == ["d", "r"]
    made.page.close()


def test_kernels_and_launches_with_faults_are_marked(shown):
    page = shown("all.html#tab=launches").page
    assert page.locator("#pick option").all_inner_texts() == ["double", "ratio", "● beyond"]
    marked = page.locator("#panel-launches tr", has=page.locator(".mark.wrong"))
    assert marked.count() == 1 and "beyond" in marked.inner_text() and "out of bounds" in marked.inner_text()


def test_a_launch_that_went_on_after_a_fault_is_marked(browser, folder):
    env = {"TRITON_RUNNER_OOB": "report"}
    assert not warm.cli("report", "-o", "on.html", "two.py", "all", variables=env, cwd=folder).returncode
    page = Opened(browser, folder / "on.html", "#tab=launches").page
    marked = page.locator("#panel-launches tr", has=page.locator(".mark.wrong"))
    assert marked.count() == 1 and "beyond" in marked.inner_text()
    assert "stopped" not in marked.inner_text() and "out of bounds" in marked.inner_text()
    page.close()


def test_notes_of_a_profile_are_no_red_findings(browser, folder, tmp_path):
    """A line that pays for more than its work is a note: its mark is a ring, and the tab is not red."""
    data = json.loads((folder / "profile.json").read_text())
    for launch in data["launches"]:
        for line in launch["lines"]:
            if launch["kernel"] == "ratio" and line["level"] == "python" and "tl.store" in line["text"]:
                line["causes"] = ["more sectors than its bytes need"]
    (tmp_path / "notes.json").write_text(json.dumps(data))
    command = (
        f"report -o {tmp_path}/notes.html --kernel ratio --finding {tmp_path}/notes.json -t cuda:90 two.py"
    )
    warm.cli(*command.split(), check=True, cwd=folder)
    page = Opened(browser, tmp_path / "notes.html").page
    badge = page.locator("#tab-findings .badge")
    assert "note" in badge.get_attribute("class") and "wrong" not in badge.get_attribute("class")
    assert page.locator("[data-level=python] .row.blame.note").count() == int(badge.inner_text()) >= 1
    assert page.locator(".row.blame.wrong, .mark.wrong").count() == 0
    # The mark of a hot line is seen on its heat.
    hot = page.locator("[data-level=python] .row.blame.note .number.heat").first
    mark = "(number) => [getComputedStyle(number, '::before').color, getComputedStyle(number).color]"
    assert len({*hot.evaluate(mark)}) == 1
    page.close()


def test_times_have_a_unit_that_shows_them(shown):
    page = shown("one.html#tab=profile").page
    table = page.locator("#panel-profile table", has_text="Warp instructions")
    (head,) = [text for text in table.locator("th").all_inner_texts() if text.startswith("At least")]
    assert head == "At least, ns ▾"
    column = table.locator("th").all_inner_texts().index(head)
    rows = [row.locator("td").all_inner_texts()[column] for row in table.locator("tbody tr").all()]
    times = [float(text.replace(",", "")) for text in rows]
    assert len(times) > 3 and all(times) and times == sorted(times, reverse=True)
    texts = page.evaluate("[0, 0.00031, 0.0662, 2.0691, 9999].map((us) => unitOf(2.0691).text(us))")
    assert texts == ["0", "0.31", "66.2", "2,069", "9,999,000"]
    assert page.evaluate("[0.002, 12, 12e3, 12e6].map((us) => unitOf(us).name)") == ["ns", "µs", "ms", "s"]


def test_lines_are_sorted_by_the_column_that_says_so(shown):
    page = shown("one.html#tab=profile").page
    table = page.locator("#panel-profile table", has_text="Warp instructions")
    table.get_by_role("button", name="Share").click()
    (head,) = table.locator("th[aria-sort=descending]").all_inner_texts()
    assert head == "Share ▾"
    shares = [float(row.locator("td").nth(3).inner_text()[:-2]) for row in table.locator("tbody tr").all()]
    assert shares == sorted(shares, reverse=True)


def instruction(address, share):
    return {"address": address, "share": share}


def heat_of(instructions, estimate=None):
    """The heat of a listing whose lines are 1, 2, ... by the addresses of its instructions."""
    launch = {"kernel": "k", "chip": "", "lines": [], "instructions": instructions, "estimate": estimate}
    known = types.SimpleNamespace(levels={"sass": types.SimpleNamespace(text="")}, files=[])
    lines = {one["address"]: number for number, one in enumerate(instructions, 1)}
    return profiles._heat(launch, known, lambda *_: lines)


def test_machine_code_that_runs_equally_often_is_not_hot():
    heat, scale = heat_of([instruction(16 * i, 0.1) for i in range(10)])
    assert {*heat["sass"].values()} == {1 / 16}
    assert scale["sass"] == {
        "of": "warp instructions",
        "least": pytest.approx(0.1),
        "most": pytest.approx(0.1),
    }
    # A loop of sixteen rounds is.
    heat, scale = heat_of([instruction(0, 0.02), instruction(16, 0.32), instruction(32, 0.02)])
    assert heat["sass"] == {1: 0.0625, 2: 1, 3: 0.0625}


def test_machine_code_is_hot_where_warps_wait():
    """If there is a replay, its cycles count: all reasons of an instruction together."""
    stalls = [instruction(0, 0.2), instruction(0, 0.1), instruction(16, 0.6), instruction(16, 0.05)]
    heat, scale = heat_of([instruction(16 * i, 0.5) for i in range(3)], {"stalls": stalls})
    assert heat["sass"].keys() == {1, 2} and heat["sass"][2] > 0.1
    assert heat["sass"][1] == pytest.approx(heat["sass"][2] * 0.3 / 0.65, abs=1e-3)
    assert scale["sass"]["of"] == "the cycles of the replay"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_heat_can_be_read(shown, scheme):
    """The number of a line on its heat has a contrast of 4.5 at least, from the coldest to the hottest."""
    page = shown("one.html", color_scheme=scheme).page
    ratios = page.evaluate(
        """() => {
          const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
            .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
            .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
          const parts = (text) => text.match(/[\\d.]+/g).map(Number);
          const number = document.querySelector("[data-level=sass] .number.heat"), out = [];
          const under = parts(getComputedStyle(number.closest(".pane")).backgroundColor);
          for (const heat of [0.01, 0.25, 0.5, 0.75, 1]) {
            number.style.setProperty("--heat", heat);
            const [r, g, b, alpha = 1] = parts(getComputedStyle(number).backgroundColor);
            const back = [r, g, b].map((c, i) => c * alpha + under[i] * (1 - alpha));
            const [x, y] = [light(back), light(parts(getComputedStyle(number).color))].sort((a, b) => b - a);
            out.push((x + 0.05) / (y + 0.05));
          }
          return out;
        }"""
    )
    assert len(ratios) == 5 and min(ratios) >= 4.5, ratios


def test_program_and_iteration_are_chosen_once_for_all_values(shown):
    page = shown("one.html#tab=values").page
    cards = page.locator("#panel-values .card.value")
    assert cards.count() >= 3
    assert page.get_by_label("Program", exact=True).locator("option").all_inner_texts() == [
        "0, 0, 0",
        "1, 0, 0",
    ]
    assert page.get_by_label("Iteration", exact=True).locator("option").all_inner_texts() == ["0", "1", "2"]
    summed = cards.filter(has_text="arith.addf").last
    for iteration, most in enumerate(("0", "1", "3")):  # the sums of the steps so far
        page.get_by_label("Iteration", exact=True).select_option(index=iteration)
        said = [text for text in cards.all_inner_texts() if ", iteration" in text]
        assert len(said) >= 2 and all(f"program 0, 0, 0, iteration {iteration}" in text for text in said)
        assert summed.locator(".ramp span").first.inner_text() == most
    page.get_by_label("Program", exact=True).select_option(index=1)
    assert all("program 1, 0, 0" in text for text in cards.all_inner_texts())
    page.get_by_label("The iteration before").click()
    assert "program 1, 0, 0, iteration 1" in summed.inner_text()


def test_a_value_of_another_loop_shows_the_nearest_record(shown):
    page = shown("one.html").page
    chosen = page.evaluate(
        """() => {
          const value = (...iterations) => ({ iterations, programs: iterations.map(() => [0, 0, 0]) });
          return [
            recordAt(value([0], [1], [2]), "0, 0, 0", [1]), recordAt(value([]), "0, 0, 0", [1]),
            recordAt(value([0, 0], [0, 1], [1, 0], [1, 1]), "0, 0, 0", [1]),
            recordAt(value([0], [1]), "0, 0, 0", [1, 5]), recordAt(value([0], [1]), "0, 0, 0", [7]),
            recordAt(value([0], [1]), "1, 0, 0", [0]) ?? "none",
          ];
        }"""
    )
    assert chosen == [1, 0, 2, 1, 1, "none"]


def test_infinities_of_both_signs_have_marks_of_their_own(shown):
    page = shown("one.html#tab=values").page
    card = page.locator("#panel-values .card.value").filter(has_text="arith.divf")
    assert "with 12 NaN, 3 +Inf, 1 −Inf" in card.inner_text()
    page.get_by_label("Program", exact=True).select_option(index=1)
    assert card.locator(".key span").all_inner_texts() == ["4 NaN", "3 +Inf", "1 −Inf"]
    colours = page.evaluate("MARKS.map((mark) => mark.colour.join())")
    assert len({*colours}) == 4
    # Element 8 of the second program is +Inf, element 18 is -Inf.
    drawn = card.locator("canvas.picture").evaluate(
        """(canvas) => [8, 18].map((i) => {
          const size = canvas.width / 32, pen = canvas.getContext("2d");
          return [...pen.getImageData(i * size, 0, 1, 1).data].slice(0, 3).join();
        })"""
    )
    assert drawn == [colours[1], colours[2]]


def test_keys_of_colours_are_always_in_sight(shown):
    page = shown("one.html").page
    for tab, words in {
        "levels": ["belongs to it", "chosen", "found", "dumped value", "share of the profile"],
        "passes": ["added", "removed"],
        "values": ["NaN", "+Inf", "−Inf", "masked", "least", "greatest"],
    }.items():
        page.locator(f"#tab-{tab}").click()
        legend = page.locator(f"#panel-{tab} .bar .key")
        legend.wait_for()
        assert all(word in legend.inner_text() for word in words), tab
        box = legend.bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 900, tab
    page.locator("#tab-layouts").click()
    card = page.locator("#panel-layouts .card").first
    assert "lane 0" in card.locator(".key").inner_text()
    card.get_by_role("button", name="Warp").click()
    assert "warp 0" in card.locator(".key").inner_text()


def test_escape_gives_the_focus_back(shown):
    page = shown("one.html").page
    where = "document.activeElement.closest('[data-level]')?.dataset.level ?? document.activeElement.id"
    page.locator("[data-level=ttgir] .code").focus()
    page.keyboard.press("/")
    page.keyboard.type("arith")
    assert page.evaluate(where) == "search" and page.locator(".row.hit").count()
    page.keyboard.press("Escape")
    assert page.evaluate(where) == "ttgir" and not page.locator(".row.hit").count()
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    assert page.evaluate(where) == "ttgir" and not page.locator("#keys").is_visible()


def test_the_address_keeps_the_place(shown):
    made = shown("all.html")
    made.page.locator("#pick").select_option(label="ratio")
    made.page.locator("#kernel-name", has_text="ratio").wait_for()
    made.page.locator("[data-level=ttgir] .row", has_text="arith.divf").first.click(
        position={"x": 90, "y": 6}
    )
    place = made.place()
    line = int(place.pop("line"))
    assert place == {"kernel": "ratio", "tab": "levels", "level": "ttgir"}
    again = shown(f"all.html#kernel=ratio&tab=levels&level=ttgir&line={line}")
    assert again.page.locator("#kernel-name").inner_text() == "ratio"
    row = again.page.locator("[data-level=ttgir] .row.cur")
    assert row.get_attribute("data-line") == str(line) and "arith.divf" in row.inner_text()
    assert again.lit() == made.lit()
    made.page.locator("#tab-passes").click()
    made.page.wait_for_selector("#panel-passes .row")
    made.page.evaluate("page.passes.showNumber(5)")
    assert made.place() == {"kernel": "ratio", "tab": "passes", "pass": "5"}
    # A link that is followed while the page is open.
    made.page.evaluate("location.hash = '#kernel=beyond&tab=resources'")
    made.page.locator("#kernel-name", has_text="beyond").wait_for()
    made.page.wait_for_selector("#tab-resources[aria-selected=true]")


@pytest.mark.parametrize(
    "place", ["#kernel=none&tab=none", "#level=ttgir&line=99999", "#line=x&level=__proto__", "#%"]
)
def test_an_address_that_the_page_does_not_have_opens_it_all_the_same(shown, place):
    made = shown(f"all.html{place}")
    assert made.page.locator("#kernel-name").inner_text() == "beyond"
    assert made.page.locator("#tab-levels").get_attribute("aria-selected") == "true"


def test_print_gives_every_level_in_full(shown):
    made = shown("one.html", color_scheme="dark")
    whole = made.page.evaluate(
        "Object.fromEntries(page.kernel.levels.map((level) => [level.name, level.text.split('\\n')]))"
    )
    made.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    made.page.emulate_media(media="print")
    sections = made.page.locator("#printed .printed")
    texts = {one.locator("h2").inner_text(): one.locator("pre") for one in sections.all()}
    assert {"TTIR of ratio", "TTGIR of ratio", "PTX of ratio", "SASS of ratio"} <= texts.keys()
    for level, lines in whole.items():
        (pre,) = (node for title, node in texts.items() if title.startswith(f"{level.upper()} "))
        assert pre.is_visible()
        rows = pre.locator("div").evaluate_all(
            "(rows) => rows.map((row) => row.lastChild && row.textContent)"
        )
        assert rows == [f"{number}{line}" for number, line in enumerate(lines, 1)], level
    assert not made.page.locator(".panes").is_visible() and not made.page.locator("#tabs").is_visible()
    colour = made.page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]")
    assert int(colour) > 128  # paper is white, whatever the screen was
    made.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert made.page.locator("#printed").count() == 0
    made.page.emulate_media(media="null")
    paper = made.page.pdf()
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) >= 4
    assert made.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_findings_of_another_kernel_are_not_shown_as_this_ones(folder):
    """The profile has two kernels, and the page has one: it shows that one's numbers, and names the other."""
    shown = pages.Read(folder / "one.html").kernels[0]
    launches = json.loads((folder / "profile.json").read_text())["launches"]
    (own,) = (launch for launch in launches if launch["kernel"] == "ratio")
    assert shown["profile"]["counters"]["instructions"] == own["counters"]["instructions"]
    assert [note for note in shown["notes"] if "findings and values of double are not shown" in note]


def test_colours_are_those_of_the_grammars(shown):
    """The page finds the parts of lines that the tests of the grammars find (helpers/textmate.py)."""
    page = shown("one.html").page
    texts = page.evaluate("Object.fromEntries(page.kernel.levels.map((level) => [level.name, level.text]))")
    texts["python"] = PROGRAM + 'text = """of\nlines""" + 1\n'
    texts["ptx"] += "/* a comment\n add.s32 */ add.s32 %r1, %r2, %r3;\n"
    for language, text in texts.items():
        grammar, lines = textmate.Grammar(language), text.split("\n")
        expected = [[list(part) for part in grammar.scopes(line)] for line in lines]
        found = page.evaluate(
            """([language, lines]) => {
              const grammar = grammars[language], opened = grammar.opened(lines);
              return lines.map((line, i) => grammar.parts(line, opened[i]).parts);
            }""",
            [language, lines],
        )
        assert found == expected, language
    row = page.locator("[data-level=ptx] .row", has_text="div.full").first
    assert "div" in row.locator(".t-op").all_inner_texts()
    assert row.locator(".t-name").first.inner_text().startswith("%")
