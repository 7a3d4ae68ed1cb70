"""Tests the walk back from a wrong element (assemble --check): which instructions stand in for an unrolled
one."""

from types import SimpleNamespace

from triton_runner._kernel.lockstep import apart


def _places(values_of_copies: list[int], values_of_word: int):
    """The places for the first of two alike instructions, whose registers have so many values."""
    instructions = [SimpleNamespace(ptx_line=7, name="IADD3") for _ in values_of_copies]
    columns = {(at, 4 + at): SimpleNamespace(values=[0] * n) for at, n in enumerate(values_of_copies)}
    machine = SimpleNamespace(
        instructions=instructions, writes=[[4 + at] for at in range(len(instructions))], columns=columns
    )
    node = SimpleNamespace(at=0, register=4, stored=False)
    word = SimpleNamespace(values=[0] * values_of_word)
    return apart.Walk._places(SimpleNamespace(machine=machine), node, columns[0, 4], word)


def test_all_copies_of_an_unrolled_instruction():
    assert _places([2, 2], 4) == [[(0, True, [4]), (1, True, [5])]]


def test_the_instruction_alone_where_its_copies_do_not_add_up():
    assert _places([2, 2], 3) == [[(0, True, [4])]]
