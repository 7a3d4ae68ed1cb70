"""LazyAsm holds texts by level, and compiles a level that nobody has compiled yet when it is first asked
for. Onward keeps what was compiled: who compiled to a level has passed those above it."""

from __future__ import annotations


class Onward:
    """The compilations of a kernel to levels below its own. compile(text, level) gives its texts by level
    (asm) and its metadata. A text passes each level once."""

    def __init__(self, compile):
        self._compile = compile
        self._results: list[tuple] = []  # (text, what it was compiled to)

    def to(self, text, level: str):
        """The result of a compilation that passed a level."""
        for known, result in self._results:
            if level in result.asm and known == text:
                return result
        self._results.append((text, self._compile(text, level)))
        return self._results[-1][1]


class LazyAsm(dict):
    """The texts by level; a level of `later` runs Triton's stages (complete(level).asm) when it is first
    asked for. The AMDGCN of an hsaco is decoded from it, where it is not there."""

    def __init__(self, present: dict, later: tuple, complete):
        super().__init__(present)
        self._later = later
        self._complete = complete

    def __missing__(self, key):
        if key in self._later:
            self.update({k: v for k, v in self._complete(key).asm.items() if k not in self.keys()})
            return self[key]
        if key == "sass" and "cubin" in self:
            from triton.tools.disasm import get_sass

            self[key] = get_sass(self["cubin"])
            return self[key]
        if key == "amdgcn" and super().__contains__("hsaco"):
            from triton_runner import _core  # texts are also looked at where nothing is executed

            self[key] = _core.amdgcn_of_hsaco(self["hsaco"])
            return self[key]
        raise KeyError(f"no level {key!r}; levels: {', '.join([*self, *self._later])}")

    def __contains__(self, key):
        is_decoded = key == "amdgcn" and super().__contains__("hsaco")
        return is_decoded or super().__contains__(key) or key in self._later

    def get(self, key, default=None):
        try:
            return self[key]
        except KeyError:
            return default
