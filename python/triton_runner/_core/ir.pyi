"""Triton's IR: modules, ops, values, types, attributes, locations."""

from typing import overload


class Type:
    """A type; str() is its text."""

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    @property
    def kind(self) -> str: ...

    @property
    def shape(self) -> list[int]: ...

    @property
    def element(self) -> object:
        """of pointers, tensors, memdescs, tensordescs"""

    @property
    def encoding(self) -> object:
        """the layout, or None"""

    @property
    def memory_space(self) -> object: ...

    @property
    def mutable(self) -> bool: ...

    @property
    def width(self) -> int:
        """bits of integers and floats"""

    @property
    def elements(self) -> list[Type]:
        """of tuples; parameters then results of functions"""

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

class Attr:
    """
    An attribute; str() is its text, value the Python value where there is one.
    """

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    @property
    def kind(self) -> str: ...

    @property
    def value(self) -> object: ...

    @property
    def integer(self) -> int:
        """the number of integers and of enumerations' keywords"""

    @property
    def type(self) -> object: ...

    @property
    def name(self) -> str:
        """of dialect attributes: 'ttg.blocked'"""

    @property
    def alias(self) -> str:
        """'#blocked', or ''"""

    def get(self, key: str) -> object: ...

    @property
    def entries(self) -> dict: ...

    @property
    def elements(self) -> list[Attr]: ...

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

