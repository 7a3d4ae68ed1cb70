"""Instructions of PTX that are not arithmetic, one at a time: memory of each space, atomics, what the threads of a
warp or of a block do together, values that all threads share, hints. The syntax is that of spelling_fused.py. A
text may also use %s, the address of 16 bytes of global memory that are the thread's own, %j, its number in the
block, %c, a word of a parameter, and %u, one of the block's number and the parameter.
"""

# ruff: noqa: E501  (lines of PTX)
from spelling_fused import container, one, own

VALUES = ("b8", "u8", "s8", "b16", "u16", "s16", "b32", "b64")
SHARED = ".shared .align 16 .b8 m[2048]; mov.u32 r9, m; mad.lo.u32 r9, %j, 16, r9;"
LOCAL = ".local .align 16 .b8 m[64]; mov.u32 r9, m; and.b32 r8, %{}, 24; add.s32 r9, r9, r8;"


def bits(kind: str) -> str:
    """ "b32" of "s32"."""
    return {"f16x2": "b32", "bf16x2": "b32", "bf16": "b16"}.get(kind, "b" + kind.lstrip("usbf"))


def memory():
    for t in VALUES:
        c = container(t)
        put = "st{}.b64 [{}], %1;"
        spaces = (
            ("global", "", "%s"),
            ("", "", "%s+8"),
            ("shared", SHARED, "r9"),
            ("local", LOCAL.format(2), "r9"),
        )
        for space, before, at in spaces:
            dot = f".{space}" * bool(space)
            name = space or "generic"
            yield one(
                f"ld.{name}.{t}", c, "b64 b32", f"{before} {put.format(dot, at)} ld{dot}.{t} %0, [{at}];"
            )
            if t[0] != "u":
                text = f"{before} {put.format(dot, at)} st{dot}.{t} [{at}], %3; ld{dot}.b64 %0, [{at}];"
                yield one(f"st.{name}.{t}", "b64", f"b64 b32 {c}", text)
        text = f"st.global.b64 [%s], %1; ld.global.nc.{t} %0, [%in];"
        yield one(f"ld.nc.{t}", c, "b64", text)
        table = ", ".join(str(n * 37 % 256) for n in range(64))
        text = f".const .align 8 .b8 m[64] = {{{table}}}; mov.u32 r9, m; and.b32 r8, %1, 24; add.s32 r9, r9, r8; ld.const.{t} %0, [r9];"
        yield one(f"ld.const.{t}", c, "b32", text)
        yield one(
            f"ld.const.known.{t}",
            c,
            "b32",
            f".const .align 8 .b8 m[64] = {{{table}}}; ld.const.{t} %0, [m+8];",
        )


def orders_and_hints():
    """Loads and stores with an order, and with what caches are told."""
    orders = [
        f"{order}.{scope}"
        for order in ("relaxed", "acquire", "release")
        for scope in ("cta", "cluster", "gpu", "sys")
    ]
    for order in (*orders, "volatile", "weak"):
        for t in ("u8", "b32", "b64"):
            c = container(t)
            if "release" not in order:
                yield one(
                    f"ld.{order}.{t}", c, "b64", f"st.global.b64 [%s], %1; ld.{order}.global.{t} %0, [%s];"
                )
                text = f"{SHARED} st.shared.b64 [r9], %1; ld.{order}.shared.{t} %0, [r9];"
                yield one(f"ld.{order}.shared.{t}", c, "b64", text)
            if "acquire" not in order:
                text = f"st.global.b64 [%s], %1; st.{order}.global.{t} [%s], %2; ld.global.b64 %0, [%s];"
                yield one(f"st.{order}.{t}", "b64", f"b64 {c}", text)
    for cache in (
        "ca",
        "cg",
        "cs",
        "lu",
        "cv",
        *(
            f"L1::{how}"
            for how in ("evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate")
        ),
    ):
        for t in ("b32", "b64"):
            yield one(f"ld.{cache}.{t}", t, "b64", f"st.global.b64 [%s], %1; ld.global.{cache}.{t} %0, [%s];")
    for cache in (
        "wb",
        "cg",
        "cs",
        "wt",
        *(
            f"L1::{how}"
            for how in ("evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate")
        ),
    ):
        yield one(f"st.{cache}", "b32", "b32", f"st.global.{cache}.b32 [%s], %1; ld.global.b32 %0, [%s];")
    for size in ("L2::64B", "L2::128B", "L2::256B"):
        yield one(f"ld.{size}", "b32", "b64", f"st.global.b64 [%s], %1; ld.global.{size}.b32 %0, [%s];")
    for which in ("evict_last", "evict_first", "evict_unchanged"):
        policy = f"createpolicy.fractional.L2::{which}.b64 d9, 0.5;"
        text = (
            f"{policy} st.global.L2::cache_hint.b32 [%s], %1, d9; ld.global.L2::cache_hint.b32 %0, [%s], d9;"
        )
        yield one(f"policy.{which}", "b32", "b32", text)


