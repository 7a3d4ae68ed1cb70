// Printing. Lists of code have only the lines in sight in the document; on paper each level is there in full, after
// what the part that is shown holds, if it is not the levels or the passes.

function printed(kernel) {
  const code = (title, lines, language) => {
    const opened = grammars[language]?.opened(lines);
    return element("section", { class: "printed" }, element("h2", {}, title), element("pre", {}, ...lines.map((line, i) =>
      element("div", {}, element("span", { class: "number" }, String(i + 1)), coloured(line, language, opened?.[i])))));
  };
  return element("div", { id: "printed" },
    ...kernel.files.filter((file) => file.text != null).map((file) => code(file.path, file.text.split("\n"), "python")),
    ...kernel.levels.map((level) => code(`${TITLES[level.name]} of ${kernel.name}`, level.lines, level.name)));
}

function printsInFull(page) {
  let theme = "";
  addEventListener("beforeprint", () => {
    theme = document.documentElement.dataset.theme;
    page.theme("light");
    document.body.append(printed(page.kernel));
  });
  addEventListener("afterprint", () => {
    document.getElementById("printed")?.remove();
    page.theme(theme);
  });
}
