"""AMD's machine code: the instructions of kernels."""



class Instruction:
    """An instruction; str() is its text."""

    @property
    def index(self) -> int:
        """among those of its kernel"""

    @property
    def spelling(self) -> str:
        """'v_add_f32_e32'"""

    @property
    def name(self) -> str:
        """'v_add_f32'"""

    @property
    def line(self) -> int:
        """in the text"""

    @property
    def address(self) -> int:
        """the same: the text has no addresses"""

    @property
    def ptx_line(self) -> int:
        """0: there is no PTX"""

    @property
    def program(self) -> str:
        """'kernel.py:42' that it was made of; '': not known"""

    @property
    def writes(self) -> list[str]:
        """the registers that it writes: ['v5']"""

    @property
    def pipe(self) -> str:
        """'VALU', 'SALU', 'MFMA', 'LDS', 'VMEM', 'SMEM', 'BRANCH'"""

    @property
    def space(self) -> str:
        """of the memory that it accesses: 'global', 'shared', 'local', ''"""

    @property
    def access(self) -> str:
        """'load', 'store', 'atomic', ''"""

    @property
    def flops(self) -> int:
        """of a lane"""

    @property
    def matrix_operations(self) -> int:
        """of a wavefront: products and sums"""

    @property
    def matrix_type(self) -> str:
        """of what is multiplied: 'f16'"""

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

def instructions(text: str, kernel: str = '', filename: str = '<amdgcn>') -> list[Instruction]:
    """
    The instructions of a kernel, those of the functions that it calls after its own.
    """

def is_register(name: str) -> bool:
    """Whether it is a register's name: v5, v[2:3], s4, a0, vcc, exec, m0."""
