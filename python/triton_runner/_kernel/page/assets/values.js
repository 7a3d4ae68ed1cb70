// Dumped values: a heat map with a histogram each, all of them in the program and the iteration that is chosen once
// for the panel.

// What a cell can be that has no place on the scale, by the bits of pictures.py.
const MARKS = [
  { bit: 1, name: "nan", text: "NaN", sign: "x", colour: [226, 40, 60] },
  { bit: 2, name: "inf", text: "+Inf", sign: "+", colour: [255, 140, 26] },
  { bit: 8, name: "minusInf", text: "−Inf", sign: "-", colour: [240, 120, 220] },
  { bit: 4, name: "absent", text: "masked", sign: "", colour: [170, 178, 190] },
];

const show = (number) => (number == null ? "–" : Number(number.toPrecision(4)).toString());

// "NaN 3, +Inf 1" of those that occur.
const marksIn = (counts) => MARKS.filter(({ name }) => name !== "absent" && counts[name])
  .map(({ name, text }) => `${counts[name].toLocaleString("en")} ${text}`).join(", ");

const axesText = (axes) => axes.join(", ");

// The record of a value for a program and an iteration: the one that agrees in most loops, from the outermost. A
// value that stands in no loop, or in none of these, has its last record shown.
function recordAt(value, program, iteration) {
  const own = value.programs.flatMap((one, i) => (axesText(one) === program ? [i] : []));
  const agree = (i) => { let k = 0; while (k < iteration.length && value.iterations[i][k] === iteration[k]) ++k; return k; };
  const most = Math.max(0, ...own.map(agree));
  return most ? own.find((i) => agree(i) === most) : own[own.length - 1];
}

class Values {
  constructor(kernel, page) {
    this.kernel = kernel;
    this.page = page;
    this.cards = element("div", { class: "masonry" }, element("p", { class: "note" }, "Unpacking…"));
    this.program = element("select", { "aria-label": "Program", onchange: () => this.draw() });
    this.iteration = element("select", { "aria-label": "Iteration", onchange: () => this.draw() });
    const step = (by, label, sign) => element("button", { class: "chip", type: "button", "aria-label": label, onclick: () => this.step(by) }, sign);
    this.bar = element("div", { class: "bar" }, element("label", { class: "pick" }, "Program ", this.program),
      element("label", { class: "pick" }, "Iteration ", this.iteration),
      element("span", { class: "chips" }, step(-1, "The iteration before", "◂"), step(1, "The next iteration", "▸")),
      colourKey("Colours of values", MARKS.map(({ text, colour }) => [`rgb(${colour})`, text]), ramp("least", VIRIDIS.map((c) => `rgb(${c})`), "greatest")));
    this.node = element("div", { class: "part" }, this.bar, element("div", { class: "scroll" }, this.cards));
  }

  // All programs and iterations of all values; the first shown is the one that says most (pictures.py).
  async start() {
    const { values } = this.kernel, records = await unpack(`values-${this.kernel.number}`);
    // Programs are sorted by their last axis first, as they are launched; iterations by the outermost loop first.
    const before = (a, b) => a.reduce((order, n, k) => order || n - (b[k] ?? -1), 0) || a.length - b.length;
    const distinct = (lists, isLoop) => [...new Map(lists.flat().map((axes) => [axesText(axes), axes])).values()]
      .sort((a, b) => (isLoop ? before(a, b) : before([...a].reverse(), [...b].reverse())));
    const options = (select, all, chosen) => select.replaceChildren(...all.map((axes) =>
      element("option", { value: axesText(axes), selected: axesText(axes) === axesText(chosen) }, axesText(axes))));
    const most = values.find((one) => one.stats.nan) || values.find((one) => one.stats.inf || one.stats.minusInf) || values[values.length - 1];
    options(this.program, distinct(values.map((one) => one.programs), false), most.programs[most.first]);
    const all = distinct(values.map((one) => one.iterations.filter((axes) => axes.length)), true);
    options(this.iteration, all, most.iterations[most.first]);
    for (const part of [this.iteration.parentNode, this.bar.querySelector(".chips")]) part.hidden = all.length < 2;
    this.drawn = values.map((value, i) => new ValueCard(value, records[i], this.page));
    this.cards.replaceChildren(...this.drawn.map((card) => card.node));
    this.draw();
  }

