"""NVIDIA's machine code: functions and their instructions."""



class Instruction:
    """An instruction; str() is its text."""

    @property
    def index(self) -> int:
        """among those of its function"""

    @property
    def address(self) -> int:
        """from the function's start"""

    @property
    def spelling(self) -> str:
        """'LDG.E.128'"""

    @property
    def name(self) -> str:
        """'LDG'"""

    @property
    def modifiers(self) -> list[str]:
        """['E', '128']"""

    @property
    def line(self) -> int:
        """in the listing"""

    @property
    def ptx_line(self) -> int:
        """that it was made of; 0: not known"""

    @property
    def program(self) -> str:
        """'kernel.py:42' that it was made of; '': not known"""

    @property
    def always(self) -> bool:
        """whether no guard lets threads pass it by"""

    def does(self, word: str) -> bool:
        """
        whether it has an effect (ptx/effects.def: 'writes') or a trait (sass/traits.def: 'moves'); ValueError: no such word
        """

    @property
    def reads(self) -> list[int]:
        """the registers that it reads, by number: R0 0, UR0 256, P0 512, UP0 768"""

    @property
    def writes(self) -> list[int]:
        """the registers that it writes"""

    @property
    def address_registers(self) -> list[int]:
        """those that its address is made of"""

    @property
    def descriptor_registers(self) -> list[int]:
        """those of desc[]: of all of global memory"""

    @property
    def offset(self) -> int:
        """what is added to them"""

    @property
    def bytes(self) -> int:
        """of memory that an access of a thread takes"""

    @property
    def frame(self) -> list[int]:
        """
        the words of the stack frame that it loads or stores, by number, FRAME_WORDS the first
        """

    @property
    def targets(self) -> list[int]:
        """the indices of the instructions that may come after it, labels first"""

    @property
    def pipe(self) -> str:
        """of the SM, 'ALU'; '': no source says"""

    @property
    def space(self) -> str:
        """
        of the memory that it accesses: 'global', 'shared', 'local', 'generic', 'tma', ''
        """

    @property
    def access(self) -> str:
        """'load', 'store', 'atomic', 'reduction', 'copy', ''"""

    @property
    def flops(self) -> int:
        """of a thread"""

    @property
    def matrix_operations(self) -> int:
        """of a warp: products and sums"""

    @property
    def matrix_type(self) -> str:
        """of what is multiplied: 'f16'"""

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

class Function:
    """
    A kernel with the functions that were put into it, or a function of its own.
    """

    @property
    def name(self) -> str: ...

    @property
    def instructions(self) -> list[Instruction]: ...

    @property
    def loops(self) -> list[tuple[int, int, list[int]]]:
        """
        (the instruction that a round begins with, the last that jumps back, all of them) of each loop, the largest first
        """

    def live(self, index: int) -> list[int]:
        """
        the registers, and the words of the stack frame, that are live before an instruction
        """

    def definitions(self, register: int, index: int) -> list[int]:
        """
        the instructions that may have given what a register has before an instruction
        """

    def uses(self, register: int, index: int) -> list[int]:
        """
        the instructions that read what a register has before an instruction, it among them
        """

    def hazards(self) -> tuple[list[tuple[str, str, Instruction, Instruction]], int, int]:
        """
        ([(message, register, where, the instruction that causes it)], instructions that a path reaches, of these such as cannot be judged): what control words let go wrong
        """

    def __repr__(self) -> str: ...

FRAME_WORDS: int = 65536

def parse(listing: str, filename: str = '<sass>') -> list[Function]:
    """
    The functions in what nvdisasm -c -hex prints; DiagnosticError for its first fault.
    """

def parse_kernel(listing: str, kernel: str) -> Function:
    """One of them; DiagnosticError: it is not there."""

def opcode_table() -> list:
    """
    Every row of the table: the opcode with the suffixes that make it another one (IMAD_WIDE), the shapes of its operands, its family ('': it is refused), its effects and traits, its pipe.
    """

def register_name(number: int) -> str:
    """'R4', 'UP0'; of a word of the stack frame '[R1+0x8]'"""
