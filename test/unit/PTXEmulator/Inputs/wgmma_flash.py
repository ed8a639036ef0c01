#!/usr/bin/env python3
"""Flash attention for sm_90a as LLVM IR: a producer warpgroup (TMA), two consumers of 64 rows each (wgmma).

    wgmma_flash.py KEYS D > k.ll
    llc-22 -O3 -march=nvptx64 -mcpu=sm_90a -mattr=+ptx83 k.ll -o wgmma_flash.ptx

KEYS a tile, a multiple of 16; D a multiple of 64. Parameters:
maps of Q, K and V (D, rows, heads; boxes 64 × 128 or 64 × KEYS, swizzle 128), f32 output, rows of Q, rows of K. Grid:
tiles of 128 rows, heads. Shared memory: Q, two stages of K, two of V, in panels of 64 columns, then the mbarriers.
"""

import math
import struct
import sys

KEYS, D = int(sys.argv[1]), int(sys.argv[2])
ROWS, STAGES, PANELS = 128, 2, D // 64
Q_BYTES, KV_BYTES = ROWS * D * 2, KEYS * D * 2
K_START, V_START = Q_BYTES, Q_BYTES + STAGES * KV_BYTES
BARS = V_START + STAGES * KV_BYTES
FULL_Q, FULL_K, FULL_V, EMPTY_K, EMPTY_V = (BARS + 8 * i for i in (0, 1, 3, 5, 7))
NS, NO = KEYS // 2, D // 2

lines = []
count = 0


def emit(text):
    lines.append(text)


def bind(text, *args):
    global count
    count += 1
    emit(f"  %v{count} = " + (text.format(*args) if args else text))
    return f"%v{count}"


def f32(value):
    """A constant as LLVM writes it."""
    rounded = struct.unpack("f", struct.pack("f", value))[0]
    return "0x" + struct.pack(">d", rounded).hex().upper()


def asm(text, constraints="", *args):
    emit(f'  call void asm sideeffect "{text}", "{constraints}"({", ".join(args)})')


def tied(text, registers, extra_constraints="", *extra):
    """An asm with all registers as outputs and tied inputs; the new values."""
    n = len(registers)
    kinds = "{ " + ", ".join(["float"] * n) + " }"
    constraints = ",".join(["=f"] * n + [str(i) for i in range(n)]) + extra_constraints
    args = ", ".join([f"float {r}" for r in registers] + list(extra))
    result = bind(f'call {kinds} asm sideeffect "{text}", "{constraints}"({args})')
    return [bind(f"extractvalue {kinds} {result}, {i}") for i in range(n)]


def wgmma(acc, n, desc_b, desc_a=None, a=None, scale=1, transposed=0):
    k = len(acc)
    d = "{" + ", ".join(f"${i}" for i in range(k)) + "}"
    name = "wgmma.mma_async.sync.aligned.m64n" + str(n) + "k16.f32.bf16.bf16 "
    if a:
        regs = "{" + ", ".join(f"${2 * k + i}" for i in range(4)) + "}"
        text = f"{name}{d}, {regs}, ${2 * k + 4}, {scale}, 1, 1, {transposed};"
        return tied(text, acc, ",r,r,r,r,l", *[f"i32 {x}" for x in a], f"i64 {desc_b}")
    text = f"{name}{d}, ${2 * k}, ${2 * k + 1}, {scale}, 1, 1, 0, {transposed};"
    return tied(text, acc, ",l,l", f"i64 {desc_a}", f"i64 {desc_b}")


def wait(barrier, parity):
    text = "{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @!p bra W; }"
    asm(text, "r,r,~{memory}", f"i32 {barrier}", f"i32 {parity}")


def expect(barrier, size):
    asm("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,~{memory}", f"i32 {barrier}", f"i32 {size}")