def vectors():
    """Vectors of memory, and addresses of other forms."""
    local = ".local .align 16 .b8 m[64];"
    for space, before, at in (("global", "", "%s"), ("shared", SHARED, "r9"), ("local", local, "m+16")):
        text = f"{before} st.{space}.v2.b32 [{at}], {{%2, %3}}; ld.{space}.v2.b32 {{%1, %0}}, [{at}];"
        yield one(f"v2.{space}", "b32 b32", "b32 b32", text)
        text = f"{before} st.{space}.v4.b32 [{at}], {{%2, %3, %2, %3}}; ld.{space}.v4.b32 {{%1, r1, r2, %0}}, [{at}];"
        yield one(f"v4.{space}", "b32 b32", "b32 b32", text)
        text = f"{before} st.{space}.v2.b64 [{at}], {{%2, %3}}; ld.{space}.v2.b64 {{%1, %0}}, [{at}];"
        yield one(f"v2.64.{space}", "b64 b64", "b64 b64", text)
        for t in ("u8", "s8", "b16"):
            text = f"{before} st.{space}.v2.b64 [{at}], {{%2, %3}}; ld.{space}.v4.{t} {{%1, h1, h2, %0}}, [{at}];"
            yield one(f"v4.{t}.{space}", "b16 b16", "b64 b64", text)
    for n in (4, 8, 16):
        text = f".shared .align 16 .b8 m[2064]; mov.u32 r9, m; mad.lo.u32 r9, %j, {n}, r9; st.shared.b32 [r9+8], %1; ld.shared.b32 %0, [r9+8];"
        yield one(f"shared.times.{n}", "b32", "b32", text)
    text = f"{SHARED} cvt.u64.u32 d1, r9; cvta.shared.u64 d1, d1; st.b32 [d1], %1; ld.b32 %0, [d1];"
    yield one("generic.shared", "b32", "b32", text)
    text = ".local .align 16 .b8 m[64]; mov.u64 d1, m; cvta.local.u64 d1, d1; st.b32 [d1+8], %1; ld.b32 %0, [d1+8];"
    yield one("generic.local", "b32", "b32", text)
    for space in ("global", "shared", "local", "const"):
        yield one(f"isspacep.{space}", "pred", "b32", f"isspacep.{space} %0, %s;")
    text = "st.global.b64 [%s], %2; mov.b32 %0, 5; mov.b32 %1, 6; @%3 ld.global.b32 %0, [%s]; @!%3 ld.global.b32 %1, [%s+4];"
    yield one("ld.guarded", "b32 b32", "b64 pred", text)


