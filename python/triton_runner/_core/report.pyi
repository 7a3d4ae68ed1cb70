"""What the source map and the page of a kernel are made from."""



class Map:
    """The rows of a kernel's levels over one set of places of its source."""

    def __init__(self) -> None: ...

    def add(self, text: str, level: str) -> None:
        """
        Reads a text of ttir, ttgir, llir, ptx, amdgcn or sass; sass after the ptx that it was made from.
        """

    def rows(self, level: str) -> list:
        """Of a level: (line in the text, op, places, line of the PTX)."""

    def text(self, level: str) -> str:
        """The listing that rows of sass count; empty for other levels."""

    def files(self) -> list[str]:
        """The source's files."""

    def places(self, first: int = 0) -> list:
        """
        (file, line, column, the place that called it or -1) of each place from a number on.
        """

    def places_of_lines(self, mlir: str) -> list[int]:
        """
        Of each line of an IR the number of its first place, or -1. Adds new places.
        """

    def json(self) -> str:
        """Files, places and levels."""

def draw_layouts(ttgir: str) -> list:
    """
    The layouts of a TTGIR's tensors and buffers. cells are int32: (register, lane, warp, holders) of each element, or its byte offset in shared memory.
    """