  draw() {
    const iteration = this.iteration.value ? this.iteration.value.split(", ").map(Number) : [];
    for (const card of this.drawn) card.show(recordAt(card.value, this.program.value, iteration), iteration);
  }

  step(by) {
    const to = this.iteration.selectedIndex + by;
    if (to < 0 || to >= this.iteration.length) return;
    this.iteration.selectedIndex = to;
    this.draw();
  }
}

// A value: what it is, and one of its records.
class ValueCard {
  constructor(value, records, page) {
    this.value = value;
    this.records = records;
    const { stats } = value;
    const kept = records.length < stats.records ? `${plural(stats.records, "record")}, of which the page has ${records.length.toLocaleString("en")}` : plural(stats.records, "record");
    const marks = marksIn(stats);
    this.body = element("div");
    this.node = element("article", { class: "card value" },
      element("h3", {}, `${value.variable ? `${value.variable}: ` : ""}${value.name} = ${value.op}`),
      element("p", { class: "note" }, `${value.type}[${value.shape.join(", ")}] at ${value.level}, ${kept}${marks ? `, with ${marks}` : ""}  `,
        value.at ? element("button", { class: "link", type: "button", onclick: () => page.go(...value.at) }, value.where) : null),
      this.body);
  }

  // number: of its records. iteration: the one that was asked for.
  show(number, iteration) {
    if (number === undefined) {
      this.body.replaceChildren(element("p", { class: "note" }, "The page has no record of this program."));
      return;
    }
    const { value } = this, own = value.iterations[number], loops = axesText(own);
    const isOther = own.length === iteration.length && loops !== axesText(iteration);
    const said = `program ${axesText(value.programs[number])}${loops ? `, iteration ${loops}` : ""}`;
    this.body.replaceChildren(element("p", { class: "note" }, isOther ? `${said}: there is no record of iteration ${axesText(iteration)}` : said),
      ...recordOf(value, this.records[number]));
  }
}

// The picture of a record, its scale and its histogram.
function recordOf(value, record) {
  const cells = numbers(record.cells, Float32Array), marks = numbers(record.marks, Uint8Array);
  const span = record.high > record.low ? record.high - record.low : 1;
  const told = element("p", { class: "note", "aria-live": "polite" }, value.thinned ? "Each cell is the mean of several elements; a NaN or Inf among them is kept." : "\u00a0");
  const mark = (i) => MARKS.find(({ bit }) => marks[i] & bit);
  const { canvas } = picture(value.rows, value.columns, (i) => mark(i)?.colour || viridis((cells[i] - record.low) / span),
    (i, row, column) => `[${row * value.step[0]}, ${column * value.step[1]}] ${mark(i)?.text ?? cells[i].toPrecision(6)}`,
    told, `Heat map of ${value.name}`, (i) => mark(i)?.sign);
  const counts = MARKS.filter(({ name }) => record[name]).map(({ name, text, colour }) => [`rgb(${colour})`, `${record[name].toLocaleString("en")} ${text}`]);
  return [canvas, ramp(show(record.low), VIRIDIS.map((c) => `rgb(${c})`), show(record.high)), colourKey(`Marks of ${value.name}`, counts), told, histogram(record)];
}

function histogram(record) {
  const canvas = element("canvas", { class: "histogram", width: 480, height: 70, role: "img",
    "aria-label": `Histogram: ${record.histogram.join(", ")} elements from ${show(record.low)} to ${show(record.high)}` });
  const pen = canvas.getContext("2d"), most = Math.max(1, ...record.histogram), wide = 480 / record.histogram.length;
  pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent");
  record.histogram.forEach((count, i) => {
    const high = count ? Math.max(1.5, 66 * Math.sqrt(count / most)) : 0;
    pen.fillRect(i * wide + 0.5, 70 - high, wide - 1, high);
  });
  return canvas;
}