def load(target, name, column, row, head, barrier):
    asm(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$2, $3, $4}], [$5];",
        "r,l,r,r,r,r,~{memory}",
        f"i32 {target}",
        f"ptr %{name}",
        f"i32 {column}",
        f"i32 {row}",
        f"i32 {head}",
        f"i32 {barrier}",
    )


def at(base, offset):
    return bind("add i32 {}, {}", base, offset)


def descriptor(address, leading):
    """Swizzle 128, eight rows 1024 bytes apart."""
    start = bind("zext i32 {} to i64", bind("lshr i32 {}, 4", address))
    return bind("or i64 {}, {}", start, (leading // 16) << 16 | 64 << 32 | 1 << 62)


def advance(desc, size):
    return desc if size == 0 else bind("add i64 {}, {}", desc, size // 16)


def quad(value, function):
    for distance in (1, 2):
        bits = bind("bitcast float {} to i32", value)
        other = bind("call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 {}, i32 {}, i32 31)", bits, distance)
        value = bind(function, value, bind("bitcast i32 {} to float", other))
    return value


MAX = "call float @llvm.maxnum.f32(float {}, float {})"
EX2 = "call float @llvm.nvvm.ex2.approx.ftz.f(float {})"
COMMIT = "call void @llvm.nvvm.wgmma.commit_group.sync.aligned()"
FENCE = "call void @llvm.nvvm.wgmma.fence.sync.aligned()"


def wait_group(pending):
    emit(f"  call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 {pending})")


def multiply_keys():
    s = ["undef"] * NS  # a zero would be moved behind the fence
    for step in range(D // 16):
        panel, inner = step // 4, step % 4 * 32
        qd = advance("%qd", panel * ROWS * 128 + inner)
        s = wgmma(s, KEYS, advance("%kd", panel * KEYS * 128 + inner), desc_a=qd, scale=int(step > 0))
    emit("  " + COMMIT)
    return s


def multiply_values(acc, p, vd):
    for step in range(KEYS // 16):
        acc = wgmma(acc, D, advance(vd, step * 2048), a=p[4 * step : 4 * step + 4], transposed=1)
    emit("  " + COMMIT)
    return acc


def pack(values):
    form = 'call i32 asm sideeffect "cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,f,f"(float {}, float {})'
    return [bind(form, values[i], values[i + 1]) for i in range(0, len(values), 2)]


def release(barrier):
    text = "{ .reg .pred p; setp.eq.u32 p, $1, 0; @p mbarrier.arrive.shared::cta.b64 _, [$0]; }"
    asm(text, "r,r,~{memory}", f"i32 {barrier}", "i32 %lane")


def stage(tile, prefix):
    s = bind("and i32 {}, 1", tile)
    parity = bind("and i32 {}, 1", bind("lshr i32 {}, 1", tile))
    return s, parity, bind("mul i32 {}, 8", s), bind("mul i32 {}, {}", s, KV_BYTES)


def prologue():
    emit('target triple = "nvptx64-nvidia-cuda"\n@smem = external addrspace(3) global [0 x i8], align 1024')
    for text in (
        "void @llvm.nvvm.wgmma.fence.sync.aligned()",
        "void @llvm.nvvm.wgmma.commit_group.sync.aligned()",
        "void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64)",
        "float @llvm.nvvm.ex2.approx.ftz.f(float)",
        "float @llvm.maxnum.f32(float, float)",
        "float @llvm.fma.f32(float, float, float)",
        "i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)",
        "i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
        "i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()",
        "i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()",
    ):
        emit("declare " + text)
    maps = ", ".join(f'ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %{m}' for m in ("mq", "mk", "mv"))
    emit(f"define ptx_kernel void @wgmma_flash({maps}, ptr addrspace(1) %out, i32 %sq, i32 %sk) #0 {{\nentry:")
    emit("  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()")
    emit("  %tile = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n  %head = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()")
    emit("  %base = ptrtoint ptr addrspace(3) @smem to i32\n  %lane = and i32 %tid, 31\n  %row0 = mul i32 %tile, 128")
    emit(f"  %sk1 = add i32 %sk, {KEYS - 1}\n  %tiles = udiv i32 %sk1, {KEYS}")
    emit("  %first = icmp eq i32 %tid, 0\n  br i1 %first, label %init, label %start\ninit:")
    for barrier in range(9):
        address = at("%base", BARS + 8 * barrier)
        asm(
            "mbarrier.init.shared::cta.b64 [$0], $1;",
            "r,r,~{memory}",
            f"i32 {address}",
            f"i32 {1 if barrier < 5 else 8}",
        )
    asm("fence.mbarrier_init.release.cluster;", "~{memory}")
    emit("  br label %start\nstart:")
    asm("bar.sync 0;", "~{memory}")
    emit("  %isproducer = icmp ult i32 %tid, 128\n  br i1 %isproducer, label %producer, label %consumer")


def producer():
    emit("producer:")
    asm("setmaxnreg.dec.sync.aligned.u32 24;", "~{memory}")
    emit("  br i1 %first, label %fill, label %exit\nfill:")
    full = at("%base", FULL_Q)
    expect(full, Q_BYTES)
    for panel in range(PANELS):
        load(at("%base", panel * ROWS * 128), "mq", panel * 64, "%row0", "%head", full)
    emit("  br label %ploop\nploop:\n  %pj = phi i32 [0, %fill], [%pnext, %ploop]")
    _, parity, bar, offset = stage("%pj", "p")
    other = bind("xor i32 {}, 1", parity)
    row = bind("mul i32 %pj, {}", KEYS)
    for name, start, full_bar, empty_bar in (("mk", K_START, FULL_K, EMPTY_K), ("mv", V_START, FULL_V, EMPTY_V)):
        wait(at(at("%base", bar), empty_bar), other)
        full = at(at("%base", bar), full_bar)
        expect(full, KV_BYTES)
        tile = at(at("%base", offset), start)
        for panel in range(PANELS):
            load(at(tile, panel * KEYS * 128), name, panel * 64, row, "%head", full)
    emit("  %pnext = add i32 %pj, 1\n  %pmore = icmp slt i32 %pnext, %tiles\n  br i1 %pmore, label %ploop, label %exit")


def softmax(s, old):
    """Masks, then the new maxima, weights, partial sums and factors of the old state."""
    key0 = bind("add i32 {}, {}", bind("mul i32 %j, {}", KEYS), "%col")
    for i in range(NS):
        inside = bind("icmp slt i32 {}, %sk", at(key0, i // 4 * 8 + (i & 1)))
        s[i] = bind("select i1 {}, float {}, float 0xFFF0000000000000", inside, s[i])
    scale = f32(math.log2(math.e) / math.sqrt(D))
    maxima, factors, negated = [], [], []
    for r in range(2):
        m = old[f"m{r}"]
        for i in range(NS):
            if i // 2 % 2 == r:
                m = bind(MAX, m, s[i])
        m = quad(m, MAX)
        maxima.append(m)
        factors.append(bind(EX2, bind("fmul float {}, " + scale, bind("fsub float {}, {}", old[f"m{r}"], m))))
        negated.append(bind("fmul float {}, " + f32(-math.log2(math.e) / math.sqrt(D)), m))
    sums = [bind("fmul float {}, {}", old[f"l{r}"], factors[r]) for r in range(2)]
    weights = []
    for i in range(NS):
        r = i // 2 % 2
        weights.append(
            bind(EX2, bind("call float @llvm.fma.f32(float {}, float " + scale + ", float {})", s[i], negated[r]))
        )
        sums[r] = bind("fadd float {}, {}", sums[r], weights[i])
    return maxima, factors, sums, weights


def consumer():
    emit("consumer:")
    asm("setmaxnreg.inc.sync.aligned.u32 240;", "~{memory}")
    emit("  %ctid = sub i32 %tid, 128\n  %group = lshr i32 %ctid, 7\n  %t = and i32 %tid, 3\n  %col = shl i32 %t, 1")
    qa = at("%base", bind("mul i32 %group, {}", 64 * 128))
    emit(f"  %qd = or i64 {descriptor(qa, 16)}, 0")
    wait(at("%base", FULL_Q), 0)
    emit("  br label %loop\nloop:\n  %j = phi i32 [0, %consumer], [%next, %loop]")
    acc = [f"%o{i}" for i in range(NO)]
    for i in range(NO):
        emit(f"  {acc[i]} = phi float [0.0, %consumer], [%on{i}, %loop]")
    for r in range(2):
        emit(f"  %m{r} = phi float [{f32(-1e30)}, %consumer], [%mn{r}, %loop]")
        emit(f"  %l{r} = phi float [0.0, %consumer], [%ln{r}, %loop]")
    old = {name: "%" + name for name in ("m0", "m1", "l0", "l1")}
    _, parity, bar, offset = stage("%j", "c")
    tile = at("%base", offset)
    emit(f"  %kd = or i64 {descriptor(at(tile, K_START), 16)}, 0")
    vd = descriptor(at(tile, V_START), KEYS * 128)
    bars = at("%base", bar)
    wait(at(bars, FULL_K), parity)
    emit("  " + FENCE)
    s = multiply_keys()
    wait_group(0)
    s = tied("", s)
    release(at(bars, EMPTY_K))
    maxima, factors, sums, weights = softmax(s, old)
    acc = [bind("fmul float {}, {}", acc[i], factors[i // 2 % 2]) for i in range(NO)]
    p = pack(weights)
    wait(at(bars, FULL_V), parity)
    emit("  " + FENCE)
    acc = multiply_values(acc, p, vd)
    wait_group(0)
    acc = tied("", acc)
    release(at(bars, EMPTY_V))
    for i in range(NO):
        emit(f"  %on{i} = select i1 true, float {acc[i]}, float 0.0")
    for r in range(2):
        emit(f"  %mn{r} = select i1 true, float {maxima[r]}, float 0.0")
        emit(f"  %ln{r} = select i1 true, float {sums[r]}, float 0.0")
    emit(
        "  %next = add i32 %j, 1\n  %more = icmp slt i32 %next, %tiles\n  br i1 %more, label %loop, label %done\ndone:"
    )


def epilogue():
    inverse = [bind("fdiv float 1.0, {}", quad(f"%ln{r}", "fadd float {}, {}")) for r in range(2)]
    emit(
        "  %warp = lshr i32 %ctid, 5\n  %wrow = mul i32 %warp, 16\n  %g = lshr i32 %lane, 2\n  %rr = add i32 %wrow, %g"
    )
    for r in range(2):
        row = at(at("%row0", "%rr"), 8 * r)
        emit(f"  %in{r} = icmp slt i32 {row}, %sq\n  br i1 %in{r}, label %store{r}, label %skip{r}\nstore{r}:")
        line = bind("add i32 {}, {}", bind("mul i32 %head, %sq"), row)
        offset = bind("add i32 {}, %col", bind("mul i32 {}, {}", line, D))
        for i in range(NO):
            if i // 2 % 2 == r:
                p = bind("getelementptr float, ptr addrspace(1) %out, i32 {}", at(offset, i // 4 * 8 + (i & 1)))
                emit(f"  store float {bind('fmul float {}, {}', f'%on{i}', inverse[r])}, ptr addrspace(1) {p}")
        emit(f"  br label %skip{r}\nskip{r}:")
    emit("  br label %exit\nexit:\n  ret void\n}")
    emit('attributes #0 = { "nvvm.maxntid"="384" "nvvm.minctasm"="1" }')


prologue()
producer()
consumer()
epilogue()
print("\n".join(lines))
