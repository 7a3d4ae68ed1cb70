"""Writes the grammars by which editors and the page colour the texts of a kernel: TextMate's format, a file
for each of ttir, ttgir, llir, ptx and sass, and for the page alone of python, which editors know, and amdgcn.

    python tools/grammars.py   writes *.tmLanguage.json to grammars and page_grammars of _kernel/page/assets

    {"match": "%[\\\\w$.#-]+", "name": "variable.other.ttir"}

A grammar is one flat list of patterns: at each position of a line the pattern counts that matches first,
and of several that match there the first of the list. `captures` names parts of a match. A `begin` and
`end` are of what may go over several lines: comments of PTX, strings of Python. The regular expressions use
what Oniguruma, JavaScript and Python have alike, and none repeats a repetition, so that a line takes time
in proportion to its length. The opcodes and the special registers come from the tables of the core: nothing
here lists them.
"""

import json
import keyword
import pathlib
import re

from triton_runner._core import ptx

ROOT = pathlib.Path(__file__).resolve().parents[1]
ASSETS = ROOT / "python" / "triton_runner" / "_kernel" / "page" / "assets"

STRING = r'"(?:[^"\\]|\\.)*"?'
HEX = r"\b0[xX][0-9A-Fa-f]+U?\b"
DECIMAL = r"(?<![\w.])-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?U?(?!\w)"


def words(names) -> str:
    """A regular expression for any of some words, the longest first."""
    return "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))


def of_mlir() -> list[dict]:
    """TTIR and TTGIR."""
    op = r"[A-Za-z_]\w*\.[\w.]+"
    float_ = r"bf16|tf32|f\d+(?:E\d+M\d+\w*)?"
    return [
        {"match": "//.*$", "name": "comment.line.double-slash"},
        {"match": rf'"{op}"(?=\([%)])', "name": "support.function.op"},
        {"match": STRING, "name": "string.quoted.double"},
        {"match": r"%[\w$.#-]+", "name": "variable.other"},
        {"match": r"@(?:[\w$.-]+|\"[^\"]*\"?)", "name": "entity.name.function"},
        {"match": r"\^\w+", "name": "entity.name.label"},
        {"match": r"#[A-Za-z_][\w.-]*", "name": "entity.name.type.attribute"},
        {"match": r"![A-Za-z_][\w.-]*", "name": "storage.type.dialect"},
        {"match": r"(?<![\w.-])[A-Za-z_]\w*\.[\w.-]+(?=\s*=[^=])", "name": "entity.other.attribute-name"},
        {"match": rf"(?<![\w.]){op}", "name": "support.function.op"},
        {
            "match": r"(?:(?<!\w)|(?<=[\d?]x))"
            rf"(?:tensor|memdesc|vector|memref|ptr|index|none|[su]?i\d+|{float_})\b",
            "name": "storage.type",
        },
        {
            "match": r"(?!0x[0-9A-F]{4,}\b)(?:(?<!\w)|(?<=[\d?]x))(?:\d+|\?)x(?=[\d?!a-z])",
            "name": "constant.numeric.shape",
        },
        {
            "match": r"\b(?:module|attributes|public|private|loc|callsite|fused|at|to|step|iter_args|in|else"
            r"|do|dense|array|unit|unknown|return|partition\d*|default|num_warps|captures)\b(?!\s*=[^=])",
            "name": "keyword.other",
        },
        {"match": r"\b(?:true|false)\b", "name": "constant.language"},
        {"match": HEX, "name": "constant.numeric.hex"},
        {"match": rf"{DECIMAL}|(?<=\dx)\d+\b", "name": "constant.numeric"},
        {"match": r"(?<![\w-])[A-Za-z_][\w-]*(?=\s*=[^=])", "name": "entity.other.attribute-name"},
        {"match": r"[A-Za-z_]\w*", "name": "constant.other.enum"},
        {"match": r"->|[=*]", "name": "keyword.operator"},
    ]


def of_llir() -> list[dict]:
    """LLVM IR. An instruction is the word after "=", or the first one of a line."""
    return [
        {"match": r";.*$", "name": "comment.line.semicolon"},
        {"match": r'c?"(?:[^"\\]|\\.)*"?', "name": "string.quoted.double"},
        {
            "match": r"^([\w$.-]+)(:)",
            "captures": {"1": {"name": "entity.name.label"}, "2": {"name": "punctuation.separator"}},
        },
        {
            "match": r"^(?:define|declare|target|source_filename|attributes|module asm)\b",
            "name": "keyword.other",
        },
        {
            "match": r"(?:^\s+|=\s+)(?:((?:tail|musttail|notail)\s+)?([a-z][a-z0-9_]*))(?=[\s(]|$)",
            "captures": {"1": {"name": "keyword.other"}, "2": {"name": "support.function.instruction"}},
        },
        {"match": r'%(?:[\w$.-]+|"[^"]*"?)', "name": "variable.other"},
        {"match": r'@(?:[\w$.-]+|"[^"]*"?)', "name": "entity.name.function"},
        {"match": r"#\d+", "name": "entity.name.type.attribute"},
        {"match": r"!(?:\d+|[A-Za-z_][\w.-]*)?", "name": "entity.name.type.metadata"},
        {
            "match": r"(?<![\w.])"
            r"(?:void|half|bfloat|float|double|fp128|ptr|label|token|metadata|opaque|i\d+)\b",
            "name": "storage.type",
        },
        {"match": r"\b(?:true|false|null|undef|poison|zeroinitializer|none)\b", "name": "constant.language"},
        {"match": r"\b0x[HKLMR]?[0-9A-Fa-f]+\b", "name": "constant.numeric.hex"},
        {"match": r"(?<![\w.])-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?=x\s|\b)", "name": "constant.numeric"},
        {"match": r"(?<![\w.])[A-Za-z_][\w.]*(?=:)", "name": "entity.other.attribute-name"},
        {"match": r"[A-Za-z_][\w.]*", "name": "keyword.other"},
        {"match": r"[=*]|\|", "name": "keyword.operator"},
    ]


