"""Take the pictures of README and the guides anew (the page of a kernel in a browser, a heat map, a layout),
and draw the icon of the extension.

    python tools/pictures.py            all of them, into doc/guide, the icon into editors/vscode
    python tools/pictures.py layout     one; --to FOLDER writes them there

The page needs playwright and a chromium, the others matplotlib.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
GUIDE = ROOT / "doc" / "guide"
EXTENSION = ROOT / "editors" / "vscode"
COLOURS = 64  # of a picture
SIGNATURE = (
    "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, fp32, i32:16, i32:16, i32:16, 64, 128, 64, True"
)
LAYOUT = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"


def runner(*arguments: str) -> None:
    command = [sys.executable, "-m", "triton_runner", *arguments]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def shrink(path: pathlib.Path) -> None:
    """Lines, letters and flat colours need few of them."""
    from PIL import Image

    few = Image.open(path).convert("RGB").convert("P", palette=Image.Palette.ADAPTIVE, colors=COLOURS)
    few.save(path, optimize=True)


def page(folder: pathlib.Path) -> None:
    """The levels with a product lit, and a pass with what it changed, of an attention kernel."""
    from playwright import sync_api

    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not chromium:
        sys.exit("error: no chromium to open the page in\nnote: Debian: apt install chromium")
    with tempfile.TemporaryDirectory() as place, sync_api.sync_playwright() as tool:
        kernel = "examples/kernels/attention.py:attention_kernel"
        runner("passes", kernel, "-s", SIGNATURE, "-t", "cuda:90", "--save", f"{place}/trace")
        runner("report", f"{place}/trace", "-o", f"{place}/page.html")
        browser = tool.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 1440, "height": 720})

        def save(name: str) -> None:
            shown.wait_for_timeout(1000)
            shown.screenshot(path=folder / f"{name}.png")
            shrink(folder / f"{name}.png")

        shown.goto(f"file://{place}/page.html")
        shown.wait_for_selector("#tab-levels[aria-selected=true]")
        lines = pathlib.Path(place, "trace", "attention_kernel.ttgir").read_text().splitlines()
        product = next(number for number, line in enumerate(lines, 1) if "ttng.warp_group_dot " in line)
        shown.evaluate(f"page.go('ttgir', {product})")
        save("see-levels")
        shown.click("#tab-passes")
        shown.wait_for_function("page.passes")
        shown.evaluate("page.passes.show(30)")
        save("see-passes")
        browser.close()


def heat_map(folder: pathlib.Path) -> None:
    """Draws what examples/dump/find_nan.py records of its weights."""
    command = [sys.executable, "examples/dump/find_nan.py", str(folder.resolve() / "weights.png")]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def layout(folder: pathlib.Path) -> None:
    """Who holds what of a product."""
    runner("layout", LAYOUT, "--shape", "32x32", "--png", str(folder.resolve() / "layout.png"))
    shrink(folder / "layout.png")


def icon(folder: pathlib.Path) -> None:
    """The extension's icon: the elements of a tile as a heat map, and a breakpoint beside a line of them."""
    from PIL import Image, ImageDraw

    size, cell = 1024, 176  # it is drawn four times as large
    picture = Image.new("RGBA", (size, size), (0, 0, 0, 0))
    draw = ImageDraw.Draw(picture)
    draw.rounded_rectangle((0, 0, size - 1, size - 1), 180, fill=(24, 26, 38, 255))
    viridis = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
    for row in range(4):
        for column in range(4):
            colour = viridis[min((row + column) * 2 // 3, 4)]
            x, y = 236 + column * cell, 160 + row * cell
            draw.rounded_rectangle((x, y, x + cell - 24, y + cell - 24), 28, fill=colour)
    draw.ellipse((72, 352, 192, 472), fill=(229, 57, 53))
    picture.resize((256, 256), Image.Resampling.LANCZOS).save(folder / "icon.png", optimize=True)


PICTURES = {"page": page, "heat_map": heat_map, "layout": layout, "icon": icon}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(PICTURES)}; all of them if left out")
    parser.add_argument("--to", type=pathlib.Path, help="the folder")
    options = parser.parse_args()
    for name in options.names or PICTURES:
        if name not in PICTURES:
            parser.error(f"there is no picture {name!r}: {', '.join(PICTURES)}")
        PICTURES[name](options.to or (EXTENSION if name == "icon" else GUIDE))


if __name__ == "__main__":
    main()
