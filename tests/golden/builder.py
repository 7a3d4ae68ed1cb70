"""Builds the IR text of a case's kernel: parameters with their arrays, row-major loads and stores, and
lines in between.

With `gpu` the module is TTGIR: tensors carry #blocked (two dimensions), #row and #col (its slices) or
#line (one).
"""

from __future__ import annotations

from .casefile import Array, Case, Cases, Scalar

LAYOUTS = """\
#line = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = \
[1, 0]}>
#row = #ttg.slice<{dim = 1, parent = #blocked}>
#col = #ttg.slice<{dim = 0, parent = #blocked}>
#smem = #ttg.shared_memory
"""


class Kernel:
    def __init__(
        self, gpu=False, target: str = "cuda:90", layouts: str = "", warps: int = 4, ctas: int = 1, cluster=()
    ):
        self.gpu, self.target, self.warps, self.ctas = gpu, target, warps, ctas
        self.cluster = cluster  # programs along x, y, z that are the blocks of one
        self.layouts = layouts
        self.args: list[Array | Scalar] = []
        self.params: list[str] = []
        self.lines: list[str] = []
        self.functions: list[str] = []  # further functions of the module
        self.count = 0
        self.made: dict = {}

    # ---- text

    def type(self, shape, element: str, encoding: str | None = None) -> str:
        """tensor<..>, or the element type where shape is ()."""
        if not shape:
            return element
        if self.gpu and encoding is None:
            encoding = {1: "#line", 2: "#blocked"}[len(shape)]
        suffix = f", {encoding}" if encoding else ""
        return f"tensor<{'x'.join(map(str, shape))}x{element}{suffix}>"

    def emit(self, text: str) -> str:
        """A line with one result, whose name is returned."""
        self.count += 1
        name = f"%{self.count}"
        self.lines.append(f"    {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Lines as they are (a block is indented by the caller)."""
        self.lines += ["    " + line if line else line for line in text.strip("\n").split("\n")]

    def constant(self, literal, element: str, shape=(), encoding=None) -> str:
        key = ("constant", literal, element, tuple(shape), encoding)
        if key not in self.made:
            tensor = self.type(shape, element, encoding)
            if element == "i1" and not shape:
                self.made[key] = self.emit(f"arith.constant {literal}")
            else:
                self.made[key] = self.emit(
                    f"arith.constant {f'dense<{literal}>' if shape else literal} : {tensor}"
                )
        return self.made[key]

    # ---- parameters

    def pointer(self, element: str, array: Array) -> str:
        return self.param(f"!tt.ptr<{element}>", array)

    def param(self, type_: str, argument: Array | Scalar) -> str:
        self.args.append(argument)
        name = f"%p{len(self.params)}"
        self.params.append(f"{name}: {type_}")
        return name

    def array(self, element: str, shape, before=None, after=None, shown_as=None) -> tuple[str, Array]:
        """A pointer parameter of this element over an array shown as another element type of its size."""
        array = Array(shown_as or element, tuple(shape), before, after)
        return self.pointer(element, array), array

    # ---- memory

    def range(self, size: int, encoding=None) -> str:
        key = ("range", size, encoding)
        if key not in self.made:
            self.made[key] = self.emit(
                f"tt.make_range {{end = {size} : i32, start = 0 : i32}} : "
                f"{self.type((size,), 'i32', encoding)}"
            )
        return self.made[key]

    def offsets(self, shape, encoding=None) -> str:
        """The row-major index of every element."""
        shape = tuple(shape)
        if len(shape) == 1:
            return self.range(shape[0], encoding)
        key = ("offsets", shape, encoding)
        if key in self.made:
            return self.made[key]
        total = None
        stride = 1
        for dim in reversed(range(len(shape))):
            part, extents = self.one_dimension(shape, dim, encoding)
            if stride != 1:
                factor = self.constant(stride, "i32", extents, encoding)
                part = self.emit(f"arith.muli {part}, {factor} : {self.type(extents, 'i32', encoding)}")
            full = self.type(shape, "i32", encoding)
            if tuple(extents) != shape:
                part = self.emit(f"tt.broadcast {part} : {self.type(extents, 'i32', encoding)} -> {full}")
            total = part if total is None else self.emit(f"arith.addi {total}, {part} : {full}")
            stride *= shape[dim]
        self.made[key] = total
        return total

    def one_dimension(self, shape, dim: int, encoding=None) -> tuple[str, list[int]]:
        """arange along one dimension, the others being 1."""
        slices = [encoding or "#blocked"] if self.gpu else [None]
        others = [d for d in range(len(shape)) if d != dim]
        if self.gpu:
            for d in reversed(others):
                slices.append(
                    {"#blocked0": "#col", "#blocked1": "#row"}.get(
                        slices[-1] + str(d), f"#ttg.slice<{{dim = {d}, parent = {slices[-1]}}}>"
                    )
                )
        value = self.range(shape[dim], slices[-1] if self.gpu else None)
        extents = [shape[dim]]
        for step, d in enumerate(others):
            before = self.type(extents, "i32", slices[len(slices) - 1 - step] if self.gpu else None)
            extents.insert(d, 1)
            after = self.type(extents, "i32", slices[len(slices) - 2 - step] if self.gpu else None)
            value = self.emit(f"tt.expand_dims {value} {{axis = {d} : i32}} : {before} -> {after}")
        return value, extents

    def pointers(self, pointer: str, element: str, shape, encoding=None) -> str:
        offsets = self.offsets(shape, encoding)
        tensor = self.type(shape, f"!tt.ptr<{element}>", encoding)
        splat = self.emit(f"tt.splat {pointer} : !tt.ptr<{element}> -> {tensor}")
        return self.emit(f"tt.addptr {splat}, {offsets} : {tensor}, {self.type(shape, 'i32', encoding)}")

    def load(self, element: str, shape, before, shown_as=None, encoding=None) -> str:
        """A whole array, row-major; i1 is read from bytes."""
        stored = "i8" if element == "i1" else element
        pointer, _ = self.array(stored, shape, before, None, shown_as or default_element(stored))
        if not shape:
            return self.emit(f"tt.load {pointer} : !tt.ptr<{stored}>")
        where = self.pointers(pointer, stored, shape, encoding)
        value = self.emit(f"tt.load {where} : {self.type(shape, f'!tt.ptr<{stored}>', encoding)}")
        if element == "i1":
            zero = self.constant(0, "i8", shape, encoding)
            value = self.emit(f"arith.cmpi ne, {value}, {zero} : {self.type(shape, 'i8', encoding)}")
        return value

    def store(self, value: str, element: str, shape, after, shown_as=None, encoding=None) -> None:
        """To a new array, which the oracle expects to hold `after`."""
        stored = "i8" if element == "i1" else element
        if element == "i1":
            source, target = self.type(shape, "i1", encoding), self.type(shape, "i8", encoding)
            value = self.emit(f"arith.extui {value} : {source} to {target}")
        pointer, _ = self.array(stored, shape or (1,), None, after, shown_as or default_element(stored))
        if not shape:
            self.do(f"tt.store {pointer}, {value} : !tt.ptr<{stored}>")
            return
        where = self.pointers(pointer, stored, shape, encoding)
        self.do(f"tt.store {where}, {value} : {self.type(shape, f'!tt.ptr<{stored}>', encoding)}")

    # ---- the whole

    def module(self) -> str:
        attributes = ""
        if self.gpu:
            threads = 64 if self.target.startswith("hip:gfx9") else 32
            dims = zip("xyz", self.cluster, strict=False)
            clusters = "".join(f'"ttg.cluster-dim-{axis}" = {n} : i32, ' for axis, n in dims)
            attributes = (
                f"attributes {{{clusters}"
                f'"ttg.num-ctas" = {self.ctas} : i32, "ttg.num-warps" = {self.warps} : i32, '
                f'ttg.target = "{self.target}", "ttg.threads-per-warp" = {threads} : i32}} '
            )
        head = (LAYOUTS + self.layouts) if self.gpu else self.layouts
        body = "\n".join(
            [
                *self.functions,
                f"  tt.func public @kernel({', '.join(self.params)}) {{",
                *self.lines,
                "    tt.return",
                "  }",
            ]
        )
        return f"{head}module {attributes}{{\n{body}\n}}\n"

    def case(self, path: str, about: str, header=(), output=None) -> Case:
        return Case(path, about, self.args, self.module(), list(header), output)

    def line_with(self, text: str, header=(), nth: int = 1) -> tuple[int, str]:
        """The nth line of the module that has `text`, after its number in the file of the case."""
        lines = self.module().split("\n")
        at = [i for i, line in enumerate(lines) if text in line][nth - 1]
        return 2 + len(header) + len(self.args) + at + 1, lines[at]

    def refused(self, path: str, about: str, at: str, message: str, header=(), notes: str = "") -> Case:
        """A case that is refused at the first line that has `at`."""
        number, line = self.line_with(at, header)
        column = len(line) - len(line.lstrip())
        where = f"{path.split('/')[-1]}:{number}:{column + 1}"
        return self.case(path, about, header, f"{where}: error: {message}\n{line}\n{' ' * column}^{notes}")


class Family:
    """The cases of a module, by the functions that make them; `start` gives a case's kernel."""

    def __init__(self, start=Kernel):
        self.start, self.makers = start, []

    def case(self, path: str, about: str, header=(), output=None, **options):
        """Enters a function that fills a kernel: one case."""

        def enter(fill):
            def made() -> Cases:
                kernel = self.start(**options)
                fill(kernel)
                yield kernel.case(path, about, header, output)

            return self.several(made)

        return enter

    def several(self, maker):
        """Enters a function that gives cases."""
        self.makers.append(maker)
        return maker

    def cases(self) -> Cases:
        for maker in self.makers:
            yield from maker()


def plain(name: str, order: str) -> str:
    """The line of a layout of shared memory without a swizzle."""
    return f"#{name} = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [{order}]}}>\n"


def default_element(element: str) -> str:
    """How an array of this element is written: pointers and fp8e4b15 as hex bits, the rest as itself."""
    return {"!tt.ptr<f32>": "x64", "f8E4M3B11FNUZ": "x8"}.get(element, element)
