"""Tests the page in a browser, headless: what it lights against the source map, keys alone, speed, and that
markup in a kernel stays text."""

import random
import statistics

import browsing
import pages
import pytest
import triton_runner
import warm
from browsing import Opened

browser = browsing.browser
# The times that people feel, in milliseconds; ten times that fails, as a slow machine is no fault.
FIRST_PAINT, INTERACTION, SLACK = 1000, 50, 10
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


@pytest.fixture(scope="module")
def trace():
    return pages.attention()


@pytest.fixture(scope="module")
def path(trace, tmp_path_factory):
    return triton_runner.report(trace, tmp_path_factory.mktemp("page") / "out.html")


@pytest.fixture
def opened(browser, path):
    made = Opened(browser, path)
    yield made
    made.page.close()
    assert not made.errors
    assert made.asked == [f"file://{path}"]  # and nothing else, from nowhere


def test_what_is_lit_is_what_the_map_says(opened, trace):
    made = triton_runner.source_map(trace)
    chosen = random.Random(19)
    for level, one in made.levels.items():
        for line in chosen.sample(sorted(one.rows), 12):
            opened.page.evaluate("([level, line]) => page.levels.light({name: level, line})", [level, line])
            wanted = made.counterparts(level, line)
            wanted[level] = sorted([*wanted[level], line])
            found = opened.lit()
            python = found.pop("python")
            assert found == wanted, (level, line)
            frames = [frame for p in one.rows[line].places for frame in made.stack(p)]
            assert python == sorted({n for file, n, _ in frames if file == made.main_file})
    for line in chosen.sample(range(12, 83), 20):
        opened.page.evaluate("(line) => page.levels.light({name: 'python', line})", line)
        found = opened.lit()
        del found["python"]
        assert found == made.of_source(line), line


def test_pointing_lights_the_rows_on_the_screen(opened, trace):
    row = opened.page.locator("[data-level=ttgir] .row", has_text="tt.make_range").first
    row.hover(position={"x": 20, "y": 6})
    opened.page.wait_for_selector("[data-level=ttgir] .row.lit")
    assert "lit" in row.get_attribute("class")
    row.click(position={"x": 20, "y": 6})
    assert row.get_attribute("aria-selected") == "true"
    for level in ("python", "ptx", "sass"):
        assert opened.page.locator(
            f"[data-level={level}] .row.lit, [data-level={level}] .row.lit2"
        ).count(), level


def test_keys_alone(opened):
    page = opened.page
    page.keyboard.press("/")
    page.keyboard.type("warp_group_dot ")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.closest('.pane').dataset.level") == "ttgir"
    assert "warp_group_dot" in page.locator("[data-level=ttgir] .row.cur").inner_text()
    first = page.evaluate("page.levels.panes.get('ttgir').list.current")
    page.keyboard.press("n")
    assert page.evaluate("page.levels.panes.get('ttgir').list.current") != first
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.closest('.pane').dataset.level") == "ptx"
    page.keyboard.press("Escape")
    assert page.locator(".row.lit").count() == 0
    page.locator("#tab-levels").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#panel-passes .row")
    assert page.locator("#panel-passes").is_visible() and not page.locator("#panel-levels").is_visible()
    page.locator("#panel-passes input[type=range]").focus()
    before = page.locator("#panel-passes .pane h2").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator("#panel-passes .pane h2").inner_text() != before


def test_landmarks_and_names(opened):
    page = opened.page
    for landmark in (
        "header",
        "nav[aria-label]",
        "main",
        "footer[aria-label]",
        "[role=search]",
        "[role=tablist]",
    ):
        assert page.locator(landmark).count(), landmark
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, input, select, [role=listbox], section')].filter((e) =>"
        " !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length))"
        ".map((e) => e.outerHTML)"
    )
    assert not nameless


def test_every_pass_has_its_change(opened, trace):
    opened.page.locator("#tab-passes").click()
    opened.page.wait_for_selector("#panel-passes .row")
    # A change: lines were added or removed, or renamed and placed otherwise only, which is no difference.
    for number, one in enumerate(trace, 1):
        opened.page.evaluate("(n) => page.passes.show(n)", number)
        said = opened.page.locator("#panel-passes .pane header span").inner_text()
        assert ("changed nothing" in said) == (not one.changed), (one.name, said)
    # A difference shows the IR behind the pass: "same" and "added" in their order.
    wrong = opened.page.evaluate(
        "page.kernel.passes.map((_, i) => i).filter((i) => i && page.kernel.passes[i].changed)"
        ".filter((i) => {"
        " const now = page.passes.entries(i).filter((e) => e[0] !== 'removed').map((e) => e[2]);"
        " const old = page.passes.entries(i).filter((e) => e[0] !== 'added').map((e) => e[1]);"
        " return now.some((n, k) => n !== k + 1) || now.length !== page.passes.texts[i].lines.length"
        "  || old.some((n, k) => n !== k + 1) || old.length !== page.passes.texts[i - 1].lines.length; })"
    )
    assert wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(browser, path, scheme):
    made = Opened(browser, path, color_scheme=scheme)
    colour = "getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]"
    assert (int(made.page.evaluate(colour)) > 128) == (scheme == "light")
    made.page.locator("#theme").click()
    assert (int(made.page.evaluate(colour)) > 128) == (scheme == "dark")
    made.page.close()


