"""Recording values of running kernels."""

from collections.abc import Mapping, Sequence
import enum
from typing import Annotated

import numpy
from numpy.typing import NDArray

import triton_runner._core.ir


class Site:
    """
    What is dumped: a value of a kernel at a level, with its op, Python variable and place, location as the IR writes it, element type, shape, layout, and the loops around it.
    """

    @property
    def kernel(self) -> str: ...

    @property
    def level(self) -> str: ...

    @property
    def value(self) -> str: ...

    @property
    def path(self) -> str:
        """
        of values of the IR: the op in the regions around it, 'k/scf.for@7.0/arith.mulf@2'
        """

    @property
    def result(self) -> int:
        """which of the op's results, or of the region's arguments"""

    @property
    def op(self) -> str: ...

    @property
    def marker(self) -> str: ...

    @property
    def variable(self) -> str: ...

    @property
    def file(self) -> str: ...

    @property
    def line(self) -> int: ...

    @property
    def column(self) -> int: ...

    @property
    def stack(self) -> str: ...

    @property
    def location(self) -> str: ...

    @property
    def type_text(self) -> str: ...

    @property
    def type(self) -> str: ...

    @property
    def shape(self) -> list[int]: ...

    @property
    def layout(self) -> str: ...

    @property
    def loops(self) -> int: ...

    @property
    def origin(self) -> str: ...

    @property
    def origin_address(self) -> int: ...

    @property
    def origin_bytes(self) -> int: ...

class Series:
    """The records of one value, by program and then in order of execution."""

    @property
    def site(self) -> Site: ...

    @property
    def dropped(self) -> int: ...

    @property
    def registers(self) -> list[tuple[int, str]]:
        """
        Of machine code (address of the instruction, register) of what gave the value.
        """

    def __len__(self) -> int: ...

    @property
    def programs(self) -> Annotated[NDArray[numpy.int64], dict(writable=False)]:
        """int64[records, 3]: the program of each record, x first."""

    @property
    def iterations(self) -> Annotated[NDArray[numpy.int64], dict(writable=False)]:
        """
        int64[records, loops]: the iteration of each loop around the value, outermost first.
        """

    @property
    def extra(self) -> Annotated[NDArray[numpy.int64], dict(writable=False)]:
        """int64[records, n]: of a marker its scalars (offset, grid x, y, z)."""

    @property
    def data(self) -> Annotated[NDArray[numpy.uint8], dict(writable=False)]:
        """
        uint8[records, bytes]: each record's elements, row-major, in the value's own type.
        """

    @property
    def order(self) -> object:
        """
        int64[records]: the place of each record among those of all series as they were made, or None.
        """

    @property
    def mask(self) -> object:
        """
        uint8[records, elements]: 0 where an element was not there; None where all were.
        """

    @property
    def copies(self) -> Annotated[NDArray[numpy.int64], dict(writable=False)]:
        """
        int64[copies, 4]: record, element, block and thread of each copy of an element that has other bits.
        """

    @property
    def copy_data(self) -> Annotated[NDArray[numpy.uint8], dict(writable=False)]:
        """uint8[bytes]: the values of those copies, one after the other."""

class Recording:
    """What one launch's probes recorded."""

    @property
    def series(self) -> list: ...

    @property
    def notes(self) -> list[str]: ...

class Tapped:
    """
    TTGIR or LLIR with taps after values: what the compiler is given to find their registers.
    """

    @property
    def text(self) -> str: ...

    @property
    def notes(self) -> list[str]: ...

    @property
    def values(self) -> list[str]: ...

    @property
    def copied(self) -> list[str]:
        """
        Those of the values of which several registers or threads of a block hold an element.
        """

def tap(text: str, filename: str, kernel: str, selectors: object, level: str = 'ptx') -> Tapped:
    """
    Taps after the values of a kernel of TTGIR. Errors: those of select(); values that are in no register.
    """

def thread_taps(text: str, kernel: str, values: list, threads: int, blocks: int = 1) -> Tapped:
    """
    A text that has taps already, number i after values[i]: a dict of value, op, type ("f32"), type_text, file, line, column, location. Each thread has a value of its own.
    """

