// The colours of code, by the TextMate grammars that editors use too (tools/grammars.py): at each position of a line
// the pattern counts that matches first, and of several there the first of the list.
//     grammars.ptx.parts("\tld.global.b32 %r1, [%rd1];", null).parts -> [[1, 3, "support.function.opcode.ptx"], ...]

class Grammar {
  constructor({ patterns }) {
    this.rules = patterns.map((pattern) => ({
      scope: pattern.name, captures: Object.entries(pattern.captures || {}).map(([group, { name }]) => [Number(group), name]),
      regex: new RegExp(pattern.match ?? pattern.begin, "dg"), end: pattern.end && new RegExp(pattern.end, "g"),
    }));
  }

  // [begin, end, scope] of the parts of a line that have one, and the rule that is still open at its end, as a
  // comment of several lines. open: the rule that is open at its begin, or null.
  parts(line, open) {
    const parts = [], next = this.rules.map(() => undefined);
    let at = 0;
    while (at <= line.length) {
      if (open) {
        open.end.lastIndex = at;
        const stop = open.end.exec(line) ? open.end.lastIndex : -1;
        parts.push([at, stop < 0 ? line.length : stop, open.scope]);
        if (stop < 0) break;
        at = stop;
        open = null;
      }
      let best = -1;
      this.rules.forEach((rule, i) => {
        if (next[i] === undefined || (next[i] && next[i].index < at)) {
          rule.regex.lastIndex = at;
          next[i] = rule.regex.exec(line);
        }
        if (next[i]?.[0] && (best < 0 || next[i].index < next[best].index)) best = i;
      });
      if (best < 0) break;
      const rule = this.rules[best], match = next[best];
      if (rule.scope) parts.push([...match.indices[0], rule.scope]);
      for (const [group, scope] of rule.captures) if (match[group]) parts.push([...match.indices[group], scope]);
      at = match.indices[0][1];
      open = rule.end ? rule : null;
    }
    return { parts, open };
  }

  // Of each line the rule that is open at its begin.
  opened(lines) {
    const rules = this.rules.filter((rule) => rule.end);
    if (!lines.some((line) => rules.some(({ regex }) => { regex.lastIndex = 0; return regex.test(line); }))) return lines.map(() => null);
    let open = null;
    return lines.map((line) => {
      const before = open;
      ({ open } = this.parts(line, open));
      return before;
    });
  }
}

// What a scope is drawn as, the first that it begins with; others keep the colour of text.
const KINDS = [
  ["comment", "comment"], ["string", "string"], ["constant.numeric", "number"], ["constant.language", "word"],
  ["entity.name.type", "type"], ["entity.name.symbol", ""], ["entity.name", "name"], ["entity.other.attribute-name", "attribute"],
  ["keyword.operator", ""], ["keyword", "word"], ["storage.type", "type"], ["storage.modifier", "op"], ["support", "op"], ["variable", "name"],
];
const kindOf = (scope) => KINDS.find(([begin]) => scope.startsWith(begin))?.[1] || "";

const grammars = {}; // by language: those that are on the page

// language: "python", or a level; one without a grammar has no colours. open: the rule that is open before the text.
function coloured(text, language, open = null) {
  const out = document.createDocumentFragment();
  let at = 0;
  for (const [begin, end, scope] of grammars[language]?.parts(text, open).parts || []) {
    const kind = kindOf(scope);
    if (!kind || begin < at || end === begin) continue;
    if (begin > at) out.append(text.slice(at, begin));
    out.append(element("span", { class: `t-${kind}` }, text.slice(begin, end)));
    at = end;
  }
  out.append(text.slice(at));
  return out;
}