def atomics():
    places = (("global", "", "%s"), ("shared", SHARED, "r9"), ("", "", "%s"))
    operations = [(op, t) for op in ("add", "min", "max") for t in ("u32", "s32", "u64", "s64")]
    operations += [(op, t) for op in ("and", "or", "xor", "exch") for t in ("b32", "b64")]
    operations += [("inc", "u32"), ("dec", "u32"), ("add", "f32"), ("add", "f64"), ("exch", "b128")]
    operations += [
        (f"{op}.noftz", t) for op in ("add", "min", "max") for t in ("f16", "f16x2", "bf16", "bf16x2")
    ]
    for space, before, at in places:
        dot = f".{space}" * bool(space)
        for op, t in operations:
            if t == "b128":
                text = f"{before} st{dot}.v2.b64 [{at}], {{%2, %3}}; mov.b128 q1, {{%3, %2}}; atom{dot}.exch.b128 q2, [{at}], q1; mov.b128 {{%0, %1}}, q2;"
                yield one(f"atom.{space}.{op}.{t}", "b64 b64", "b64 b64", text)
                continue
            b = bits(t)
            start = f"{before} st{dot}.{b} [{at}], %2;"
            name = f"{space or 'generic'}.{op}.{t}"
            yield one(
                f"atom.{name}",
                f"{t} {t}",
                f"{t} {t}",
                f"{start} atom{dot}.{op}.{t} %1, [{at}], %3; ld{dot}.{b} %0, [{at}];",
            )
            text = f"{before} st{dot}.{b} [{at}], %1; red{dot}.{op}.{t} [{at}], %2; ld{dot}.{b} %0, [{at}];"
            if op != "exch":
                yield one(f"red.{name}", t, f"{t} {t}", text)
            text = f"{before} st{dot}.{b} [{at}], %1; atom{dot}.{op}.{t} {own(t)}, [{at}], %2; ld{dot}.{b} %0, [{at}];"
            yield one(f"atom.unread.{name}", t, f"{t} {t}", text)
        for t in ("b16", "b32", "b64"):
            text = f"{before} st{dot}.{t} [{at}], %2; atom{dot}.cas.{t} %1, [{at}], %3, %4; ld{dot}.{t} %0, [{at}];"
            yield one(f"atom.cas.{space or 'generic'}.{t}", f"{t} {t}", f"{t} {t} {t}", text)
            text = f"{before} st{dot}.{t} [{at}], %2; atom{dot}.cas.{t} %1, [{at}], %2, %3; ld{dot}.{t} %0, [{at}];"
            yield one(f"atom.cas.same.{space or 'generic'}.{t}", f"{t} {t}", f"{t} {t}", text)
    for order in ("relaxed", "acquire", "release", "acq_rel"):
        for scope in ("cta", "cluster", "gpu", "sys"):
            for op in ("add.u32", "exch.b32", "min.s64"):
                t = op[-3:]
                text = f"st.global.{bits(t)} [%s], %2; atom.{order}.{scope}.global.{op} %1, [%s], %3; ld.global.{bits(t)} %0, [%s];"
                yield one(f"atom.{order}.{scope}.{op}", f"{t} {t}", f"{t} {t}", text)
    for op in ("add.u32", "min.s32", "or.b32", "exch.b32", "inc.u32", "add.u64"):
        t = op[-3:]
        text = f"st.global.{bits(t)} [%s], %2; atom.global.{op} %1, [%s], 1; ld.global.{bits(t)} %0, [%s];"
        yield one(f"atom.number.{op}", f"{t} {t}", t, text)
    for n, more in ((2, ""), (4, ", %2, %3")):
        for kind in ("atom", "red"):
            result = {"atom": "{r1, r2" + ", r3, r4" * (n == 4) + "}, ", "red": ""}[kind]
            text = f"st.global.v4.b32 [%s], {{%2, %3, %2, %3}}; {kind}.global.add.v{n}.f32 {result}[%s], {{%3, %2{more}}}; ld.global.v2.b32 {{%0, %1}}, [%s];"
            yield one(f"{kind}.v{n}.f32", "f32 f32", "f32 f32", text)
        for t in ("f16x2", "bf16x2"):
            result = "{r1, r2" + ", r3, r4" * (n == 4) + "}"
            text = f"st.global.v4.b32 [%s], {{%2, %3, %2, %3}}; atom.global.add.noftz.v{n}.{t} {result}, [%s], {{%3, %2{more}}}; ld.global.v2.b32 {{%0, %1}}, [%s];"
            yield one(f"atom.v{n}.{t}", f"{t} {t}", f"{t} {t}", text)


