"""Makes the code that Inductor writes hand on each buffer as soon as the kernel that computes it has run: a
call of torch's own hook (torch._inductor.hooks) at the end of the kernel's line.

    triton_poi_fused_add_0.run(arg0_1, buf0, 64, stream=stream0); run_intermediate_hooks('0', buf0)"""

from __future__ import annotations

import dataclasses
import re

_BODY = re.compile(r"^\s+def call\(")
_KERNEL = re.compile(
    r"^\s+(?:(?P<result>buf\d+) = )?"
    r"(?:(?P<triton>\w+)\.run\(|(?P<name>cpp_\w+|extern_kernels\.\w+|torch\.ops\.[\w.]+|aten\.[\w.]+)\()"
)
_ITEM = re.compile(r"^\s+(?P<result>buf\d+) = (?P<of>buf\d+)\[\d+\]")
_ALIAS = re.compile(r"^\s+(?P<result>buf\d+) = .*# alias")
_NAME = re.compile(r"\b[a-z]\w+\b")
_BUFFER = re.compile(r"\bbuf\d+\b")


@dataclasses.dataclass(frozen=True)
class Written:
    """A buffer and the kernel that computes it. node: the name of the node whose value it is; nodes: of those
    that the kernel computes."""

    buffer: str
    kernel: str
    node: str | None
    nodes: tuple[str, ...]


def hooked(text: str, graph) -> tuple[str, list[Written], dict]:
    """The text of a compiled graph with hooks, what each hands on, by its number, and by each name the last
    kernel that it is given to. graph: Inductor's."""
    lines, written, seen, inside = text.split("\n"), [], set(), False
    kernel_of: dict[str, str] = {}
    given: dict[str, str] = {}
    for i, line in enumerate(lines):
        if _BODY.match(line) or re.match(r"^def call\(", line):
            inside = True
            continue
        if not inside or line.rstrip().endswith((",", "(")):
            continue
        if alias := _ALIAS.match(line):
            seen.add(alias["result"])
        elif item := _ITEM.match(line):
            kernel = kernel_of.get(item["of"], "")
            seen.add(item["result"])
            if kernel:
                lines[i] = _with_hooks(line, [item["result"]], kernel, graph, written)
        elif call := _KERNEL.match(line):
            kernel = call["triton"] or call["name"]
            given |= dict.fromkeys(_NAME.findall(line[call.end() :]), kernel)
            buffers = [name for name in dict.fromkeys(_BUFFER.findall(line)) if name not in seen]
            seen.update(buffers)
            kernel_of |= dict.fromkeys(buffers, kernel)
            lines[i] = _with_hooks(line, buffers, kernel, graph, written)
    return "\n".join(lines), written, given


def _with_hooks(line: str, buffers: list[str], kernel: str, graph, written: list[Written]) -> str:
    nodes = tuple(dict.fromkeys(name for buffer in buffers for name in _origins(graph, buffer)))
    code, comment = re.match(r"(.*?)(\s+#.*)?$", line).groups()
    for buffer in buffers:
        code += f"; run_intermediate_hooks({str(len(written))!r}, {buffer})"
        written.append(Written(buffer, kernel, _node(graph, buffer), nodes))
    return code + (comment or "")


def _node(graph, buffer: str) -> str | None:
    """The name of the node that a buffer holds."""
    found = graph.name_to_buffer.get(buffer)
    node = None if found is None else found.get_origin_node()
    return node.name if node is not None else None


def _origins(graph, buffer: str) -> list[str]:
    """The nodes that go into a buffer, in the order of the graph."""
    found = graph.name_to_buffer.get(buffer)
    if found is None:
        return []
    names = {node.name for node in found.get_origins()}
    return [node.name for node in graph.module.graph.nodes if node.name in names]
