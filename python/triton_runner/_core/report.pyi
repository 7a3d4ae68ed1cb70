"""What the source map and the page of a kernel are made from."""



def read_lines(text: str, level: str) -> tuple:
    """
    (files, places, rows, text) of a text of ttir, ttgir, llir, ptx, amdgcn or sass. A place is (file, line, column, the place that called it or -1); a row (line in the text, op, places, line of the PTX); text is the listing that rows of sass count.
    """

def draw_layouts(ttgir: str) -> list:
    """
    The layouts of a TTGIR's tensors and buffers. cells are int32: (register, lane, warp, holders) of each element, or its byte offset in shared memory.
    """
