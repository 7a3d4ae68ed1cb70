"""Watches the launches of a program, of which each kernel is looked at once, compiled without what its
first launch happens to divide by."""

from __future__ import annotations

import contextlib
import re

from triton_runner._artifact import relaunch
from triton_runner._base.errors import DiagnosticError, KernelTrap, fail, in_a_line
from triton_runner._launch.launchers import constants_of, observing, signature
from triton_runner._programs import intercept
from triton_runner.verbs.prove import relations, shared, sizes, tensors
from triton_runner.verbs.prove.held import Held, Integers
from triton_runner.verbs.prove.results import Reason
from triton_runner.verbs.prove.subject import Strange, compiled_down, of_texts
from triton_runner.verbs.prove.terms import Substitution, atoms_of, equal, poly, symbol


class Watching(intercept.Interceptor):
    """subjects: of the kernels that the program launched; left_out: launches that are not looked at; held:
    what of --given they go against."""

    def __init__(self, names, most: int, target: str | None, given: tuple = ()):
        super().__init__(names, None)
        self.held = Held(given)
        self.subjects: list = []
        self.left_out: list[Reason] = []
        self._most, self._target, self._names = most, target, names
        self._done: dict = {}  # of each kernel, how its sizes belong together: the assumptions
        self._compiled: dict = {}
        self._launch = None
        self._watch = None

    def run(self, *words) -> int:
        with tensors.watching() as self._watch, observing(self._observe), self._autotuning():
            return super().run(*words)

    @contextlib.contextmanager
    def looking(self):
        """Looks at what is launched inside of the block."""
        with tensors.watching() as self._watch, observing(self._observe), self._autotuning():
            with self.watching():
                yield

    @contextlib.contextmanager
    def _autotuning(self):
        """Asks heuristics, and what prunes configurations, with sizes: an autotuner has numbers in their
        place."""
        from triton.runtime.autotuner import Autotuner, Heuristics

        own, prune = Heuristics.run, Autotuner.prune_configs

        def tracked(plain) -> dict:
            named = self._launch["named"] if self._launch else {}
            return {name: one for name, one in named.items() if isinstance(one, sizes.Size) and name in plain}

        def run(function, *args, **keywords):
            given = {**dict(zip(function.arg_names, args, strict=False)), **keywords}
            for name, make in function.values.items() if tracked(given) else ():
                self._launch["named"][name] = given[name] = make({**given, **tracked(given)})
            return own(function, *args, **keywords)

        def prune_configs(tuner, keywords):
            plain = tuner.nargs
            tuner.nargs = {**plain, **tracked(plain)}
            try:
                return prune(tuner, {**keywords, **tracked(keywords)})
            finally:
                tuner.nargs = plain

        Heuristics.run, Autotuner.prune_configs = run, prune_configs
        try:
            yield
        finally:
            Heuristics.run, Autotuner.prune_configs = own, prune

    def seen(self, launch: intercept.InterceptedLaunch):
        """Keeps the terms of a launch, and gives Triton plain numbers."""
        names = launch.function.arg_names
        named = {**dict(zip(names, launch.args, strict=False)), **launch.keywords}
        grid = launch.keywords.get("grid")
        kept = self._launch = {"named": named, "grid": grid}

        def plain_grid(meta):
            tracked = {name: value for name, value in named.items() if isinstance(value, sizes.Size)}
            kept["grid"] = grid({**meta, **{name: tracked[name] for name in tracked if name in meta}})
            return sizes.plain(kept["grid"])

        launch.replace(sizes.plain, {"grid": plain_grid} if callable(grid) else {})

    def _observe(self, call, go) -> None:
        if not self._names or call.name in self._names:
            self.held.look(call.name, dict(call.named))
        try:
            go()
        except KernelTrap:  # a launch that goes wrong tells of sizes as any other does
            self._after(call)
            raise
        self._after(call)

    def _after(self, call) -> None:
        launch, self._launch = self._launch, None
        if launch is None and not self._inside:  # of a compiled kernel itself
            launch = {"named": dict(call.named), "grid": call.grid}
        if launch is None or (self._names and call.name not in self._names):
            return
        src = getattr(call.kernel, "src", None)
        if call.function is None or src is None:
            return
        try:
            self._look(call, launch, src)
        except DiagnosticError as error:
            why = in_a_line(error).removeprefix(f"{type(error).__name__}: ")
            self.left_out.append(Reason(f"{call.name}: {why}"))

    def _look(self, call, launch: dict, src) -> None:
        types, constants = _signature(call, src, launch["named"])
        key = (call.name, repr(types), repr(constants))
        if key not in self._compiled and len(self.subjects) < self._most:
            self._compiled[key] = compiled_down(call.function, types, constants, target=self._target)
        compiled = self._compiled.get(key)
        if compiled is None:
            return self._leave_out(f"{call.name}, a later kernel (--launches)")
        subject = of_texts(compiled.asm, call.name, compiled.target, compiled.metadata, constants, types)
        self._relate(subject, launch)
        told = [one.text for one in subject.assumptions if not one.text.endswith(relations.CHECKED)]
        plain = [text if "." in text else re.sub(r"\d+", "#", text) for text in told]
        if (kind := (key, *plain)) not in self._done:
            if len(self.subjects) >= self._most:
                return self._leave_out(f"{call.name} with other sizes (--launches)")
            self._done[kind] = told
            subject.buffers = shared.of_launch(relaunch.of_call(call))
            subject.integers_held = Integers({**subject.constants, **dict(call.named)})
            self.subjects.append(subject)
        elif self._done[kind] != told:
            self._leave_out(f"{call.name} with other numbers than those that are assumed")
        return None

    def _leave_out(self, text: str) -> None:
        if all(one.text != text for one in self.left_out):
            self.left_out.append(Reason(text))

    def _relate(self, subject, launch: dict) -> None:
        named, shapes, strides, numels, terms = launch["named"], {}, {}, {}, {}
        rename: dict = {}
        for name in subject.tensors:
            value = named.get(name)
            if value is None or not hasattr(value, "untyped_storage"):
                continue
            shapes[name], strides[name], numels[name] = self._watch.described(value)
        dense = {name for name, steps in strides.items() if self._watch.is_contiguous(steps)}
        for name, shape in shapes.items():
            fields = [(f"{name}.numel", numels[name])]
            fields += [(f"{name}.shape[{i}]", one) for i, one in enumerate(shape)]
            fields += [(f"{name}.stride[{i}]", one) for i, one in enumerate(strides[name])]
            for word, one in fields:
                if one.atom is not None and _is_size(one.atom):
                    rename.setdefault(one.atom, symbol(word, one.atom.lo, one.atom.hi))
        grid = launch["grid"] if isinstance(launch["grid"], (tuple, list)) else (launch["grid"],)
        named = {**named, **relations.described(subject, named)}
        used = [*grid, *(named.get(name) for name in (*subject.integers, *subject.constants))]
        used = [one.term for one in used if isinstance(one, sizes.Size)]
        own = [one for name in shapes for one in (*shapes[name], *strides[name], numels[name])]
        others = sorted(atoms_of(*used, *own))
        others = [atom for atom in others if _is_size(atom) and atom not in rename]
        for number, atom in enumerate(others):
            field = atom.args[0].partition(".")[2]  # of a tensor that is not an argument
            least = atom.lo if field.startswith("stride") else max(atom.lo, 1)  # no dimension is empty
            rename[atom] = symbol(f"other{number}.{field}", least, atom.hi)
        change = Substitution(rename)

        def term(value):
            """Returns the term of a number that is made of sizes of tensors."""
            return change.poly(value.term) if isinstance(value, sizes.Size) else None

        for name in subject.integers:
            if (own := term(named.get(name))) is not None:
                terms[name] = own
        grid = [one if (own := term(one)) is None else own for one in grid]
        shapes = {name: [change.poly(one) for one in shape] for name, shape in shapes.items()}
        strides = {name: [change.poly(one) for one in steps] for name, steps in strides.items()}
        numels = {name: change.poly(one) for name, one in numels.items()}
        noted = [(change.cond(cond), place) for cond, place in sizes.noted([*map(poly, rename)])]
        for name, value in subject.constants.items():
            if (own := term(named.get(name))) is not None:
                noted.append((equal(own, value), f"the constant {name}"))
        subject.strange |= self._unfollowed(rename)
        own = {rename[atom].atom: self._watch.number(atom) for atom in others}
        own = {atom: number for atom, number in own.items() if number is not None}
        relations.relate(subject, named, terms, shapes, strides, numels, grid, noted, dense=dense, others=own)

    def _unfollowed(self, rename: dict) -> dict:
        """{a size that torch made in a way that is not followed, and that is equal to another one here:
        Strange}: a launch in which it is another one may be none that the program makes."""
        words, found = {atom: term.atom for atom, term in rename.items()}, {}
        for atom in words:
            number, name = self._watch.number(atom), self._watch.made_by.get(atom)
            same = [one for one in words if one is not atom and self._watch.number(one) == number]
            if name and number is not None and number > 1 and same:
                own, other = words[atom].args[0], words[same[0]].args[0]
                text = f"{own}, a size that torch's {name} made: --given '{own} == {other}'"
                found[words[atom]] = Strange(text, (own,))
        return found