class Location:
    """A place in the source of the kernel."""

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    @property
    def kind(self) -> str: ...

    @property
    def file(self) -> str:
        """of the line that a person would look at"""

    @property
    def line(self) -> int: ...

    @property
    def column(self) -> int: ...

    @property
    def end_line(self) -> int: ...

    @property
    def end_column(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def child(self) -> object:
        """what a name stands for; the callee of a call site"""

    @property
    def caller(self) -> object: ...

    @property
    def children(self) -> list[Location]: ...

    @property
    def alias(self) -> str: ...

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

class Value:
    """A result of an op or an argument of a block."""

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str:
        """'%x', '%5#1'"""

    @property
    def type(self) -> object: ...

    @property
    def index(self) -> int: ...

    @property
    def op(self) -> object:
        """the op it is a result of; None for arguments"""

    @property
    def block(self) -> object:
        """the block it is an argument of; None for results"""

    @property
    def location(self) -> object: ...

    @property
    def uses(self) -> list:
        """(op, operand number) of each use"""

    def rename(self, name: str) -> None: ...

    def retype(self, type: str) -> None:
        """
        gives it another type, as text; the ops around it have to fit that in the end
        """

    def replace_all_uses_with(self, other: Value) -> None: ...

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

class Block:
    """A list of ops with arguments."""

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def args(self) -> list[Value]: ...

    @property
    def ops(self) -> list[Op]: ...

    @property
    def parent(self) -> object:
        """the op whose region holds it"""

    def append(self, text: str) -> list[Op]:
        """puts ops, given as text, at the end; returns them"""

    def __repr__(self) -> str: ...

class Region:
    """The blocks between a pair of braces."""

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    @property
    def blocks(self) -> list[Block]: ...

    @property
    def parent(self) -> object: ...

    def __repr__(self) -> str: ...

class Op:
    """An operation; str() is its text."""

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str:
        """'tt.load'"""

    @property
    def kind(self) -> str:
        """'Load'; 'Unknown' for an op that the table lacks"""

    @property
    def operands(self) -> list[Value]: ...

    @overload
    def group(self, index: int) -> list[Value]:
        """
        an operand group of its table row: `ptr, mask?, other?` are groups 0, 1, 2
        """

    @overload
    def group(self, name: str) -> list[Value]:
        """the same by its name, 'mask'; KeyError: its row has no such group"""

    @property
    def effects(self) -> list[str]:
        """
        what it does, in the words of effects.def: ['loads']; none of an op that the table lacks
        """

    def does(self, effect: str) -> bool:
        """whether it has an effect: 'stores'; ValueError: no such word"""

    @property
    def results(self) -> list[Value]: ...

    @property
    def attrs(self) -> dict: ...

    def attr(self, name: str) -> object:
        """None if absent"""

    @property
    def regions(self) -> list[Region]: ...

    @property
    def successors(self) -> list[Block]: ...

    @property
    def location(self) -> object: ...

    @property
    def block(self) -> object: ...

    @property
    def parent(self) -> object:
        """the op whose region holds it"""

    @property
    def line(self) -> int:
        """its line in the text that was parsed; 0 for ops made later"""

    def walk(self) -> list[Op]:
        """itself and every op inside, in the order of the text"""

    def set_attr(self, name: str, text: str) -> None:
        """sets an attribute, given as text: '4 : i32'"""

    def remove_attr(self, name: str) -> None: ...

    def set_operand(self, index: int, value: Value) -> None: ...

    def insert_before(self, text: str) -> list[Op]:
        """puts ops, given as text, before this one; returns them"""

    def erase(self) -> None:
        """its results must have no uses"""

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

class Module:
    """
    A parsed module. str() is its text, byte for byte where nothing was edited.
    """

    @property
    def op(self) -> object: ...

    @property
    def filename(self) -> str: ...

    @property
    def source(self) -> str: ...

    @property
    def functions(self) -> list[Op]: ...

    @property
    def kernels(self) -> list[Op]:
        """the public functions"""

    @property
    def attrs(self) -> dict: ...

    def function(self, name: str) -> object:
        """None if absent"""

    def walk(self) -> list[Op]: ...

    def verify(self) -> None:
        """raises DiagnosticError at what execution could not rely on"""

    def print(self, canonical: bool = False) -> str:
        """
        canonical: from the graph alone, as the release that wrote it prints it
        """

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

class ReleaseInfo:
    """
    A row of releases.def: a minor release of Triton, or a build that others publish.
    """

    @property
    def version(self) -> tuple[int, int]:
        """(3, 4); of a distribution that of the release which it left"""

    @property
    def patches(self) -> list[str]:
        """what the package index has of it, oldest first"""

    @property
    def number(self) -> int:
        """304 of 3.4; above all releases for a distribution"""

    @property
    def name(self) -> str:
        """fbtriton; empty for a release"""

    @property
    def on_index(self) -> str:
        """its name on the package index"""

    @property
    def module(self) -> str:
        """the module that programs import"""

    @property
    def suffix(self) -> str:
        """how its version ends: +fb"""

    @property
    def ops(self) -> list[str]:
        """
        the ops that it has and the release that it left has not; -op of one that it dropped
        """

    @property
    def undeclared(self) -> str:
        """packages that Triton imports without requiring them"""

    @property
    def default_driver(self) -> str:
        """the attribute of triton.runtime.driver that holds the default driver"""

    @property
    def active_driver(self) -> str:
        """the attribute of triton.runtime.driver that holds the active driver"""

    @property
    def run_field(self) -> str:
        """the attribute of CompiledKernel that holds its launcher"""

    @property
    def constexprs_passed(self) -> bool:
        """
        launches pass constexpr arguments too, and signatures name their type constexpr
        """

    @property
    def benchmarker_from_driver(self) -> bool:
        """Autotuner asks the driver for its benchmark function"""

    @property
    def print_takes_signs(self) -> bool:
        """builder.create_print takes the signedness of each operand"""

    @property
    def loose_launches(self) -> bool:
        """
        launchers ignore arguments after the last parameter, and pass the low bits of an integer
        """

    @property
    def reals_unspecialised(self) -> bool:
        """
        the value of a parameter annotated as a float or a bool is not looked at
        """

    @property
    def hip_clusters(self) -> bool:
        """HIP's launcher launches clusters; before, it ignores them"""

    @property
    def copies_merged(self) -> bool:
        """an element that a layout repeats within a thread is in one register"""

    @property
    def sums_in_trees(self) -> bool:
        """
        a thread adds the elements that it has of a tt.reduce in pairs; before, one after the other
        """

    @property
    def hidden_pointers(self) -> int:
        """pointer parameters that compiled kernels have after the caller's"""

    @property
    def old_keys(self) -> int:
        """
        how arguments were specialised before 3.3 (KeyRule::old of launch/key.h)
        """

    @property
    def second_ptxas(self) -> int:
        """the first sm_ number that ptxas-blackwell assembles"""

    @property
    def storage_question(self) -> str:
        """
        the function of AMD's compiler that says, for a key, whether a tensor's storage is within 2 GiB
        """

def releases() -> list[ReleaseInfo]:
    """The known releases of Triton, oldest first."""

def distributions() -> list[ReleaseInfo]:
    """The known builds of Triton that others publish."""

def translate(text: str, release: int, filename: str = '') -> tuple[str, list[str]]:
    """
    TTIR or TTGIR of any release as release 304 (3.4), or a distribution by its number, reads it, and what was changed
    """

def written_by(text: str, filename: str = '') -> list[int]:
    """
    The releases, 304 (3.4), that can have printed TTIR or TTGIR, oldest first, then the distributions
    """

def parse(text: object, filename: str | None = None) -> Module:
    """Parses MLIR text of Triton's dialects, of any known release."""

def parse_file(path: str) -> Module:
    """Parses a file."""

def op_table() -> list:
    """The rows of the op table, as `triton-runner ops` lists them."""