class RegisterPlan:
    """
    Which registers of a PTX text are read where, and what they are parts of.
    """

    @property
    def probes(self) -> int: ...

    @property
    def values(self) -> list[str]: ...

    @property
    def notes(self) -> list[str]: ...

    def add_note(self, note: str) -> None:
        """What the recording is to say too."""

def plan_registers(tapped: Tapped, twin: str, ptx: str | None = None, filename: str = '<ptx>', partial: bool = False, keeps_copies: bool = False) -> RegisterPlan:
    """
    The plan for the PTX of a launch, given the PTX of its twin with taps; without it, for the twin itself. keeps_copies: its compiler taps registers that are copies of others too, as Triton does before 3.9. DiagnosticError where the two are not the same program: its place is the first instruction that differs.
    """

def merge_plans(plans: Sequence[RegisterPlan]) -> RegisterPlan:
    """All of them in one launch of their text."""

def move_plan(plan: RegisterPlan, ptx: str, edited: str, filename: str = '<ptx>') -> RegisterPlan:
    """
    The plan for a PTX text as one for the text that somebody made of it; its notes say what differs.
    """

def plan_named_registers(ptx: str, filename: str, kernel: str, names: Sequence[str], threads: int, blocks: int = 1) -> RegisterPlan:
    """
    The plan for "%r7", "{%r1,%r2}", "mma.sync", "kernel.ptx:120", "kernel.py:42".
    """

def names_registers(ptx: str, filename: str, kernel: str, name: str) -> bool:
    """Whether plan_named_registers() would take the name."""

def add_waits(ptx: str, filename: str, kernel: str, names: Sequence[str]) -> str:
    """
    The text with a wgmma.wait_group 0 after each group of products that the names ask for and that nothing waits for before the next jump; else the same text.
    """

def complete_reads(ptx: str, filename: str, kernel: str, plan: RegisterPlan) -> tuple[str, RegisterPlan, int]:
    """
    (text, plan, waits): the text with a wait before each place where the plan reads a register that wgmma or tcgen05.ld may still be writing, the plan for it, and how many places these are.
    """

class RegisterStores:
    """PTX with stores of registers put in, and where they store."""

    @property
    def text(self) -> str: ...

    @property
    def parameter(self) -> int:
        """the buffer's among those of the entry"""

    @property
    def bytes(self) -> int: ...

    @property
    def notes(self) -> list[str]: ...

    def decode(self, buffer: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], programs: Sequence[Sequence[int]] = []) -> Recording:
        """
        The Recording in a buffer (uint8) of `bytes` bytes, which was zero before the launch.
        """

def insert_register_stores(ptx: str, filename: str, kernel: str, plan: RegisterPlan, grid: Sequence[int], programs: Sequence[Sequence[int]] = [], every_iteration: bool = False, hidden: int = 0, max_bytes: int = 1073741824) -> RegisterStores:
    """
    RegisterStores of a plan for this text. hidden: how many of the entry's last parameters the launch fills by itself. DiagnosticError for a value that is put together from several threads, and a program that is not in the grid.
    """

class RegisterObserver:
    """What a launch of PTX shows registers to, under Options.recorder."""

class RegisterRecorder(RegisterObserver):
    """
    Records registers of the launches under Options.recorder, which have to be of the plan's text.
    """

    def __init__(self, plan: RegisterPlan, every_iteration: bool = False, programs: Sequence[Sequence[int]] = [], max_bytes: int = 1073741824) -> None: ...

    def take(self) -> Recording:
        """The Recording since the last call."""

class CopyWatch(RegisterObserver):
    """
    Compares the copies of each element that a plan's values have, and what lanes of a warp store to one place of shared memory, in the launches of this text under Options.recorder. unify="first" or "last" makes them equal: an experiment.
    """

    def __init__(self, plan: RegisterPlan, ptx: str, filename: str, kernel: str, unify: str = '') -> None: ...

    @property
    def values(self) -> int:
        """How many values have copies."""

    @property
    def stores(self) -> int:
        """How many stores are looked at."""

    def take(self) -> list:
        """
        What differed since the last call, the first copies of each value and store, by program and execution: dicts of site, is_store, program, block, iterations, element (its number; of a store the address), threads, registers and bits of two copies, order, copies (how many differ).
        """