def _is_size(atom) -> bool:
    """Whether an atom is the size of a tensor, which has no name yet."""
    return atom.kind == "sym" and atom.args[0].startswith("tensor")


def _signature(call, src, named: dict) -> tuple[dict, dict]:
    """(types, constants) by parameter, as the launch has them, without multiples of 16."""
    types, constants = {}, {}
    own = dict(signature(src))
    parameters = {parameter.name: parameter for parameter in call.function.params}
    for name in call.function.arg_names:
        value, kind = named.get(name, parameters[name].default), own.get(name, "constexpr")
        if parameters[name].is_constexpr or value is None:
            constants[name] = _constant(call, name, value)
        elif isinstance(value, (tuple, list)):
            raise fail(f"its argument '{name}' is a tuple: proofs are of kernels of tensors and numbers")
        elif kind == "constexpr" or (
            isinstance(value, int) and not isinstance(value, bool) and int(value) == 1
        ):
            is_size = (
                isinstance(value, sizes.Size)
                and value.term.const is None
                and "stride" not in repr(value.term)
            )
            types[name] = "i32" if is_size else f"{'i32' if kind == 'constexpr' else kind}:1"
        else:
            types[name] = kind
    return types, constants


def _constant(call, name: str, value):
    known = constants_of(call.kernel.src)
    return sizes.plain(known.get(name, value))