def threads():
    for mode in ("up", "down", "bfly", "idx"):
        last = 0 if mode == "up" else 31
        yield one(
            f"shfl.{mode}",
            "b32 pred",
            "b32 count",
            f"and.b32 r1, %3, 31; shfl.sync.{mode}.b32 %0|%1, %2, r1, {last}, -1;",
        )
        yield one(f"shfl.{mode}.number", "b32", "b32", f"shfl.sync.{mode}.b32 %0, %1, 3, {last}, -1;")
        text = f"shfl.sync.{mode}.b32 %0, %1, 2, {0x1800 + last % 8 * (mode != 'up')}, -1;"
        yield one(f"shfl.{mode}.width", "b32", "b32", text)
    for mode in ("all", "any", "uni"):
        yield one(f"vote.{mode}", "pred", "pred", f"vote.sync.{mode}.pred %0, %1, -1;")
        yield one(f"vote.{mode}.not", "pred", "pred", f"vote.sync.{mode}.pred %0, !%1, -1;")
    yield one("vote.ballot", "b32", "pred", "vote.sync.ballot.b32 %0, %1, -1;")
    yield one(
        "vote.ballot.test",
        "b32",
        "b32",
        "setp.lt.s32 p1, %1, 7; vote.sync.ballot.b32 r1, p1, -1; popc.b32 %0, r1;",
    )
    for t in ("b32", "b64"):
        yield one(f"match.any.{t}", "b32", t, f"match.any.sync.{t} %0, %1, -1;")
        yield one(f"match.all.{t}", "b32 pred", t, f"match.all.sync.{t} %0|%1, %2, -1;")
    yield one("activemask", "b32", "b32", "activemask.b32 r1; xor.b32 %0, r1, %1;")
    for op in ("add", "min", "max"):
        for t in ("s32", "u32"):
            yield one(f"redux.{op}.{t}", "b32", "b32", f"redux.sync.{op}.{t} %0, %1, -1;")
    for op in ("and", "or", "xor"):
        yield one(f"redux.{op}", "b32", "b32", f"redux.sync.{op}.b32 %0, %1, -1;")
    for op in ("min", "max"):
        for mods in ("", ".abs", ".NaN", ".abs.NaN"):
            yield one(f"redux.{op}{mods}.f32", "f32", "f32", f"redux.sync.{op}{mods}.f32 %0, %1, -1;")
    yield one("elect", "pred", "b32", "elect.sync r1|%0, -1;")
    for op in ("and", "or"):
        yield one(f"bar.red.{op}", "pred", "pred", f"barrier.cta.red.{op}.aligned.pred %0, 1, %1;")
    yield one("bar.red.popc", "b32", "pred", "barrier.cta.red.popc.aligned.u32 %0, 1, %1;")


