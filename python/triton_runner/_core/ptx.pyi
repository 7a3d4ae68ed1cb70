"""PTX: modules, functions, variables, instructions."""



class Variable:
    """A variable of a module or a function, or a parameter."""

    @property
    def name(self) -> str: ...

    @property
    def space(self) -> str:
        """
        'global', 'shared', 'local', 'const', 'param'; 'reg' for a parameter in a register
        """

    @property
    def type(self) -> str:
        """of an element: 'b8'"""

    @property
    def align(self) -> int:
        """in bytes"""

    @property
    def bytes(self) -> int:
        """0 where the size is open: name[]"""

    @property
    def is_array(self) -> bool: ...

    @property
    def is_pointer(self) -> bool:
        """declared .ptr"""

    @property
    def initial(self) -> bytes:
        """the first bytes of its value; the rest is zeros"""

    def __repr__(self) -> str: ...

class Instruction:
    """An instruction; str() is its text."""

    @property
    def opcode(self) -> str:
        """'ld.global.v4.b32'"""

    @property
    def base(self) -> str:
        """'ld'"""

    @property
    def is_known(self) -> bool:
        """whether opcode_table() has it"""

    @property
    def guard(self) -> str | None:
        """'@!%p1', or None"""

    @property
    def operands(self) -> list[str]:
        """as written"""

    @property
    def effects(self) -> list[str]:
        """
        what its opcode does, in the words of ptx/effects.def: ['reads', 'once']
        """

    def does(self, effect: str) -> bool:
        """whether it has an effect: 'writes'; ValueError: no such word"""

    @property
    def results(self) -> list[str]:
        """the registers that it writes"""

    @property
    def sources(self) -> list[str]:
        """the registers that it reads, in addresses too, its guard's among them"""

    @property
    def line(self) -> int:
        """in the text of the module"""

    @property
    def column(self) -> int: ...

    @property
    def source(self) -> list[tuple[str, int, int, str]]:
        """
        (file, line, column, function) of the kernel's source, innermost first; [] where no .loc says it
        """

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

class Function:
    """A .entry or .func."""

    @property
    def name(self) -> str: ...

    @property
    def is_entry(self) -> bool: ...

    @property
    def is_declaration(self) -> bool:
        """without a body"""

    @property
    def params(self) -> list[Variable]: ...

    @property
    def returns(self) -> list[Variable]: ...

    @property
    def variables(self) -> list[Variable]:
        """declared in the body"""

    @property
    def registers(self) -> list[tuple[str, str]]:
        """
        (name, type) of each register that the body names, in the order of first use
        """

    @property
    def instructions(self) -> list[Instruction]: ...

    def pressure(self) -> tuple[int, int, list[tuple[str, str, int]]]:
        """
        (index of the instruction before which most registers are live, 32-bit registers that they take, [(name, type, index of the instruction that gives it, or -1)])
        """

    @property
    def reqntid(self) -> object:
        """threads of a block (x, y, z), or None"""

    @property
    def maxntid(self) -> object: ...

    @property
    def cluster(self) -> object:
        """blocks of a cluster (x, y, z), or None"""

    @property
    def maxnreg(self) -> int:
        """0: not given"""

    @property
    def line(self) -> int: ...

    def __repr__(self) -> str: ...

class Module:
    """A PTX module; str() gives its text back byte for byte."""

    @property
    def filename(self) -> str: ...

    @property
    def version(self) -> str:
        """'8.7'"""

    @property
    def target(self) -> str:
        """'sm_90a'"""

    @property
    def compute_capability(self) -> int:
        """90"""

    @property
    def functions(self) -> list[Function]: ...

    def function(self, name: str) -> object:
        """None if there is none"""

    @property
    def variables(self) -> list[Variable]: ...

    def canonical(self) -> str:
        """
        the text written from the graph alone, without comments, scopes and debug sections
        """

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

def parse(text: str, filename: str | None = None) -> Module:
    """
    The module of a text; DiagnosticError (file, line, column, notes) for its first fault. filename is for messages.
    """

def parse_file(path: str) -> Module:
    """The module of a file."""

def opcode_table() -> list:
    """
    Every opcode: its mnemonic, the modifiers it takes, its section of the PTX ISA, whether it is executed, its effects.
    """
