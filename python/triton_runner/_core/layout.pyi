"""Encodings of Triton's IR as tables."""

from collections.abc import Sequence


class BankAccess:
    """One instruction of a warp that touches shared memory."""

    @property
    def registers(self) -> list[int]: ...

    @property
    def bytes(self) -> list[int]: ...

    @property
    def turns(self) -> int: ...

    @property
    def fewest(self) -> int: ...

    @property
    def conflicts(self) -> int: ...

class BankTable:
    """The accesses by which a warp moves a tensor."""

    @property
    def vector_bytes(self) -> int: ...

    @property
    def accesses(self) -> list[BankAccess]: ...

class Encoding:
    """An encoding on a shape."""

    @property
    def kind(self) -> str: ...

    @property
    def element_bits(self) -> int: ...

    @property
    def is_shared(self) -> bool: ...

    @property
    def is_distributed(self) -> bool: ...

    @property
    def bases(self) -> dict: ...

    def places(self) -> dict:
        """
        {input: the lowest index that holds each element}, in shared memory "byte" for the offset; "copies".
        """

    def holders(self, index: Sequence[int]) -> list[list[int]]:
        """Every [register, lane, warp, block] that holds the element."""

    @property
    def shared_bytes(self) -> int: ...

    def banks(self, registers: Encoding, warp: int = 0, most_bytes: int = 16) -> BankTable: ...

def read(encoding: str, shape: Sequence[int], element: str, aliases: str = '') -> Encoding:
    """
    The layout of an encoding's text; `aliases` is a module that names encodings.
    """