def of_ptx() -> list[dict]:
    """PTX. The opcodes, and what may stand after "%" without being a register, are those of the tables."""
    opcodes = words({row["opcode"] for row in ptx.opcode_table()})
    table = (ROOT / "include" / "triton_runner" / "ptx" / "special.def").read_text()
    specials = words(set(re.findall(r'^SPECIAL\(\w+, "%([^"]+)"', table, re.M)))
    return [
        {"begin": r"/\*", "end": r"\*/", "name": "comment.block"},
        {"match": "//.*$", "name": "comment.line.double-slash"},
        {"match": STRING, "name": "string.quoted.double"},
        {
            "match": r"^\s*([$A-Za-z_][\w$]*)(:)(?!:)",
            "captures": {"1": {"name": "entity.name.label"}, "2": {"name": "punctuation.separator"}},
        },
        {
            "match": rf"(?:^|(?<=[;:{{}}/]))\s*(?:(@!?)([%\w$]+)\s+)?({opcodes})((?:\.[\w:]+)*)(?![\w$.:])",
            "captures": {
                "1": {"name": "keyword.control.guard"},
                "2": {"name": "variable.other.predicate"},
                "3": {"name": "support.function.opcode"},
                "4": {"name": "storage.modifier"},
            },
        },
        {"match": rf"%(?:{specials})\b", "name": "variable.language"},
        {"match": r"%[\w$]+(?:\.(?:[xyzwrgba]|b[0-7]+|h[0-3]+)\b)?", "name": "variable.other.register"},
        {
            "match": r"(?<![\w$.])\.(?:pred|(?:[busf]|bf|tf)\d+(?:x\d+)?)\b",
            "name": "storage.type",
        },
        {"match": r"(?<![\w$.])\.[A-Za-z_]\w*", "name": "keyword.other.directive"},
        {"match": r"\b0[bB][01]+U?\b", "name": "constant.numeric.binary"},
        {"match": r"\b0[fFdD][0-9A-Fa-f]{8,16}\b", "name": "constant.numeric.float"},
        {"match": HEX, "name": "constant.numeric.hex"},
        {"match": DECIMAL, "name": "constant.numeric"},
        {"match": r"[$A-Za-z_][\w$]*", "name": "entity.name.symbol"},
        {"match": r"[=+|]", "name": "keyword.operator"},
    ]


def of_sass() -> list[dict]:
    """NVIDIA's machine code, as nvdisasm prints it."""
    table = (ROOT / "src" / "sass" / "internal" / "opcodes.def").read_text()
    opcodes = words({name.partition("_")[0] for name in re.findall(r"^OP\((\w+)", table, re.M)})
    begin = r"(?:(?<=\*/)|^)(\s*)(?:\{\s*)?"  # of an instruction, after its address
    guard = r"(?:(@!?)(U?P(?:\d+|T))\s+)?"
    named = {"2": {"name": "keyword.control.guard"}, "3": {"name": "variable.other.predicate"}}
    return [
        {
            "match": rf"{begin}{guard}({opcodes})((?:\.[\w:]+)*)(?=[\s;]|$)",
            "captures": {
                **named,
                "4": {"name": "support.function.opcode"},
                "5": {"name": "storage.modifier"},
            },
        },
        {
            "match": rf"{begin}{guard}([A-Z][A-Z0-9]*)((?:\.[\w:]+)*)(?=[\s;]|$)",
            "captures": {**named, "4": {"name": "support.other.opcode"}, "5": {"name": "storage.modifier"}},
        },
        {"match": r"/\*.*?(?:\*/|$)", "name": "comment.block"},
        {"match": "//.*$", "name": "comment.line.double-slash"},
        {"match": STRING, "name": "string.quoted.double"},
        {"match": r"^[.$\w@]+(?=:)", "name": "entity.name.label"},
        {"match": r"`\([^)]*\)?", "name": "entity.name.label"},
        {"match": r"(?<![\w.])\.L_\w+", "name": "entity.name.label"},
        {"match": r"(?<![\w.])\.[A-Za-z_][\w.]*", "name": "keyword.other.directive"},
        {"match": r"\bSR_\w+(?:\.[XYZW])?|\bSRZ\b", "name": "variable.language"},
        {"match": r"\bU?P(?:\d+|T)\b", "name": "variable.other.predicate"},
        {"match": r"\b(?:U?R(?:\d+|Z)|U?B\d+|SB\d+)\b", "name": "variable.other.register"},
        {"match": r"\b(?:c|cx|desc|gdesc|idesc|tmem|gsb)\d*(?=\[)|\bgsb\d+\b", "name": "storage.type.space"},
        {"match": r"(?<=[\w\])])\.\w+", "name": "storage.modifier.operand"},
        {"match": HEX, "name": "constant.numeric.hex"},
        {"match": r"[-+]?\b(?:INF|QNAN|SNAN)\b", "name": "constant.numeric.float"},
        {"match": DECIMAL, "name": "constant.numeric"},
        {"match": r"[$@]?[A-Za-z_][\w$.]*", "name": "entity.name.symbol"},
        {"match": r"[-+!~|]", "name": "keyword.operator"},
    ]