COUNTS: tuple = ...

COUNTERS: tuple = ...

class CountObserver:
    """
    Counts what the launches of one cubin execute, under Options.recorder. The sums do not depend on the number of threads.
    """

    def __init__(self) -> None: ...

    def keep_trace(self, most: int) -> None:
        """
        What later launches do is kept in order too, for replay(): so many steps and requests at most.
        """

    @property
    def traced(self) -> list[int]:
        """The programs of which there is a trace."""

    @property
    def is_mixed(self) -> bool:
        """
        Whether launches of different kernels came: not all of them are in the sums.
        """

    @property
    def programs(self) -> int:
        """How many programs ran; of launches in clusters, how many clusters."""

    @property
    def instructions(self) -> object:
        """
        An array with a row for each instruction of the kernel and a column for each of COUNTS.
        """

    @property
    def by_warp(self) -> object:
        """
        How often each instruction was executed by each warp of a block: rows are instructions.
        """

    @property
    def spread(self) -> tuple:
        """Of each of COUNTS, the least and the most that a program has of it."""

    @property
    def collisions(self) -> list:
        """
        Of each instruction with bank conflicts the worst: dicts of instruction, ways, bank, threads, offsets (where two of its threads access the block's shared memory), program.
        """

    @property
    def touched(self) -> tuple:
        """
        Sectors of global memory that the launch loads, and those that it stores to or updates: each counts once.
        """

REPLAY_PARAMETERS: tuple = ...

REPLAY_REASONS: tuple = ...

def replay(observer: CountObserver, listing: str, name: str, chip: dict, programs: Sequence[int], resident: int, active: int, shared: int, regions: Sequence[tuple[int, int, float]], timeline: int = 0) -> dict:
    """
    Replays programs of an observer's trace on one SM: cycles, when each of them ends, stalls by instruction, and what was busy. `chip`: a number for each of REPLAY_PARAMETERS.
    """

def traced_instructions(observer: CountObserver) -> dict:
    """
    Of each program of an observer's trace, how many instructions its warps executed.
    """

def trace_bytes(observer: CountObserver) -> bytes:
    """The trace of an observer as bytes, for give_trace()."""

def give_trace(observer: CountObserver, bytes: bytes) -> None:
    """An observer gets the trace that trace_bytes() wrote."""

def footprints(observer: CountObserver, regions: Sequence[tuple[int, int, float]]) -> list[tuple[int, int]]:
    """
    Of each region the bytes that the traced programs touch: each once a program, and each once.
    """

class Insertion:
    """A module with stores (or markers) put in, and where they store."""

    @property
    def text(self) -> str: ...

    @property
    def bytes(self) -> int: ...

    @property
    def notes(self) -> list[str]: ...

    @property
    def sites(self) -> list[Site]: ...

    def replace_markers(self, text: str, filename: str, kernel: str) -> None:
        """
        Stores in place of the markers in the TTGIR that was made of the module; text is that then.
        """

    def decode(self, buffer: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], programs: Sequence[Sequence[int]] = []) -> Recording:
        """
        The Recording in a buffer (uint8) of `bytes` bytes, which was zero before the launch.
        """

def make_series(site: dict, programs: Sequence[Sequence[int]], iterations: Sequence[Sequence[int]], values: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], mask: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Series:
    """A Series of registers that were read by a debugger."""

def make_recording(series: Sequence[Series], notes: Sequence[str] = []) -> Recording:
    """A Recording of them."""

def insert_stores(text: str, filename: str, kernel: str, selectors: object, grid: Sequence[int], programs: Sequence[Sequence[int]] = [], arguments: Sequence[int | None] = [], every_iteration: bool = False, markers: bool = True, max_bytes: int = 1073741824, print_signs: bool = True) -> Insertion:
    """
    An Insertion: stores put into TTGIR for the values that the selectors name. arguments: the integer arguments, a parameter each, None where it is none.
    """

