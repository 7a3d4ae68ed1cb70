"""Cases of scf.* and cf.*: loops, branches, regions; what they compute is replayed in Python."""

from __future__ import annotations

import numpy as np

from .builder import Kernel
from .casefile import Cases, Scalar, codes


def scalar_store(kernel: Kernel, name: str, value: int, element="i32") -> None:
    kernel.store(name, element, (), [value % (1 << int(element[1:]))])


def loops() -> Cases:
    kernel = Kernel()
    one = kernel.constant(1, "i32")
    for element, lower, upper, step, attributes in (
        ("i32", 0, 10, 3, ""), ("i32", 5, 5, 1, ""), ("i32", 7, 2, 1, ""), ("i32", -3, 4, 2, ""),
        ("i64", -(2**40), -(2**40) + 7, 3, ""), ("i32", 0, 4, 1, " {tt.num_stages = 3 : i32}"),
    ):  # fmt: skip
        low, high, by = (kernel.param(element, Scalar(f"{element} {v}")) for v in (lower, upper, step))
        zero, ten = kernel.constant(0, element), kernel.constant(10, element)
        kernel.count += 1
        name = f"%for{kernel.count}"
        kernel.do(
            f"{name}:2 = scf.for %i = {low} to {high} step {by} iter_args(%sum = {zero}, %n = "
            f"{kernel.constant(0, 'i32')}) "
            f"-> ({element}, i32) {' : i64' if element == 'i64' else ' : i32'} {{\n"
            f"  %m = arith.muli %sum, {ten} : {element}\n"
            f"  %t = arith.addi %m, %i : {element}\n"
            f"  %k = arith.addi %n, {one} : i32\n"
            f"  scf.yield %t, %k : {element}, i32\n}}{attributes}"
        )
        total = count = 0
        for i in range(lower, upper, step):
            total, count = total * 10 + i, count + 1
        scalar_store(kernel, f"{name}#0", total, element)
        scalar_store(kernel, f"{name}#1", count)
    about = "Digits of the induction variable, and the number of trips: none, one-sided, negative, 64 bits."
    yield kernel.case("op/scf.for.ttir", about)

    kernel = Kernel()
    n = kernel.param("i32", Scalar("i32 27"))
    c = {v: kernel.constant(v, "i32") for v in (0, 1, 2, 3)}
    kernel.do(f"""%w:2 = scf.while (%v = {n}, %k = {c[0]}) : (i32, i32) -> (i32, i32) {{
  %go = arith.cmpi ne, %v, {c[1]} : i32
  scf.condition(%go) %k, %v : i32, i32
}} do {{
^bb0(%k: i32, %v: i32):
  %odd = arith.andi %v, {c[1]} : i32
  %is = arith.cmpi ne, %odd, {c[0]} : i32
  %next = scf.if %is -> (i32) {{
    %t = arith.muli %v, {c[3]} : i32
    %u = arith.addi %t, {c[1]} : i32
    scf.yield %u : i32
  }} else {{
    %t = arith.divsi %v, {c[2]} : i32
    scf.yield %t : i32
  }}
  %k1 = arith.addi %k, {c[1]} : i32
  scf.yield %next, %k1 : i32, i32
}}""")
    scalar_store(kernel, "%w#0", 111)  # 27 reaches 1 after 111 steps, as is well known
    scalar_store(kernel, "%w#1", 1)
    yield kernel.case(
        "op/scf.while.ttir", "Collatz from 27; the condition passes its values in another order."
    )