def order_of_threads():
    """Barriers, fences, hints, special registers, branches."""
    for text in (
        "bar.sync 0", "bar.warp.sync -1", "barrier.cta.sync.aligned 2, 128", "barrier.cta.sync 3", "membar.cta", "membar.gl", "membar.sys",
        "fence.acq_rel.cta", "fence.acq_rel.cluster", "fence.acq_rel.gpu", "fence.acq_rel.sys", "fence.sc.cta", "fence.sc.cluster",
        "fence.sc.gpu", "fence.sc.sys", "fence.acquire.gpu", "fence.release.gpu", "fence.proxy.async", "fence.proxy.async.global",
        "fence.proxy.async.shared::cta", "fence.proxy.alias", "nanosleep.u32 20", "griddepcontrol.wait", "griddepcontrol.launch_dependents",
        "prefetch.global.L1 [%s]", "prefetch.global.L2 [%s]", "prefetch.global.L2::evict_last [%s]", "prefetch.global.L2::evict_normal [%s]",
        "prefetchu.L1 [%s]", "prefetch.L1 [%s]", "prefetch.L2 [%s]", "applypriority.global.L2::evict_normal [%al], 128",
        "pmevent 3", "fence.mbarrier_init.release.cluster", "setmaxnreg.inc.sync.aligned.u32 240",
    ):  # fmt: skip
        # Between the two the order of memory is what is asked for.
        name = text.replace(" ", "_")
        text = text.replace("%al", "d1")
        yield one(
            name,
            "b32",
            "b32",
            f"and.b64 d1, %s, -128; st.global.b32 [%s], %1; {text}; ld.global.b32 %0, [%s];",
        )
    names = "tid.x tid.y ntid.x ctaid.x ctaid.y nctaid.x laneid warpid lanemask_eq lanemask_lt lanemask_le lanemask_gt lanemask_ge"
    names += " clusterid.x nclusterid.x cluster_ctaid.x cluster_nctaid.x cluster_ctarank cluster_nctarank dynamic_smem_size total_smem_size"
    for name in names.split():
        yield one(f"special.{name}", "b32", "b32", f"mov.u32 r1, %{name}; xor.b32 %0, r1, %1;")
    for op in ("and.b32", "add.s32", "min.s32"):
        yield one(
            f"branch.{op}",
            "b32",
            "b32 b32 pred",
            f"mov.b32 %0, %1; @%3 bra L1; {op} %0, %1, %2; mul.lo.s32 %0, %0, %2; L1:",
        )
        text = f"mov.b32 %0, %1; and.b32 r1, %2, 3; M: {op} %0, %0, %2; sub.s32 r1, r1, 1; setp.ge.s32 p1, r1, 0; @p1 bra M;"
        yield one(f"loop.{op}", "b32", "b32 b32", text)