def insert_markers(text: str, filename: str, kernel: str, selectors: object, grid: Sequence[int], programs: Sequence[Sequence[int]] = [], arguments: Sequence[int | None] = [], every_iteration: bool = False, markers: bool = True, max_bytes: int = 1073741824, print_signs: bool = True) -> Insertion:
    """
    The same for TTIR: markers, which replace_markers() makes stores of in the TTGIR.
    """

class RegisterTrace(RegisterObserver):
    """What threads had in registers, in a launch under Options.recorder."""

    @property
    def is_full(self) -> bool:
        """Whether the launch was too long for it."""

    @property
    def sites(self) -> list[tuple[int, bool, list[int]]]:
        """
        (instruction, whether it is looked at after it, registers) of each place.
        """

    def numbers(self, site: int, k: int) -> tuple[object, object, object]:
        """
        Three arrays, of register k of a place: threads (over the programs that came), when, values.
        """

class RegisterSubstitution(RegisterObserver):
    """
    An experiment on machine code: instructions leave other values in registers, those of one program's threads, one after the other.
    """

    def __init__(self, kernel: str, places: Sequence[tuple[int, bool, Sequence[int]]], program: Sequence[int], values: Sequence[Mapping[int, Sequence[int]]]) -> None: ...

def trace_ptx(ptx: str, filename: str, kernel: str, programs: Sequence[Sequence[int]] = []) -> RegisterTrace:
    """A trace of all registers that the kernel's PTX writes."""

def trace_plan(plan: RegisterPlan, ptx: str, filename: str, programs: Sequence[Sequence[int]] = []) -> RegisterTrace:
    """A trace of the registers that a plan for this PTX reads."""

def trace_machine(listing: str, kernel: str, programs: Sequence[Sequence[int]] = [], reads: bool = False, heads: bool = False) -> RegisterTrace:
    """
    A trace of all registers that the kernel's machine code writes; listing: what nvdisasm -c -hex -gi -gp prints. reads: and of those that instructions read which write none. heads: and of all where a loop begins.
    """

def place_by_running(plan: RegisterPlan, ptx: str, filename: str, kernel: str, of_ptx: RegisterTrace, listing: str, of_machine: RegisterTrace) -> SassPlan:
    """
    The SassPlan of what registers of the machine code had in the same threads as those of the PTX, from one launch of each. DiagnosticError where nothing is there.
    """

def recorded_by_running(plan: SassPlan, of_machine: RegisterTrace, listing: str, kernel: str, every_iteration: bool = False) -> Recording:
    """The Recording of a SassPlan that place_by_running() gave."""

def plan_sass_registers(listing: str, kernel: str, names: Sequence[str], threads: int) -> RegisterPlan:
    """
    The plan for "R10", "P0", "0x1a0", "0x1a0:R10", "FADD", "kernel.py:42", "*" of machine code.
    """

class SassPlan:
    """Which registers of a cubin are read where, and what they are parts of."""

    @property
    def notes(self) -> list[str]: ...

    @property
    def fences(self) -> list[int]:
        """Addresses to stop at too, so that executions can be counted."""

    @property
    def reads(self) -> list[tuple[int, int, str]]:
        """
        (the address to stop at, that of the instruction which gave it, the register) of each read.
        """

    @property
    def values(self) -> list[str]: ...

    def assemble(self, reads: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], programs: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], every_iteration: bool = False) -> Recording:
        """
        The Recording of values in the order in which they came: uint32[n] numbers of reads, int64[n, 3], uint32[n], uint32[n].
        """

def place_in_sass(plan: RegisterPlan, ptx: str, filename: str, kernel: str, listing: str) -> SassPlan:
    """
    A SassPlan of a RegisterPlan for the PTX; listing: what nvdisasm -gp -c prints of the cubin that was made of the same text. DiagnosticError where nothing is kept.
    """

def describe_sass(ptx: str, filename: str, kernel: str, listing: str) -> str:
    """
    A line for each instruction of the PTX that writes registers: which of the SASS hold them, or why none does.
    """

