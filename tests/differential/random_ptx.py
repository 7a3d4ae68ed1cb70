"""A random PTX kernel from a seed, made of what an assembler rewrites: chains of selections, shifts,
carries, byte permutes, minima and maxima, narrow integers and pairs of them, values that all threads share,
branches that part a warp, loops, predicated loads, stores and cp.async, shared and local memory. Whatever
executes it has to give the same bits: floats are rounded where the text says (.rn), no atomics, no NaN leaves
a float but as a predicate or an integer.

The comments at its head describe its launch, as `triton-runner assemble --check` takes them.
"""

import random

INPUTS = 6  # words that each thread loads
THREADS = 64  # of a block
BLOCKS = 2
NUMBERS = (
    0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 24, 31, 32, 33, 63, 127, 128, 255, 256, 65535, 65536, -1, -2, -128,
    0x7FFFFFFF, -0x80000000, 0x55555555, 0x80FF00FF - 2**32,
)  # fmt: skip


class Generator:
    def __init__(self, seed: int, target: str):
        self.random = random.Random(f"ptx {seed}")
        self.has_packed = int("".join(filter(str.isdigit, target))) >= 90  # arithmetic of pairs
        self.lines: list[str] = []
        self.count = {"r": 0, "d": 0, "p": 0, "f": 0, "h": 0}
        self.values: dict[str, list[str]] = {name: [] for name in self.count}
        self.labels = 0
        self.has_local = False
        self.depth = 0  # of branches that may part a warp

    # ---- writing

    def new(self, kind: str) -> str:
        self.count[kind] += 1
        return f"%{kind}{self.count[kind] - 1}"

    def write(self, *lines: str) -> None:
        self.lines += [f"  {line}" for line in lines]

    def let(self, kind: str, text: str) -> str:
        """A new value, by a line in which {} is its register."""
        name = self.new(kind)
        self.write(text.format(name))
        self.values[kind].append(name)
        return name

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    # ---- picking

    def pick(self, kind: str) -> str:
        values = self.values[kind]
        return values[-1 - min(int(self.random.expovariate(0.2)), len(values) - 1)]

    def number(self) -> str:
        return str(self.random.choice(NUMBERS))

    def r(self) -> str:
        """A word, sometimes a number."""
        return self.number() if self.random.random() < 0.2 else self.pick("r")

    def one(self, *words: str) -> str:
        return self.random.choice(words)

    # ---- operations

    def integer(self) -> None:
        a, b, c = self.pick("r"), self.r(), self.r()
        n = self.random.randint(0, 255)
        s, w = self.one("s32", "u32"), self.one("s16", "u16", "s8", "u8")
        self.let(
            "r",
            self.one(
                f"add.s32 {{}}, {a}, {b};", f"sub.s32 {{}}, {a}, {b};", f"mul.lo.s32 {{}}, {a}, {b};",
                f"mul.hi.{s} {{}}, {a}, {b};", f"mad.lo.s32 {{}}, {a}, {b}, {c};",
                f"mad.hi.{s} {{}}, {a}, {b}, {c};",
                f"and.b32 {{}}, {a}, {b};", f"or.b32 {{}}, {a}, {b};", f"xor.b32 {{}}, {a}, {b};",
                f"not.b32 {{}}, {a};", f"neg.s32 {{}}, {a};", f"abs.s32 {{}}, {a};",
                f"lop3.b32 {{}}, {a}, {b}, {c}, {n};", f"sad.{s} {{}}, {a}, {b}, {c};",
                f"min.{s} {{}}, {a}, {b};", f"max.{s} {{}}, {a}, {b};", f"min.{s} {{}}, {a}, {b};",
                f"mul24.lo.{s} {{}}, {a}, {b};", f"popc.b32 {{}}, {a};", f"clz.b32 {{}}, {a};",
                f"brev.b32 {{}}, {a};",
                f"bfind.{s} {{}}, {a};", f"bfind.shiftamt.{s} {{}}, {a};",
                f"dp4a.{s}.{s} {{}}, {a}, {b}, {c};",
                f"dp2a.lo.{s}.{s} {{}}, {a}, {b}, {c};", f"div.{s} {{}}, {a}, {self.divisor()};",
                f"rem.{s} {{}}, {a}, {self.divisor()};", f"cvt.s32.{w} {{}}, {a};",
                f"cvt.sat.{w}.s32 {{}}, {a};",
                f"cvt.sat.{w}.u32 {{}}, {a};", f"fns.b32 {{}}, {a}, 0, {self.random.randint(1, 4)};",
            )
            if not self.is_rare()
            else f"mul.wide.{self.one('s16', 'u16')} {{}}, {self.half()}, {self.half()};",
        )  # fmt: skip

    def is_rare(self) -> bool:
        return self.random.random() < 0.05

    def half(self) -> str:
        """A 16-bit register."""
        if self.values["h"] and self.random.random() < 0.5:
            return self.pick("h")
        name = self.new("h")
        self.write(f"cvt.u16.u32 {name}, {self.pick('r')};")
        return name

    def halves(self) -> None:
        """Arithmetic of 16 bits, as LLVM narrows what needs no more."""
        a, b, c = self.half(), self.half(), self.half()
        n, s = self.random.choice((1, 3, 9, 255, 1000, 8389)), self.one("s16", "u16")
        self.let(
            "h",
            self.one(
                f"add.s16 {{}}, {a}, {b};", f"sub.s16 {{}}, {a}, {b};", f"mul.lo.s16 {{}}, {a}, {n};",
                f"mul.hi.{s} {{}}, {a}, {n};", f"mad.lo.s16 {{}}, {a}, {n}, {c};",
                f"shr.{s} {{}}, {a}, {n % 16};", f"shl.b16 {{}}, {a}, {n % 16};",
                f"min.{s} {{}}, {a}, {b};", f"max.{s} {{}}, {a}, {b};",
                f"and.b16 {{}}, {a}, {n};", f"xor.b16 {{}}, {a}, {b};", f"neg.s16 {{}}, {a};",
                f"selp.b16 {{}}, {a}, {b}, {self.pick('p')};",
            ),
        )  # fmt: skip
        if self.random.random() < 0.5:
            self.let("r", self.one("cvt.u32.u16", "cvt.s32.s16") + f" {{}}, {self.pick('h')};")

    def packed(self) -> None:
        """Pairs of 16 bits in a word, several of them with one number."""
        number = self.new("r")
        self.write(f"mov.b32 {number}, {self.random.choice((65537, 65536, 1, 0x00070009, -1, 0x7FFF8000))};")
        for _ in range(self.random.randint(1, 3)):
            pair = self.let("r", f"mov.b32 {{}}, {{{{{self.half()}, {self.half()}}}}};")
            if self.has_packed:
                s = self.one("s16x2", "u16x2")
                other = self.one(number, number, self.pick("r"))
                pair = self.let(
                    "r",
                    self.one("add.s16x2", f"min.{s}", f"max.{s}", "add.s16x2") + f" {{}}, {pair}, {other};",
                )
            low, high = self.new("h"), self.new("h")
            self.write(f"mov.b32 {{{low}, {high}}}, {pair};")
            self.values["h"] += [low, high][: self.random.randint(1, 2)]

    def absolute(self) -> None:
        """|x| as LLVM writes it, with another minimum or maximum, or a chain of them."""
        a, s = self.pick("r"), self.one("s32", "u32")
        negative = self.let("r", f"neg.s32 {{}}, {a};")
        value = self.let("r", f"max.s32 {{}}, {a}, {negative};")
        for _ in range(self.random.randint(0, 3)):
            value = self.let("r", f"{self.one('min', 'max')}.{s} {{}}, {value}, {self.r()};")

    def index(self) -> None:
        """Makes an index of the thread, some of whose bits are known."""
        value = self.let("r", f"and.b32 {{}}, %thread, {self.one('31', '15', '62', '7')};")
        for _ in range(self.random.randint(1, 3)):
            n = self.random.choice((32, 64, 96, 128, 192, 224))
            value = self.let("r", self.one(f"or.b32 {{}}, {value}, {n};", f"mul.lo.s32 {{}}, {value}, 9;",
            f"add.s32 {{}}, {value}, {n + 1};",
                                           f"shl.b32 {{}}, {value}, {n % 7};",
                                           f"shr.u32 {{}}, {value}, {n % 5};",
                                           f"bfe.u32 {{}}, {value}, 2, 3;"))  # fmt: skip
        if self.random.random() < 0.5:
            self.let("h", f"cvt.u16.u32 {{}}, {value};")

    def vector(self) -> None:
        """Four words at once."""
        index = self.let("r", f"and.b32 {{}}, {self.pick('r')}, 63;")
        address, words = self.new("d"), [self.new("r") for _ in range(4)]
        self.write(f"mad.wide.u32 {address}, {index}, 16, %in;")
        self.write(f"ld.global.v4.b32 {{{', '.join(words)}}}, [{address}];")
        self.values["r"] += words[: self.random.randint(1, 4)]

    def divisor(self) -> str:
        if self.random.random() < 0.6:
            return str(self.random.choice((1, 2, 3, 5, 7, 8, 10, 100, 127, 641, 65537)))
        return self.let("r", f"or.b32 {{}}, {self.pick('r')}, 1;")

    def shift(self) -> None:
        a, b = self.pick("r"), self.pick("r")
        by = str(self.random.randint(0, 40)) if self.random.random() < 0.5 else self.pick("r")
        if self.random.random() < 0.3:
            by = self.let("r", f"and.b32 {{}}, {self.pick('r')}, {self.one('31', '63', '7')};")
        self.let(
            "r",
            self.one(
                f"shl.b32 {{}}, {a}, {by};", f"shr.u32 {{}}, {a}, {by};", f"shr.s32 {{}}, {a}, {by};",
                f"shf.l.wrap.b32 {{}}, {a}, {b}, {by};", f"shf.r.wrap.b32 {{}}, {a}, {b}, {by};",
                f"shf.l.clamp.b32 {{}}, {a}, {b}, {by};", f"shf.r.clamp.b32 {{}}, {a}, {b}, {by};",
                f"shf.l.wrap.b32 {{}}, {a}, {a}, {by};",
                f"bfe.u32 {{}}, {a}, {by}, {self.one(self.pick('r'), '8', '31', '0')};",
                f"bfe.s32 {{}}, {a}, {self.random.randint(0, 31)}, 9;",
                f"bfi.b32 {{}}, {a}, {b}, {by}, {self.random.randint(0, 32)};",
            ),
        )  # fmt: skip

    def permute(self) -> None:
        a, b = self.pick("r"), self.pick("r")
        if self.random.random() < 0.3:
            mode = self.one("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
            self.let("r", f"prmt.b32.{mode} {{}}, {a}, {b}, {self.one(self.pick('r'), '1', '2', '3')};")
        else:
            selector = (
                f"0x{self.random.randint(0, 0xFFFF):04x}" if self.random.random() < 0.7 else self.pick("r")
            )
            self.let("r", f"prmt.b32 {{}}, {a}, {b}, {selector};")

    def carry(self) -> None:
        """A sum or a difference of several words, or a product."""
        words = self.random.randint(2, 4)
        kind = self.one("add", "sub", "mad")
        names = [self.new("r") for _ in range(words)]
        for i, name in enumerate(names):
            a, b, c = self.pick("r"), self.r(), self.r()
            last = "" if i == words - 1 else ".cc"
            if kind == "mad":
                op = ("mad" if i == 0 else "madc") + f".{self.one('lo', 'hi')}{last}.{self.one('s32', 'u32')}"
                self.write(f"{op} {name}, {a}, {b}, {c};")
            else:
                op = kind if i == 0 else kind + "c"
                self.write(f"{op}{last}.{self.one('s32', 'u32')} {name}, {a}, {b};")
        self.values["r"] += names

    def compare(self) -> None:
        a, b, s = self.pick("r"), self.r(), self.one("s32", "u32")
        test = self.one("eq", "ne", "lt", "le", "gt", "ge")
        if self.random.random() < 0.25 and self.values["f"]:
            test = self.one(test, "equ", "ltu", "nan", "num", "geu")
            self.let("p", f"setp.{test}.f32 {{}}, {self.pick('f')}, {self.pick('f')};")
        elif self.random.random() < 0.3 and self.values["p"]:
            self.let("p", f"setp.{test}.{self.one('and', 'or', 'xor')}.{s} {{}}, {a}, {b}, {self.pick('p')};")
        elif self.random.random() < 0.2:
            self.let("p", f"setp.{test}.{self.one('s64', 'u64')} {{}}, {self.pick('d')}, {self.pick('d')};")
        else:
            self.let("p", f"setp.{test}.{s} {{}}, {a}, {b};")

    def logic_of_predicates(self) -> None:
        a, b = self.pick("p"), self.pick("p")
        self.let("p", self.one(f"and.pred {{}}, {a}, {b};", f"or.pred {{}}, {a}, {b};",
        f"xor.pred {{}}, {a}, {b};",
                               f"not.pred {{}}, {a};"))  # fmt: skip

    def select(self) -> None:
        """A chain of selections, as nested conditions make."""
        value = self.pick("r")
        for _ in range(self.random.randint(1, 4)):
            self.compare()
            if self.random.random() < 0.2:
                value = self.let(
                    "r",
                    f"slct.{self.one('s32', 'u32', 'b32')}.s32 {{}}, {value}, {self.r()}, {self.pick('r')};",
                )
            else:
                pair = [value, self.r()]
                self.random.shuffle(pair)
                value = self.let("r", f"selp.b32 {{}}, {pair[0]}, {pair[1]}, {self.pick('p')};")

    def wide(self) -> None:
        a, b = self.pick("d"), self.pick("d")
        by = self.one(self.pick("r"), str(self.random.randint(0, 70)))
        x, y, s = self.pick("r"), self.pick("r"), self.one("s", "u")
        self.let(
            "d",
            self.one(
                f"add.s64 {{}}, {a}, {b};", f"sub.s64 {{}}, {a}, {b};", f"mul.lo.s64 {{}}, {a}, {b};",
                f"mul.hi.{s}64 {{}}, {a}, {b};", f"and.b64 {{}}, {a}, {b};", f"xor.b64 {{}}, {a}, {b};",
                f"or.b64 {{}}, {a}, {b};", f"shl.b64 {{}}, {a}, {by};", f"shr.{s}64 {{}}, {a}, {by};",
                f"min.{s}64 {{}}, {a}, {b};", f"max.{s}64 {{}}, {a}, {b};", f"neg.s64 {{}}, {a};",
                f"abs.s64 {{}}, {a};",
                f"mul.wide.{s}32 {{}}, {x}, {y};", f"mad.wide.{s}32 {{}}, {x}, {y}, {a};",
                f"cvt.{s}64.{s}32 {{}}, {x};",
                f"mov.b64 {{}}, {{{{{x}, {y}}}}};",
                f"bfe.{s}64 {{}}, {a}, {by}, {self.random.randint(0, 64)};",
                f"brev.b64 {{}}, {a};", f"selp.b64 {{}}, {a}, {b}, {self.pick('p')};",
            ),
        )  # fmt: skip
        if self.random.random() < 0.4:
            low, high = self.new("r"), self.new("r")
            self.write(f"mov.b64 {{{low}, {high}}}, {self.pick('d')};")
            self.values["r"] += [low, high]

    def floats(self) -> None:
        if not self.values["f"] or self.random.random() < 0.3:
            source = self.pick("r")
            self.let("f", self.one(f"cvt.rn.f32.s32 {{}}, {source};", f"cvt.rn.f32.u32 {{}}, {source};",
                                   f"mov.b32 {{}}, {source};",
                                   f"cvt.rz.f32.u32 {{}}, {source};"))  # fmt: skip
        a, b, c = self.pick("f"), self.pick("f"), self.pick("f")
        self.let(
            "f",
            self.one(
                f"add.rn.f32 {{}}, {a}, {b};", f"sub.rn.f32 {{}}, {a}, {b};", f"mul.rn.f32 {{}}, {a}, {b};",
                f"fma.rn.f32 {{}}, {a}, {b}, {c};", f"min.f32 {{}}, {a}, {b};", f"max.f32 {{}}, {a}, {b};",
                f"abs.f32 {{}}, {a};", f"neg.f32 {{}}, {a};", f"add.rn.ftz.f32 {{}}, {a}, {b};",
                f"mul.rz.f32 {{}}, {a}, {b};", f"add.rm.f32 {{}}, {a}, {b};",
                f"fma.rn.sat.f32 {{}}, {a}, {b}, {c};",
                f"selp.f32 {{}}, {a}, {b}, {self.pick('p')};", f"cvt.rni.f32.f32 {{}}, {a};",
                f"mul.rn.f32 {{}}, {a}, 0f40000000;", f"add.rn.f32 {{}}, {a}, 0f80000000;",
            ),
        )  # fmt: skip
        if self.random.random() < 0.5:
            kind = self.one("cvt.rzi.s32.f32", "cvt.rzi.u32.f32", "cvt.rmi.s32.f32", "cvt.rni.s32.f32")
            self.let("r", f"{kind} {{}}, {self.pick('f')};")

    def warp(self) -> None:
        """Makes what all threads of the warp do together."""
        a = self.pick("r")
        if self.depth:
            return self.integer()
        mode = self.one("bfly", "up", "down", "idx")
        limit = "0" if mode == "up" else "31"
        self.let(
            "r",
            self.one(
                f"shfl.sync.{mode}.b32 {{}}, {a}, {self.random.randint(0, 31)}, {limit}, -1;",
                f"vote.sync.ballot.b32 {{}}, {self.pick('p')}, -1;",
                f"redux.sync.{self.one('and.b32', 'or.b32', 'xor.b32')} {{}}, {a}, -1;",
                f"redux.sync.{self.one('add', 'min', 'max')}.{self.one('s32', 'u32')} {{}}, {a}, -1;",
            ),
        )  # fmt: skip

    def uniform(self) -> None:
        """A value that all threads share, of the parameters and the block."""
        a = self.one("%n", "%block")
        b = self.one("%n", "%block", self.number())
        self.let("r", self.one(f"add.s32 {{}}, {a}, {b};", f"mul.lo.s32 {{}}, {a}, {b};",
        f"shl.b32 {{}}, {a}, {self.random.randint(0, 31)};",
                               f"min.s32 {{}}, {a}, {b};",
                               f"lop3.b32 {{}}, {a}, {b}, %block, {self.random.randint(0, 255)};",
                               f"shr.s32 {{}}, {a}, %block;", f"bfe.u32 {{}}, {a}, 3, 7;",
                               f"popc.b32 {{}}, {a};",
                               f"mad.lo.s32 {{}}, {a}, {b}, %block;"))  # fmt: skip

    def guarded(self) -> None:
        """An instruction under a predicate: what it writes was something before."""
        before, guard = self.new("r"), self.one("", "!") + self.pick("p")
        self.write(f"mov.b32 {before}, {self.r()};")
        a, b = self.pick("r"), self.r()
        self.write(f"@{guard} " + self.one(f"add.s32 {before}, {a}, {b};", f"shl.b32 {before}, {a}, 3;",
        f"max.s32 {before}, {a}, {b};",
                                           f"mov.b32 {before}, {b};",
                                           f"mul.lo.s32 {before}, {a}, {b};"))  # fmt: skip
        if self.random.random() < 0.5:
            other = guard[1:] if guard[0] == "!" else f"!{guard}"
            self.write(f"@{other} xor.b32 {before}, {before}, {self.r()};")
        self.values["r"].append(before)

    def load(self) -> None:
        """A load at an index that the thread computes, under a predicate or not."""
        index = self.let("r", f"and.b32 {{}}, {self.pick('r')}, 255;")
        address = self.new("d")
        self.write(f"mad.wide.u32 {address}, {index}, 4, %in;")
        kind, value = self.one("b32", "b32", "s8", "u8", "s16", "u16"), self.new("r")
        self.write(f"mov.b32 {value}, {self.r()};")
        guard = f"@{self.one('', '!')}{self.pick('p')} " if self.random.random() < 0.6 else ""
        if guard and self.random.random() < 0.5:
            address = self.wild_without(guard[1:].strip(), address)
        self.write(f"{guard}ld.global.{kind} {value}, [{address}{self.one('', '+4', '+64')}];")
        self.values["r"].append(value)

    def wild_without(self, guard: str, address: str) -> str:
        """The address where the predicate holds, and one that is nobody's memory where it does not: what is
        masked must not be read."""
        result, wild = self.new("d"), self.new("d")
        pair = (address, wild) if guard[0] != "!" else (wild, address)
        self.write(f"mov.b64 {wild}, 4096;", f"selp.b64 {result}, {pair[0]}, {pair[1]}, {guard.lstrip('!')};")
        return result

    def store(self) -> None:
        """Into words of the thread's own, which are read back."""
        at = 4 * self.random.randint(0, 3)
        guard = f"@{self.one('', '!')}{self.pick('p')} " if self.random.random() < 0.7 else ""
        kind = self.one("b32", "b32", "b16", "b8")
        value = self.half() if kind == "b16" else self.pick("r")
        self.write(f"{guard}st.global.{kind} [%own+{at}], {value};")
        if self.random.random() < 0.5:
            self.let("r", f"ld.global.{self.one('b32', 's16', 'u8')} {{}}, [%own+{at}];")

    def copy(self) -> None:
        """cp.async into shared words of the thread's own: guarded, or with fewer bytes than it writes."""
        if self.depth:
            return self.load()
        index = self.let("r", f"and.b32 {{}}, {self.pick('r')}, 252;")
        address = self.new("d")
        self.write(f"mad.wide.u32 {address}, {index}, 4, %in;")
        wide = self.random.random() < 0.5
        form, size = ("cg", 16) if wide else ("ca", self.random.choice((4, 8, 16)))
        how = self.random.choice(("guard", "bytes", "ignore", "plain"))
        guard = f"@{self.one('', '!')}{self.pick('p')} " if how == "guard" else ""
        more = ""
        if how == "bytes":
            held, fewer = self.pick("p"), self.random.choice((0, 0, 4))
            count = self.let("r", f"selp.b32 {{}}, {size}, {fewer}, {held};")
            more = f", {count}"
            if fewer == 0 and self.random.random() < 0.7:
                address = self.wild_without(held, address)
        if how == "ignore":
            ignored = self.pick("p")
            more = f", {ignored}"
            address = self.wild_without(f"!{ignored}", address)
        if how == "guard":
            address = self.wild_without(guard[1:].strip(), address)
        self.write(
            "st.shared.v4.b32 [%mine], {%n, %n, %block, %n};",
            f"{guard}cp.async.{form}.shared.global [%mine], [{address}], {size}{more};",
            "cp.async.commit_group;", "cp.async.wait_group 0;",
        )  # fmt: skip
        self.let("r", f"ld.shared.b32 {{}}, [%mine+{self.random.choice((0, 4, 8, 12))}];")

    def exchange(self) -> None:
        """Through shared memory, with the other threads of the block."""
        if self.depth:
            return self.shift()
        self.write(f"st.shared.b32 [%mine], {self.pick('r')};", "bar.sync 0;")
        index = self.let("r", f"and.b32 {{}}, {self.pick('r')}, {THREADS - 1};")
        address = self.new("r")  # not a value: machine code has other addresses
        self.write(f"mad.lo.s32 {address}, {index}, 16, %shared;")
        self.let("r", f"ld.shared.b32 {{}}, [{address}];")
        self.write("bar.sync 0;")

    def local(self) -> None:
        self.has_local = True
        index = self.let("r", f"and.b32 {{}}, {self.pick('r')}, 28;")
        address = self.new("r")
        self.write(f"add.s32 {address}, {index}, %local;")
        guard = f"@{self.pick('p')} " if self.random.random() < 0.5 else ""
        self.write(f"{guard}st.local.b32 [{address}], {self.pick('r')};")
        index = self.let("r", f"and.b32 {{}}, {self.pick('r')}, 28;")
        address = self.new("r")
        self.write(f"add.s32 {address}, {index}, %local;")
        self.let("r", f"ld.local.b32 {{}}, [{address}];")

    # ---- control

    def branch(self) -> None:
        """Two ways, each of which changes some of the same values."""
        joined = [self.let("r", f"mov.b32 {{}}, {self.r()};") for _ in range(self.random.randint(1, 3))]
        other, end = self.label(), self.label()
        self.write(f"@{self.one('', '!')}{self.pick('p')} bra {other};")
        self.depth += 1
        for last in (f"bra {end};", None):
            kept = {kind: len(values) for kind, values in self.values.items()}
            for _ in range(self.random.randint(0, 4)):
                self.operation()
            for name in joined:
                if self.random.random() < 0.8:
                    self.write(
                        f"{self.one('add.s32', 'xor.b32', 'min.s32', 'sub.s32')} {name}, {name}, {self.r()};"
                    )
            for kind, count in kept.items():
                del self.values[kind][count:]
            self.write(*([last] if last else []))
            self.lines.append(f"{other}:" if last else f"{end}:")
        self.depth -= 1

    def loop(self) -> None:
        """A few times, as often for all threads or not."""
        carried = [self.let("r", f"mov.b32 {{}}, {self.r()};") for _ in range(2)]
        rounds, i, again = self.new("r"), self.new("r"), self.new("p")
        is_uniform = self.random.random() < 0.5
        self.write(f"and.b32 {rounds}, {'%n' if is_uniform else self.pick('r')}, 3;", f"mov.b32 {i}, 0;")
        start = self.label()
        self.lines.append(f"{start}:")
        self.depth += 1
        kept = {kind: len(values) for kind, values in self.values.items()}
        self.values["r"].append(i)
        for _ in range(self.random.randint(1, 5)):
            self.operation()
        for name in carried:
            self.write(f"{self.one('add.s32', 'xor.b32', 'max.u32')} {name}, {name}, {self.pick('r')};")
        for kind, count in kept.items():
            del self.values[kind][count:]
        self.depth -= 1
        self.write(f"add.s32 {i}, {i}, 1;", f"setp.le.s32 {again}, {i}, {rounds};", f"@{again} bra {start};")

    def operation(self) -> None:
        weights = {
            self.integer: 10, self.shift: 6, self.permute: 4, self.carry: 3, self.select: 5, self.compare: 2,
            self.logic_of_predicates: 2, self.wide: 5, self.floats: 4, self.warp: 2, self.uniform: 4,
            self.guarded: 4, self.halves: 4, self.packed: 3, self.absolute: 2, self.index: 2,
            self.vector: 1, self.load: 3, self.store: 2, self.copy: 2, self.exchange: 1, self.local: 1,
            self.branch: 2 if self.depth < 2 else 0, self.loop: 1 if self.depth < 2 else 0,
        }  # fmt: skip
        self.random.choices(list(weights), list(weights.values()))[0]()


def generate_ptx(seed: int, target: str = "sm_80") -> str:
    g = Generator(seed, target)
    for i in range(INPUTS):
        g.let("r", f"ld.global.b32 {{}}, [%first+{4 * THREADS * BLOCKS * i}];")
    g.let("r", "mov.b32 {}, %thread;")
    g.let("d", "mov.b64 {}, {{%r0, %r1}};")
    g.let("d", "cvt.s64.s32 {}, %r2;")
    g.let("p", "setp.lt.s32 {}, %r0, %r1;")
    g.let("p", "setp.lt.s32 {}, %thread, %n;")
    for _ in range(g.random.randint(6, 30)):
        g.operation()
    outputs = g.values["r"][-24:] + [g.values["r"][i] for i in range(INPUTS)]
    stores = [
        f"  st.global.b32 [%last+{4 * THREADS * BLOCKS * i}], {name};" for i, name in enumerate(outputs)
    ]
    for k, name in enumerate(g.values["d"][-2:]):
        at = 4 * THREADS * BLOCKS * (len(outputs) + 2 * k)
        stores.append(f"  mov.b64 {{%low, %high}}, {name};")
        stores.append(f"  st.global.b32 [%last+{at}], %low;")
        stores.append(f"  st.global.b32 [%last+{at + 4 * THREADS * BLOCKS}], %high;")
    words = THREADS * BLOCKS
    local = [
        "  .local .align 16 .b8 mine[32]; mov.u32 %local, mine;",
        *(f"  st.local.b32 [mine+{4 * i}], %at;" for i in range(8)),
    ]
    counts = "\n".join(
        f"  .reg .{t} %{k}<{g.count[k] + 1}>;"
        for k, t in zip("rdpfh", ("b32", "b64", "pred", "f32", "b16"), strict=True)
    )
    return "\n".join(
        [
            f"// grid: {BLOCKS}", f"// arg: i32[{max(words * INPUTS, 512)}] bits {seed}",
            f"// arg: i32[{words * 40}] zeros",
            f"// arg: i32[{words * 4}] iota", f"// arg: i32 {g.random.choice((1, 2, 3, 17, 40, 64))}",
            f".version {'8.6' if target[3:5] in ('10', '12') else '8.0'}",
            f".target {target}", ".address_size 64",
            ".visible .entry random(.param .u64 .ptr .global a, .param .u64 .ptr .global o,",
            "  .param .u64 .ptr .global s, .param .u32 n)",
            f".reqntid {THREADS}", "{", counts,
            "  .reg .b32 %thread, %n, %block, %shared, %mine, %local, %at, %low, %high;",
            "  .reg .b64 %in, %out, %own, %first, %last;",
            f"  .shared .align 16 .b8 memory[{16 * THREADS}];",
            "  mov.u32 %thread, %tid.x; mov.u32 %block, %ctaid.x; ld.param.u32 %n, [n];",
            "  ld.param.u64 %in, [a]; ld.param.u64 %out, [o]; ld.param.u64 %own, [s];",
            f"  mad.lo.s32 %at, %block, {THREADS}, %thread; mad.wide.u32 %first, %at, 4, %in;",
            "  mad.wide.u32 %last, %at, 4, %out;",
            "  mad.wide.u32 %own, %at, 16, %own;",
            "  mov.u32 %shared, memory; mad.lo.s32 %mine, %thread, 16, %shared;",
            *(local if g.has_local else []),
            *g.lines, *stores, "  ret;", "}", "",
        ]
    )  # fmt: skip