def test_markup_of_a_kernel_does_not_run(browser, tmp_path):
    hostile = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=2>"
    (tmp_path / "evil.ptx").write_text(f"{HEAD}.visible .entry evil()\n{{\n\t// {hostile}\n\tret;\n}}\n")
    finding = {"title": hostile, "text": hostile}
    out = triton_runner.report(tmp_path / "evil.ptx", tmp_path / "out.html", findings=finding)
    made = Opened(browser, out)
    made.page.get_by_text("Debug information").click()
    made.page.locator("#tab-findings").click()
    made.page.wait_for_timeout(200)
    assert hostile in made.page.locator("#panel-findings").inner_text()
    assert hostile in made.page.locator("[data-level=ptx]").text_content()
    assert made.page.evaluate("window.pwned") is None and made.page.locator("img").count() == 0
    made.page.close()


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """The page of a program with several kernels and dumped values."""
    folder = tmp_path_factory.mktemp("several")
    (folder / "several.py").write_text(pages.PROGRAM)
    command = ["report", "-o", "out.html", "--kernel", "shift", "--dump", "total", "several.py"]
    warm.cli(*command, check=True, cwd=folder)
    warm.cli("report", "-o", "all.html", "several.py", check=True, cwd=folder)
    return folder


def test_kernels_of_a_program_are_chosen_and_compared(browser, several):
    made = Opened(browser, several / "all.html")
    page = made.page
    assert page.locator("#pick option").count() == 4
    page.locator("#tab-launches").click()
    launches = page.locator("#panel-launches")
    assert "out of bounds" in launches.inner_text() and "Autotuning of shift" in launches.inner_text()
    page.locator("#pick").select_option(label="shift")
    page.locator("#kernel-name", has_text="shift").wait_for()
    assert page.locator("#panel-launches").is_visible()  # the part stays
    page.locator("#panel-launches").get_by_text("beyond").click()
    page.locator("#kernel-name", has_text="beyond").wait_for()
    page.locator("#tab-findings").click()
    assert page.locator("#panel-findings .source").inner_text() == "tl.store(out + 128, 1.0)"
    page.locator("#tab-compare").click()
    page.get_by_label("From", exact=True).select_option(index=0)
    page.get_by_label("To", exact=True).select_option(index=1)
    page.wait_for_selector("#panel-compare .row.added")
    assert "BLOCK=32" in page.locator("#panel-compare table").first.inner_text()
    assert not made.errors
    page.close()


def test_division_in_python_is_not_a_comment(browser, several):
    made = Opened(browser, several / "out.html")
    row = made.page.locator("[data-level=python] .row", has_text="half = n // 2").first
    assert row.locator(".t-comment").all_inner_texts() == ["# halved"]
    made.page.close()


def test_panes_are_resized(opened):
    page = opened.page
    grip = page.get_by_label("Width of TTGIR")
    width = "document.querySelector('[data-level=ttgir]').offsetWidth"
    before, box = page.evaluate(width), grip.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 105, box["y"] + 50, steps=4)
    page.mouse.up()
    assert abs(page.evaluate(width) - before - 100) <= 2
    grip.focus()
    page.keyboard.press("ArrowLeft")
    assert abs(page.evaluate(width) - before - 60) <= 2
    grip.dblclick()
    assert abs(page.evaluate(width) - before) <= 2


def test_a_click_on_an_opcode_says_what_it_does(opened):
    page = opened.page
    row = page.locator("[data-level=ptx] .row", has_text="ld.param").first
    row.click(position={"x": 90, "y": 6})
    said = page.locator("#detail .opcode").inner_text()
    assert said.startswith("ld.param: Loads a parameter") and "PTX ISA 8.8, section 9.7." in said


def test_ten_thousand_lines_stay_smooth(browser, tmp_path, record_property, capsys):
    adds = (
        f"\t.loc 1 {i // 40 + 1} 1\n\tadd.s32 %r{i % 90 + 1}, %r{i % 90 + 2}, {i};\n" for i in range(10000)
    )
    (tmp_path / "long.ptx").write_text(
        f"{HEAD}.visible .entry long()\n{{\n.reg .b32 %r<99>;\n{''.join(adds)}\tret;\n}}\n"
        '.file 1 "/long.py"\n'
    )
    made = Opened(browser, triton_runner.report(tmp_path / "long.ptx", tmp_path / "out.html"))
    paint = made.page.evaluate("performance.getEntriesByName('ready')[0].startTime")
    taken = made.page.evaluate(
        """async () => {
          const list = page.levels.panes.get("ptx").list, out = [];
          const frame = () => new Promise(requestAnimationFrame);
          const nth = (i) => list.shown[i % list.shown.length] + 1;
          const time = async (act) => {
            await frame();
            const start = performance.now();
            act();
            document.body.getBoundingClientRect();
            out.push(performance.now() - start);
          };
          for (let i = 0; i < 30; ++i) {
            await time(() => list.choose(nth(i * 331), "click"));
            await time(() => page.levels.light({ name: "ptx", line: nth(i * 577) }));
            await time(() => { list.box.scrollTop = i * 5000; list.draw(); });
          }
          await time(() => page.levels.search("%r42,"));
          return out;
        }"""
    )
    rows = made.page.locator("[data-level=ptx] .row").count()
    made.page.close()
    worst, usual = max(taken), statistics.median(taken)
    record_property("first_paint_ms", paint)
    record_property("interaction_ms", worst)
    with capsys.disabled():
        said = f"interaction {usual:.1f} ms, at worst {worst:.1f} ms"
        print(f"\n10,000 lines of PTX: ready after {paint:.0f} ms, {said}")
    assert rows < 200  # what is in sight, not all
    assert paint < SLACK * FIRST_PAINT and worst < SLACK * INTERACTION