def plan_amd_registers(amdgcn: str, filename: str, kernel: str, names: Sequence[str], threads: int) -> RegisterPlan:
    """
    The plan for "v5", "v[2:3]", "s4", "vcc", "exec", "v_add_f32", "kernel.amdgcn:120", "kernel.py:42", "*" of AMD's machine code.
    """

def plan_amd_taps(tapped: Tapped, twin: str, filename: str, kernel: str, partial: bool = False, keeps_copies: bool = False) -> RegisterPlan:
    """
    The plan for a text that was compiled with taps. DiagnosticError: a value is in no register.
    """

def move_amd_plan(plan: RegisterPlan, twin: str, amdgcn: str, filename: str, kernel: str) -> RegisterPlan:
    """
    The plan for the text without taps. DiagnosticError: the two have other instructions.
    """

class Assignment:
    """
    What a statement of Python gives to a variable, as a value of the TTGIR.
    """

    @property
    def site(self) -> Site: ...

    @property
    def line(self) -> int:
        """of the statement"""

    @property
    def is_buffer(self) -> bool:
        """whether it is in shared or tensor memory"""

    @property
    def is_in_flight(self) -> bool:
        """whether the tensor cores are still computing it"""

    @property
    def constant(self) -> str:
        """the attribute that it is, or "\""""

class Assigned:
    """The assignments of a kernel's TTGIR."""

    @property
    def all(self) -> list[Assignment]: ...

    def marked(self, which: Sequence[int]) -> str:
        """The TTGIR with a mark after some of them, by their numbers."""

def assigned(ttgir: str, filename: str, kernel: str, ttir: str = '') -> Assigned:
    """ttir: the same kernel there, which says the types of its variables."""

class Marks:
    """Where assignments of a kernel are in its PTX."""

    def add(self, others: Marks, assignment: int) -> None:
        """That of another program with marks."""

    def lose(self, assignment: int) -> None:
        """Where one is cannot be told."""

    @property
    def placed(self) -> list[bool]: ...

def marks_of(assigned: Assigned, plan: RegisterPlan) -> Marks:
    """
    Those whose registers a RegisterPlan of the PTX reads: where it reads them.
    """

def find_marks(assigned: Assigned, twin: str, ptx: str, filename: str) -> Marks:
    """
    twin: the PTX of assigned.marked(). DiagnosticError where it is another program than the PTX.
    """

class Variables:
    """
    A kernel's variables of Python, where it stands at PTX or in machine code.
    """

    @property
    def assignments(self) -> list[Assignment]: ...

    def has(self, name: str) -> bool: ...

def variables_of_ptx(assigned: Assigned, ptx: str, filename: str, kernel: str, marks: Marks, plan: RegisterPlan) -> Variables:
    """By a RegisterPlan of the PTX."""

def variables_of_machine(assigned: Assigned, ptx: str, filename: str, kernel: str, marks: Marks, listing: str, plan: SassPlan | None) -> Variables:
    """By a SassPlan of the machine code that was made of the PTX."""