def of_python() -> list[dict]:
    """Python. The words of the language come from its own module."""
    words_ = words({*keyword.kwlist} - {"True", "False", "None"})
    triples = [
        {"begin": rf"\b[rbfuRBFU]{{1,2}}{quotes}|{quotes}", "end": quotes, "name": "string.quoted.triple"}
        for quotes in ('"""', "'''")
    ]
    return [
        {"match": "#.*$", "name": "comment.line.number-sign"},
        *triples,
        {"match": STRING, "name": "string.quoted.double"},
        {"match": STRING.replace('"', "'"), "name": "string.quoted.single"},
        {"match": r"^\s*@[\w.]+", "name": "entity.name.function.decorator"},
        {
            "match": r"\b(def|class)\s+([A-Za-z_]\w*)",
            "captures": {"1": {"name": "keyword.other"}, "2": {"name": "entity.name.function"}},
        },
        {"match": r"\b(?:True|False|None)\b", "name": "constant.language"},
        {"match": rf"(?<![\w.])(?:{words_})\b", "name": "keyword.other"},
        {"match": r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", "name": "support.function.member"},
        {"match": HEX, "name": "constant.numeric.hex"},
        {"match": r"(?<![\w.])\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?", "name": "constant.numeric"},
        {"match": r"[A-Za-z_]\w*", "name": "entity.name.symbol"},
    ]


def of_amdgcn() -> list[dict]:
    """AMD's assembly, as LLVM prints it. An instruction is the first word of a line."""
    special = r"\b(?:vcc|exec|flat_scratch)(?:_lo|_hi)?\b|\b(?:scc|m0|off|null)\b"
    return [
        {"match": r"(?:;|//).*$", "name": "comment.line.semicolon"},
        {"match": STRING, "name": "string.quoted.double"},
        {"match": r"^[.$\w@]+(?=:)", "name": "entity.name.label"},
        {"match": r"^\s*\.\w+", "name": "keyword.other.directive"},
        {"match": r"^\s+[a-z]\w*", "name": "support.function.opcode"},
        {"match": r"\b[vsa](?:\d+\b|\[\d+(?::\d+)?\])", "name": "variable.other.register"},
        {"match": special, "name": "variable.language"},
        {"match": HEX, "name": "constant.numeric.hex"},
        {"match": DECIMAL, "name": "constant.numeric"},
        {"match": r"[.$@A-Za-z_][\w.$@]*", "name": "entity.name.symbol"},
    ]


LANGUAGES = {
    "ttir": ("Triton IR", of_mlir),
    "ttgir": ("TritonGPU IR", of_mlir),
    "llir": ("LLVM IR of Triton", of_llir),
    "ptx": ("PTX", of_ptx),
    "sass": ("SASS", of_sass),
}
ON_THE_PAGE = {"python": ("Python", of_python), "amdgcn": ("AMD's assembly", of_amdgcn)}
FOLDERS = {"grammars": LANGUAGES, "page_grammars": ON_THE_PAGE}


def suffixed(pattern: dict, language: str) -> dict:
    """The same pattern with its language at the end of each scope."""
    out = dict(pattern)
    if "name" in out:
        out["name"] += f".{language}"
    if "captures" in out:
        captures = out["captures"].items()
        out["captures"] = {group: {"name": f"{of['name']}.{language}"} for group, of in captures}
    return out


def text_of(language: str) -> str:
    title, patterns = {**LANGUAGES, **ON_THE_PAGE}[language]
    grammar = {
        "name": title,
        "scopeName": f"source.{language}",
        "fileTypes": [language],
        "patterns": [suffixed(pattern, language) for pattern in patterns()],
    }
    return json.dumps(grammar, indent=1) + "\n"


if __name__ == "__main__":
    for folder, languages in FOLDERS.items():
        (ASSETS / folder).mkdir(exist_ok=True)
        for language in languages:
            path = ASSETS / folder / f"{language}.tmLanguage.json"
            path.write_text(text_of(language))
            print(path.relative_to(ROOT))