def branches() -> Cases:
    kernel = Kernel()
    data = np.arange(8, dtype=np.int32)
    pid = kernel.emit("tt.get_program_id x : i32")
    x = kernel.load("i32", (8,), codes(data))
    first = kernel.emit(f"arith.cmpi eq, {pid}, {kernel.constant(0, 'i32')} : i32")
    kernel.do(f"""%r:2 = scf.if {first} -> (tensor<8xi32>, i32) {{
  %d = arith.addi {x}, {x} : tensor<8xi32>
  scf.yield %d, {pid} : tensor<8xi32>, i32
}} else {{
  %m = arith.muli {x}, {x} : tensor<8xi32>
  %k = arith.addi {pid}, {pid} : i32
  scf.yield %m, %k : tensor<8xi32>, i32
}}""")
    expected = np.concatenate([data * 2, data * data, data * data]).astype(np.int32)
    pointer, _ = kernel.array("i32", (3, 8), None, codes(expected))
    base = kernel.emit(f"arith.muli {pid}, {kernel.constant(8, 'i32')} : i32")
    row = kernel.emit(f"tt.addptr {pointer}, {base} : !tt.ptr<i32>, i32")
    kernel.do(f"tt.store {kernel.pointers(row, 'i32', (8,))}, %r#0 : tensor<8x!tt.ptr<i32>>")
    pointer, _ = kernel.array("i32", (3,), None, [0, 2, 4])
    slot = kernel.emit(f"tt.addptr {pointer}, {pid} : !tt.ptr<i32>, i32")
    kernel.do(f"scf.if {first} {{\n}} else {{\n  tt.store {slot}, %r#1 : !tt.ptr<i32>\n}}")
    yield kernel.case("op/scf.if.ttir", "With results and without, by program.", ["grid: 3"])

    kernel = Kernel()
    n = kernel.param("i32", Scalar("i32 4"))
    kernel.do(f"""%r = scf.execute_region -> i32 {{
  %big = arith.cmpi sgt, {n}, {kernel.constant(3, "i32")} : i32
  cf.cond_br %big, ^bb1({n} : i32), ^bb2
^bb1(%v: i32):
  %d = arith.addi %v, %v : i32
  scf.yield %d : i32
^bb2:
  scf.yield {n} : i32
}}""")
    scalar_store(kernel, "%r", 8)
    yield kernel.case("op/scf.execute_region.ttir", "A region of several blocks that yields from either.")

    kernel = Kernel()
    pid = kernel.emit("tt.get_program_id x : i32")
    index = kernel.emit(f"arith.index_cast {pid} : i32 to index")
    hundred, two, nine = (kernel.constant(v, "i32") for v in (100, 2, 9))
    kernel.do(f"""%s = scf.index_switch {index} -> i32
case 1 {{
  scf.yield {hundred} : i32
}}
case 3 {{
  %m = arith.muli {pid}, {two} : i32
  scf.yield %m : i32
}}
default {{
  scf.yield {nine} : i32
}}""")
    pointer, _ = kernel.array("i32", (5,), None, [9, 100, 9, 6, 9])
    slot = kernel.emit(f"tt.addptr {pointer}, {pid} : !tt.ptr<i32>, i32")
    kernel.do(f"tt.store {slot}, %s : !tt.ptr<i32>")
    yield kernel.case("op/scf.index_switch.ttir", "Two cases and the default, by program.", ["grid: 5"])

    kernel = Kernel()
    pid = kernel.emit("tt.get_program_id x : i32")
    c = {v: kernel.constant(v, "i32") for v in (0, 1, 2, 7)}
    pointer, _ = kernel.array("i32", (4,), None, [7, 8, 9, 10])
    slot = kernel.emit(f"tt.addptr {pointer}, {pid} : !tt.ptr<i32>, i32")
    kernel.do(f"""  cf.br ^bb1({pid}, {c[7]} : i32, i32)
^bb1(%n: i32, %sum: i32):
  %more = arith.cmpi sgt, %n, {c[0]} : i32
  cf.cond_br %more, ^bb2(%n, %sum : i32, i32), ^bb3(%sum : i32)
^bb2(%k: i32, %s: i32):
  %k1 = arith.subi %k, {c[1]} : i32
  %s1 = arith.addi %s, {c[1]} : i32
  cf.br ^bb1(%k1, %s1 : i32, i32)
^bb3(%out: i32):
  tt.store {slot}, %out : !tt.ptr<i32>""")
    yield kernel.case(
        "op/cf.br.ttir", "A loop of blocks: both operands of a conditional branch carry values.", ["grid: 4"]
    )

    kernel = Kernel()
    pid = kernel.emit("tt.get_program_id x : i32")
    c = {v: kernel.constant(v, "i32") for v in (10, 20, 30)}
    pointer, _ = kernel.array("i32", (5,), None, [10, 10, 20, 10, 34])
    slot = kernel.emit(f"tt.addptr {pointer}, {pid} : !tt.ptr<i32>, i32")
    kernel.do(f"""  cf.switch {pid} : i32, [
    default: ^bb1({c[10]} : i32),
    2: ^bb1({c[20]} : i32),
    4: ^bb2({c[30]} : i32)
  ]
^bb2(%v: i32):
  %w = arith.addi %v, {pid} : i32
  cf.br ^bb1(%w : i32)
^bb1(%out: i32):
  tt.store {slot}, %out : !tt.ptr<i32>""")
    yield kernel.case("op/cf.switch.ttir", "Two cases and the default, by program.", ["grid: 5"])


def constants() -> Cases:
    kernel = Kernel()
    for element, text, values in (
        ("i1", "[true, false, false, true]", [1, 0, 0, 1]),
        ("i8", "[-128, 127, -1, 0]", [0x80, 0x7F, 0xFF, 0]),
        (
            "i64",
            "[-9223372036854775808, 9223372036854775807, -1, 4294967296]",
            [1 << 63, (1 << 63) - 1, (1 << 64) - 1, 1 << 32],
        ),
        (
            "f32",
            "[0x7FC00000, 0xFF800000, -0.0, 1.17549435E-38]",
            [0x7FC00000, 0xFF800000, 0x80000000, 0x00800000],
        ),
        ("f16", "[0x7C01, 0x8000, 6.550400e+04, 5.960464e-08]", [0x7C01, 0x8000, 0x7BFF, 1]),
        ("bf16", "[0x7F80, 0xFFC1, 1.0, -2.0]", [0x7F80, 0xFFC1, 0x3F80, 0xC000]),
        (
            "f64",
            "[0x7FF0000000000001, 1.0e+308, -0.0, 0.1]",
            [0x7FF0000000000001, 0x7FE1CCF385EBC8A0, 1 << 63, 0x3FB999999999999A],
        ),
        ("f8E4M3FN", "[0x7F, 0x7E, 0x80, 1.0]", [0x7F, 0x7E, 0x80, 0x38]),
        ("f8E5M2", "[0x7C, 0xFB, 1.0, 0x01]", [0x7C, 0xFB, 0x3C, 1]),
    ):
        x = kernel.emit(f"arith.constant dense<{text}> : tensor<4x{element}>")
        width = {"i1": 8, "i8": 8, "i64": 64, "f32": 32, "f16": 16, "bf16": 16, "f64": 64}.get(element, 8)
        kernel.store(x, element, (4,), values, f"x{width}")
        y = kernel.constant(text.strip("[]").split(", ")[0], element, (4,))
        kernel.store(y, element, (4,), [values[0]] * 4, f"x{width}")
    about = "Decimal and hex literals of every type, by element and as splats: every bit, of NaN too."
    yield kernel.case("op/arith.constant.ttir", about)


def cases() -> Cases:
    for family in (loops, branches, constants):
        yield from family()
