"""Which values of a TTIR module depend on which, through loops and branches: to tell a difference that
matters from one that nothing shows."""

from __future__ import annotations

from triton_runner import ir


class Flow:
    """The data flow of a module's text."""

    def __init__(self, text: str):
        self._module = ir.parse(text)
        self._values = {}
        for op in self._module.walk():
            found = [*op.results]
            for region in op.regions:
                for block in region.blocks:
                    found += block.args
            for value in found:
                self._values.setdefault(str(value).split(" ")[0].rstrip(":"), value)

    def readers(self, name: str, compared) -> tuple[set, bool]:
        """The nearest values after %name that are in `compared`, and whether it reaches memory without
        one."""
        start = self._values.get(name)
        if start is None:
            return set(), True
        seen, waiting, found, stored = {id(start)}, [start], set(), False
        names = {}
        while waiting:
            for value in self._next(waiting.pop()):
                if value is None:
                    stored = True
                    continue
                key = names.setdefault(str(value), str(value))
                if key in seen:
                    continue
                seen.add(key)
                if key in compared and key != name:
                    found.add(key)
                else:
                    waiting.append(value)
        return found, stored

    def _next(self, value):
        """What a value goes into: other values; None for memory."""
        for op, operand in value.uses:
            if op.name == "scf.yield":
                loop = op.parent
                if loop.name == "scf.for":
                    yield loop.results[operand]
                    yield loop.regions[0].blocks[0].args[operand + 1]
                elif loop.name == "scf.while":
                    yield loop.regions[0].blocks[0].args[operand]
                else:
                    yield from loop.results[operand : operand + 1]
            elif op.name == "scf.condition":
                loop = op.parent
                if operand == 0:
                    yield from loop.results
                else:
                    yield loop.results[operand - 1]
                    yield loop.regions[1].blocks[0].args[operand - 1]
            elif op.name == "scf.for":
                args = op.regions[0].blocks[0].args
                if operand < 3:
                    yield args[0]
                    yield from op.results
                else:
                    yield args[operand - 2]
                    yield op.results[operand - 3]
            elif op.name == "scf.while":
                yield op.regions[0].blocks[0].args[operand]
            elif op.results:
                yield from op.results
            else:
                yield None