def uniform():
    """Values that all threads of a block share, which a target with a uniform datapath computes there."""
    wide = "mov.b64 d1, {%u, %c}; mov.b64 d2, {%c, %u};"
    two = "add.s32 sub.s32 mul.lo.s32 mul.hi.u32 mul.hi.s32 min.s32 max.s32 min.u32 max.u32 and.b32 or.b32 xor.b32 shl.b32 shr.u32 shr.s32"
    two += " add.rn.f32 mul.rn.f32 min.f32 max.f32 div.u32 rem.s32 min.s16x2 max.u16x2 add.s16x2 max.f16x2 add.rn.f16x2 bmsk.clamp.b32 szext.wrap.s32"
    for op in two.split():
        yield one(f"uniform.{op}", "b32", "b32", f"{op} r1, %u, %c; xor.b32 %0, r1, %1;")
        yield one(
            f"uniform.number.{op}", "b32", "b32", f"mov.b32 r2, 0x10003; {op} r1, %u, r2; xor.b32 %0, r1, %1;"
        )
    single = "popc.b32 brev.b32 bfind.u32 bfind.s32 clz.b32 not.b32 neg.s32 abs.s32 cvt.s32.s8"
    single += " cvt.u32.u16 cvt.rn.f32.s32 cvt.rn.f32.u32 cvt.rzi.s32.f32 cvt.rmi.u32.f32 abs.f32 neg.f32 rcp.approx.ftz.f32 ex2.approx.ftz.f32 cvt.rn.tf32.f32"
    for op in single.split():
        yield one(f"uniform.{op}", "b32", "b32", f"{op} r1, %u; xor.b32 %0, r1, %1;")
    three = "mad.lo.s32 mad.hi.u32 prmt.b32 shf.l.wrap.b32 shf.r.clamp.b32 bfe.u32 bfe.s32 fma.rn.f32 dp4a.s32.s32 sad.u32 fma.rn.f16x2"
    for op in three.split():
        yield one(f"uniform.{op}", "b32", "b32", f"{op} r1, %u, %c, %u; xor.b32 %0, r1, %1;")
    for table in (0x96, 0xE8, 0xCA):
        yield one(
            f"uniform.lop3.{table:x}", "b32", "b32", f"lop3.b32 r1, %u, %c, 99, {table}; xor.b32 %0, r1, %1;"
        )
    for op in (
        "add.s64",
        "sub.s64",
        "mul.lo.s64",
        "min.s64",
        "max.u64",
        "and.b64",
        "or.b64",
        "add.rn.f64",
        "mul.rn.f64",
        "min.f64",
    ):
        yield one(f"uniform.{op}", "b64", "b64", f"{wide} {op} d3, d1, d2; xor.b64 %0, d3, %1;")
    for op in ("shl.b64", "shr.s64", "shr.u64"):
        yield one(f"uniform.{op}", "b64", "b64", f"{wide} {op} d3, d1, %c; xor.b64 %0, d3, %1;")
        yield one(f"uniform.{op}.5", "b64", "b64", f"{wide} {op} d3, d1, 5; xor.b64 %0, d3, %1;")
    for op in ("mul.wide.u32", "mul.wide.s32"):
        yield one(f"uniform.{op}", "b64", "b64", f"{op} d3, %u, %c; xor.b64 %0, d3, %1;")
    for test in ("lt.s32", "ge.u32", "eq.s32", "lt.f32", "neu.f32"):
        yield one(f"uniform.setp.{test}", "b32", "b32", f"setp.{test} p1, %u, %c; selp.b32 %0, %1, 7, p1;")
        yield one(
            f"uniform.selp.{test}",
            "b32",
            "b32",
            f"setp.{test} p1, %u, %c; selp.b32 r1, %u, 9, p1; add.s32 %0, r1, %1;",
        )
    for test in ("lt.s64", "gt.u64", "eq.s64", "lt.f64"):
        yield one(
            f"uniform.setp.{test}", "b32", "b32", f"{wide} setp.{test} p1, d1, d2; selp.b32 %0, %1, 7, p1;"
        )
    text = "setp.lt.s32 p1, %u, %c; setp.ge.and.u32 p2, %u, 77, p1; setp.ne.or.s32 p3, %c, %u, p2; xor.pred p4, p3, p1; selp.b32 %0, %1, 7, p4;"
    yield one("uniform.predicates", "b32", "b32", text)
    for n in (3, 9):
        yield one(
            f"uniform.lea.{n}", "b32", "b32", f"shl.b32 r1, %u, {n}; add.s32 r1, r1, %c; xor.b32 %0, r1, %1;"
        )
        yield one(
            f"uniform.lea64.{n}",
            "b64",
            "b64",
            f"{wide} shl.b64 d1, d1, {n}; add.s64 d1, d1, d2; xor.b64 %0, d1, %1;",
        )
        yield one(
            f"uniform.shf.{n}",
            "b32",
            "b32",
            f"shf.l.wrap.b32 r1, %u, %c, {n}; add.s32 r1, r1, %u; xor.b32 %0, r1, %1;",
        )
    for n in ("0xfffffff7", "%u"):
        text = f"add.cc.u32 r2, %u, %c; shl.b32 r1, %c, 9; addc.u32 r3, r1, {n}; xor.b32 %0, r3, %1; xor.b32 %0, %0, r2;"
        yield one(f"uniform.carry.shl.{n[-1]}", "b32", "b32", text)
    for op in ("add", "sub"):
        text = f"{op}.cc.u32 r1, %u, %c; {op}c.u32 r2, %c, %u; xor.b32 %0, r1, %2; xor.b32 %1, r2, %2;"
        yield one(f"uniform.{op}c", "b32 b32", "b32", text)
    for op in ("min", "max"):
        for t in ("s32", "u32", "s16x2", "f32", "f16x2"):
            yield one(
                f"uniform.{op}3.{t}",
                "b32",
                "b32",
                f"{op}.{t} r1, %u, %c; mov.b32 r2, 0x640032; {op}.{t} r1, r1, r2; xor.b32 %0, r1, %1;",
            )


def singles():
    for family in (memory, orders_and_hints, vectors, atomics, threads, order_of_threads, uniform):
        yield from family()
