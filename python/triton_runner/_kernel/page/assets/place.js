// The place that the page shows, in its address, so that it can be linked to:
//     page.html#kernel=add_kernel&tab=levels&level=ttgir&line=31
// kernel: its label, where the page has several; file: of a line of Python, where it is not the kernel's own file;
// pass: the number of the pass that is shown.

// What an address says: {kernel, tab, level, line, file, pass}, of these those that are there.
function placeIn(hash) {
  return Object.fromEntries(new URLSearchParams(hash.replace(/^#/, "")));
}

class Place {
  constructor(page) {
    this.page = page;
    this.isQuiet = true; // until the page shows what its address says
    addEventListener("hashchange", () => this.follow());
  }

  // Writes where the page is into its address. No entry of the history: the way back leaves the page.
  note() {
    if (this.isQuiet) return;
    const { page } = this, { kernel, levels } = page, words = new URLSearchParams();
    if (page.kernels.length > 1) words.set("kernel", kernel.label);
    words.set("tab", page.shown.toLowerCase());
    if (page.shown === "Passes") words.set("pass", kernel.passes[page.passes.at].number);
    if (page.shown === "Levels" && levels.pinned) {
      words.set("level", levels.pinned.name);
      words.set("line", levels.pinned.line);
      if (levels.pinned.name === "python" && levels.file !== kernel.mainFile) words.set("file", shortName(kernel.files[levels.file].path));
    }
    history.replaceState(null, "", `#${words}`);
  }

  // The kernel that the address names; null: it names none that the page has.
  get kernel() {
    const { kernel } = placeIn(location.hash), at = this.page.data.labels.indexOf(kernel);
    return at >= 0 ? at : null;
  }

  // Shows what the address says, as far as the page has it.
  async follow() {
    const { page } = this, said = placeIn(location.hash);
    this.isQuiet = true;
    if (this.kernel !== null && this.kernel !== page.kernel?.number) await page.open(this.kernel);
    const part = page.parts.findIndex((one) => one.title.toLowerCase() === said.tab);
    if (part >= 0) await page.show(part);
    if (said.pass && page.shown === "Passes") page.passes.showNumber(Number(said.pass));
    if (said.level && Number(said.line)) {
      const file = page.kernel.files.findIndex((one) => shortName(one.path) === said.file);
      page.levels.choose(said.level, Number(said.line), said.level !== "python" ? null : file >= 0 ? file : page.kernel.mainFile);
    }
    this.isQuiet = false;
    this.note();
  }
}