class DebugPlace:
    """Where a launch can stop: before an op or an instruction."""

    @property
    def name(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def at(self) -> int:
        """its line in the module's text"""

    @property
    def function(self) -> str: ...

    @property
    def block(self) -> int:
        """places of one block of the module have one number"""

    @property
    def is_statement(self) -> bool: ...

    @property
    def lines(self) -> list:
        """
        (file, line, column) in the program it was compiled from, callees first
        """

class Of(enum.Enum):
    """Which number of a value a condition is about."""

    ELEMENT = 0

    MAX = 1

    MIN = 2

    ANY = 3

    ALL = 4

    NAN = 5

    INF = 6

class Compare(enum.Enum):
    """How a condition compares it."""

    LESS = 0

    LESS_EQUAL = 1

    GREATER = 2

    GREATER_EQUAL = 3

    EQUAL = 4

    UNEQUAL = 5

def loops_of_code(text: str, kernel: str, level: str) -> list[tuple[int, list[int], list[int], bool]]:
    """
    (head, body, before, is_unrolled), in lines, of the loops of PTX or of a listing of machine code, the outermost first. before: where a loop may be entered from.
    """

class Condition:
    """acc.max() > 1e4, acc[3, 5] == 0: decided in the core."""

    def __init__(self, value: str, of: Of, index: Sequence[int], compare: Compare, number: float) -> None: ...

class Space(enum.Enum):
    """Where memory is that is watched; BARRIER: an mbarrier's phase."""

    GLOBAL = 1

    SHARED = 2

    BARRIER = 3

class WatchedMemory:
    """Bytes of global memory, or of a block's shared memory."""

    def __init__(self, space: Space, at: int, bytes: int) -> None: ...

class EditKind(enum.Enum):
    """What somebody changes while a launch stands."""

    WRITE = 0

    WRITE_SHARED = 1

    FREEZE = 2

    THAW = 3

class Breakpoint:
    """Where and when a launch stops; no places: everywhere."""

    def __init__(self, number: int, places: Sequence[int], program: Sequence[int] = [-1, -1, -1], task: int = -1, iteration: int = -1, conditions: Sequence[Condition] = [], watch: str = '', element: Sequence[int] = [], skip: int = 0, hits: int = 0, first: bool = False, memory: WatchedMemory = ...) -> None: ...

class Until(enum.Enum):
    """Where a step ends."""

    NOTHING = 0

    OP = 1

    LINE = 2

class Debugger:
    """
    Stops the launches under Options.debugger: begin(level, kernel) is called before each, stop(place, breakpoints that are hit) where it stands; False ends the launch.
    """

    def __init__(self, begin: object, stop: object) -> None: ...

    def close(self) -> None:
        """Lets go of the front end."""

    @property
    def places(self) -> list[DebugPlace]: ...

    def set_lines(self, lines: Sequence[Sequence[int]]) -> None:
        """
        Of each place the numbers of the lines that it stands on, callers first.
        """

    def set_loop_names(self, names: Sequence[tuple[str, int, str]]) -> None:
        """(file, line, name): what loops count by whose text has no name for it."""

    def set_loops(self, loops: Sequence[tuple[int, Sequence[int], Sequence[int]]]) -> None:
        """
        (head, body, before), in places: loops of code whose iterations are counted.
        """

    def set_breakpoints(self, breakpoints: Sequence[Breakpoint]) -> None:
        """All of them; those that were there keep their counts."""

    def hits(self, number: int) -> int: ...

    def focus(self, program: Sequence[int], task: int = -1) -> None:
        """Stops are made in these programs, and in this task, only; -1: any."""

    def go(self) -> None: ...

    def step(self, until: Until, depth: int = 1048576, line: int = -1) -> None: ...

    def set_sparse(self, on: bool) -> None:
        """
        Set when a launch begins: it stops at places of breakpoints alone, and only what their conditions name can be seen there; the code between is what other launches run.
        """

    def set_edits(self, edits: Sequence[tuple[int, EditKind, int, bytes]]) -> None:
        """
        (moment, kind, number of the value, offset or task, bytes): done when a launch comes there again.
        """

    def edit(self, kind: EditKind, what: int, bytes: bytes) -> bool:
        """Does one now. False: it cannot be."""

    @property
    def visit(self) -> int:
        """
        how many times the program and task had come to this place, which has a breakpoint
        """

    def go_to_visit(self, place: int, program: Sequence[int], task: int, visit: int) -> None: ...

    def go_to(self, moment: int) -> None: ...

    def search(self, what: Until, depth: int, moment: int, further: bool = False) -> None:
        """
        Goes on to that moment, and notes the last one before it at which an op or a line of the program began, or a breakpoint was hit. further: of the task that the search before was of.
        """

    @property
    def noted(self) -> int:
        """the moment, or -1: none"""

    @property
    def unsure(self) -> int:
        """
        the first moment of which a search that began late does not know whether it is one, or -1
        """

    @property
    def late(self) -> int | None:
        """
        the moment that this run began with, where it is not its first, or None
        """

    def begin_launch(self) -> None: ...

    def end_launch(self) -> None:
        """What a launch wrote is kept between the two, by the core."""

    def original(self, address: int, bytes: int) -> bytearray:
        """What memory was before the launch."""

    def put_back(self, moment: int) -> None:
        """
        Before the launch is run again: memory is as it was where that moment is still to come (-1: as late as it can begin), and there the next run begins.
        """

    def keep_every(self, seconds: float) -> None:
        """
        How often what a program is gets kept, for go_back(); 0, for tests: at each place.
        """

    def go_back(self, moment: int) -> bool:
        """
        While it stands: it goes on from the last moment not after this one that was kept. False: there is none.
        """

    @property
    def moment(self) -> int:
        """how many places the launch has come to"""

    def interrupt(self) -> None: ...

    @property
    def program(self) -> list[int]: ...

    @property
    def task(self) -> int: ...

    @property
    def iterations(self) -> list[int]:
        """of the loops around it, outermost first"""

    @property
    def calls(self) -> list[int]:
        """the places of the calls that it is in, outermost first"""

    def values(self) -> list:
        """The Site of each value in sight, the nearest definition first."""

    def find(self, name: str) -> int | None:
        """The number of the nearest value with that name, or None."""

    def mask_of(self, value: int) -> int | None:
        """
        The number of the mask that a value was loaded under, where that is in sight, or None.
        """

    def read(self, value: int) -> object:
        """
        (type, shape, bytes, mask or None) of a value, or None: it is not computed yet.
        """

    @property
    def threads(self) -> object:
        """
        (block in the cluster, first thread, how many) of those that stand here
        """

    @property
    def tensor_memory(self) -> object:
        """128 words of 32 bits a column, or None: the block has allocated none"""

    @property
    def tensor_columns(self) -> list[tuple[int, int]]:
        """[first, last) of those that are allocated"""

    @property
    def block_threads(self) -> int: ...

    @property
    def shared_bytes(self) -> int | None: ...

    def shared(self, at: int, bytes: int) -> object:
        """Bytes of the block's shared memory, or None: it has not so many."""

    @property
    def paths(self) -> list[str]:
        """what each task or path of the program does"""

    @property
    def barriers(self) -> list:
        """
        (block, address in shared memory, what its phase lacks, who waits) of each mbarrier
        """

    @property
    def copies(self) -> list[str]:
        """asynchronous operations under way, oldest first"""

    @property
    def buffers(self) -> list:
        """
        (number of the value or None, name of the variable, whether in tensor memory, address, bytes)
        """

    @property
    def descriptors(self) -> list[tuple[str, str]]:
        """(name, text) of tensor descriptors"""

    def set_variables(self, variables: Mapping[str, Variables]) -> None:
        """
        Of a launch of PTX or machine code, by name: for conditions and watchpoints, too.
        """

    def find_variable(self, name: str, place: int) -> tuple[str, int]:
        """
        ("none", "buffer", "nowhere", "not yet", "partly" or "there", the number of its assignment).
        """

    def read_variable(self, name: str, place: int) -> object:
        """
        (type, shape, bytes, which elements are in threads that are here), or None: it is not there.
        """

    def variable_writes(self, name: str, place: int, bytes: bytes) -> list[tuple[int, bytes]]:
        """
        (register, what its threads are to have) of each that another value of a variable changes.
        """

class Recorder:
    """
    Records values of the launches under Options.recorder on the tile engine.
    """

    def __init__(self, selectors: object, markers: bool = True, every_iteration: bool = False, programs: Sequence[Sequence[int]] = [], max_bytes: int = 1073741824, kernels: Sequence[str] = []) -> None:
        """
        selectors: texts, or (variable, ["kernel.py:42", ...]); programs: (x, y, z), -1 for any; kernels: names, none for all.
        """

    def take(self) -> list:
        """The recordings of the launches since the last call."""

def nearest_names(wanted: str, names: Sequence[str]) -> list[str]:
    """The names closest to `wanted`, best first, at most three."""

def values(module: triton_runner._core.ir.Module, kernel: str) -> list:
    """
    [(name, ir.Value)] of the values of a kernel that can be recorded, in the order of the text: names as Site.value has them, each of one value.
    """

def select(module: triton_runner._core.ir.Module, kernel: str, selectors: object) -> list:
    """
    [(Site, number of the selector)] of the values that the selectors choose, in the order of the text.
    """
