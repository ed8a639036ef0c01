"""What one line of PTX becomes, by classes of faults: for plant-faults.py, and for the tests of single faults."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

Mutate = Callable[[str], Iterable[str]]

INTEGER = r"-?\d+"
REGISTER = r"%\w+"


def replace(pattern: str, *substitutes: Callable[[re.Match], str | None]) -> Mutate:
    """A class that changes one place of a line; every place, and every substitute, is a fault of its own."""

    def mutate(line: str) -> Iterator[str]:
        for match in re.finditer(pattern, line):
            for substitute in substitutes:
                changed = substitute(match)
                if changed is not None and changed != match.group(0):
                    yield line[: match.start()] + changed + line[match.end() :]

    return mutate


def drop(pattern: str) -> Mutate:
    """A class that removes the line."""
    return lambda line: [""] if re.search(pattern, line) else []


def swap_modifier(names: dict[str, str]) -> Mutate:
    """A class that changes one of these modifiers into its value."""
    return replace(r"(?<=\.)(" + "|".join(names) + r")(?=\.)", lambda match: names[match.group(1)])


def exchange(pattern: str, most: int | None = None) -> Mutate:
    """Exchanges each two neighbours, or the first ones, of a list of registers in braces that are not the same."""

    def mutate(line: str) -> Iterator[str]:
        if not re.search(pattern, line):
            return
        for braces in re.finditer(r"\{([^}]*)\}", line):
            parts = [part.strip() for part in braces.group(1).split(",")]
            for i in range(len(parts) - 1)[:most]:
                changed = [*parts[:i], parts[i + 1], parts[i], *parts[i + 2 :]]
                if changed != parts:
                    yield line[: braces.start()] + "{" + ", ".join(changed) + "}" + line[braces.end() :]

    return mutate


def drop_operand(line: str) -> Iterator[str]:
    """The result is one of two operands."""
    match = re.match(
        rf"\s*(?:add|sub|max|min|mul|and|or|xor)(?:\.\w+)*\.([sub]\d+|f32)\s+({REGISTER}), ({REGISTER}), ([^,;]+);",
        line,
    )
    if match and "wide" not in line and "hi" not in line:
        kind, result, first, second = match.groups()
        for kept in (first, second):
            yield f"\tmov.{kind.replace('s', 'b').replace('u', 'b')} \t{result}, {kept};"


def keep_addend(line: str) -> Iterator[str]:
    """The result of a multiply-add is what it adds."""
    match = re.match(rf"\s*fma\.rn(?:\.ftz)?\.f32\s+({REGISTER}), ({REGISTER}), ([^,]+), ([^;]+);", line)
    if match:
        yield f"\tmov.b32 \t{match.group(1)}, {match.group(4)};"


def drop_addend(line: str) -> Iterator[str]:
    """The result of a multiply-add is its product."""
    match = re.match(rf"\s*fma\.rn(\.ftz)?\.f32\s+({REGISTER}), ({REGISTER}), ([^,]+), ([^;]+);", line)
    if match:
        yield f"\tmul.rn{match[1] or ''}.f32 \t{match[2]}, {match[3]}, {match[4]};"


def hold(line: str) -> Iterator[str]:
    """A comparison of numbers always holds, or never does."""
    match = re.match(rf"\s*setp\.\w+(?:\.\w+)*\s+({REGISTER}), ", line)
    if match:
        yield f"\tmov.pred \t{match[1]}, -1;"
        yield f"\tmov.pred \t{match[1]}, 0;"


def change_exponent(line: str) -> Iterator[str]:
    """2^x becomes 2^(-x), and x."""
    match = re.match(rf"\s*ex2\.approx(?:\.ftz)?\.f32\s+({REGISTER}), ({REGISTER});", line)
    if match:
        if match[1] != match[2]:
            yield f"\tneg.f32 \t{match[1]}, {match[2]}; {line.strip().replace(match[2] + ';', match[1] + ';')}"
        yield f"\tmov.b32 \t{match[1]}, {match[2]};"


def increase_parameter(line: str) -> Iterator[str]:
    """A size, a stride or an address that the host gives is one more."""
    match = re.match(rf"\s*ld\.param\.[bus](32|64)\s+({REGISTER}), ", line)
    if match:
        yield f"{line} add.s{match[1]} \t{match[2]}, {match[2]}, 1;"


def to_neighbour(spaces: str, step: int) -> Mutate:
    """Accesses what lies next to it: one access further, or before."""
    pattern = (
        rf"^\s*(?:@!?%\w+\s+)?(?:{spaces})(?:\.\w+)*?(?:\.v(\d))?\.[bfsu](8|16|32|64)\s[^\[]*\[({REGISTER})(\+-?\d+)?\]"
    )

    def mutate(line: str) -> Iterator[str]:
        match = re.match(pattern, line)
        if match:
            width = int(match[1] or 1) * int(match[2]) // 8
            place = int((match[4] or "+0")[1:]) + step * width
            yield line[: match.start(3)] + f"{match[3]}+{place}]" + line[match.end() :]

    return mutate


def drop_shuffle(line: str) -> Iterator[str]:
    """A lane keeps what it had."""
    match = re.match(rf"\s*shfl\.sync\.\w+\.b32\s+({REGISTER})(?:\|{REGISTER})?, ({REGISTER}),", line)
    if match:
        yield f"\tmov.b32 \t{match[1]}, {match[2]};"


def leave_product_out(line: str) -> Iterator[str]:
    """What mma adds to is its result; of what begins as a constant, 0."""
    match = re.match(r"\s*mma\.sync\S*\s*\{([^}]*)\}.*\{([^}]*)\};", line)
    if match:
        pairs = zip(match[1].split(","), match[2].split(","), strict=True)
        yield "\t" + " ".join(f"mov.b32 {result.strip()}, {addend.strip()};" for result, addend in pairs)


def double_real(match: re.Match) -> str | None:
    """Twice as large; not of 0 and what is not finite."""
    bits = int(match[1], 16)
    exponent = bits >> 23 & 0xFF
    return f"0f{bits + (1 << 23):08X}" if 0 < exponent < 0xFE else None


def next_integer(match: re.Match) -> str:
    """One more."""
    return str(int(match.group(0)) + 1)


# By name: what it does to a line. Only instructions are shown lines.
CLASSES = {
    "initialisation removed": drop(rf"^\s*mov\.\w+\s+{REGISTER}, (?:0f[0-9A-F]{{8}}|{INTEGER}|true|false);"),
    "move removed": drop(rf"^\s*mov\.\w+\s+{REGISTER}, {REGISTER};"),
    "max and min": replace(r"^\s*(max|min)\b", lambda m: "\tmin" if "max" in m.group(0) else "\tmax"),
    "operand dropped": drop_operand,
    "product dropped": keep_addend,
    "zero fill dropped": replace(r"(cp\.async\.c[ag][^;]*\], \d+), %\w+;", lambda m: m.group(1) + ";"),
    "rounded to zero": replace(r"(?<=cvt)\.rn(?=\.(?:bf16|f16)(?:x2)?\.f32)", lambda m: ".rz"),
    "barrier removed": drop(r"^\s*(bar|barrier)\."),
    "wait removed": drop(r"cp\.async\.(bulk\.)?wait"),
    "wait for one less": replace(r"(?:(?<=wait_group )|(?<=wait_group\.read ))\s*\d+", next_integer),
    "commit removed": drop(r"cp\.async\.(bulk\.)?commit"),
    "copy removed": drop(r"cp\.async\.c[ag]\."),
    "comparison": swap_modifier(
        {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "eq": "ne", "ne": "eq", "hi": "hs", "ls": "lo"}
    ),
    "comparison inverted": replace(
        r"(?<=setp\.)(lt|le|gt|ge|eq|ne)u?(?=\.)",
        lambda m: {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}[m.group(1)],
    ),
    "comparison held": hold,
    "and for or": replace(r"^\s*(and|or)(?=\.pred)", lambda m: "\tor" if "and" in m.group(0) else "\tand"),
    "sum for difference": replace(
        r"^\s*(add|sub)(?=\.(?:rn\.)?(?:ftz\.)?[fs]\d+)", lambda m: "\tsub" if "add" in m.group(0) else "\tadd"
    ),
    "operands exchanged": replace(
        rf"(?<=\s)({REGISTER}), ({REGISTER}|0f\w{{8}}), ({REGISTER});",
        lambda m: f"{m[1]}, {m[3]}, {m[2]};" if re.match(r"\s*(sub|div|shl|shr)\.", m.string) else None,
    ),
    "factor for addend": replace(
        rf"(?<=\s)({REGISTER}), ([^,]+), ({REGISTER}), ({REGISTER});",
        lambda m: f"{m[1]}, {m[2]}, {m[4]}, {m[3]};" if re.match(r"\s*(fma|mad)\.", m.string) else None,
    ),
    "addend dropped": drop_addend,
    "exponent changed": change_exponent,
    "parameter + 1": increase_parameter,
    "stored to a neighbour": to_neighbour("st", 1),
    "stored to the one before": to_neighbour("st", -1),
    "loaded from a neighbour": to_neighbour("ld", 1),
    "copied from a neighbour": replace(
        rf"(cp\.async\.c[ag][^;]*\], \[{REGISTER})(\+\d+)?(?=\])", lambda m: f"{m[1]}+{int(m[2] or 0) + 16}"
    ),
    "copied to a neighbour": replace(
        rf"(cp\.async\.c[ag][^;\[]*\[{REGISTER})(\+\d+)?(?=\], )", lambda m: f"{m[1]}+{int(m[2] or 0) + 16}"
    ),
    "shuffle removed": drop_shuffle,
    "all for any": replace(r"(?<=vote\.sync\.)(any|all)", lambda m: {"any": "all", "all": "any"}[m.group(0)]),
    "constant - 1": replace(
        rf"(?<=, ){INTEGER}(?=;)",
        lambda m: None if "cp.async" in m.string or "bar" in m.string else str(int(m.group(0)) - 1),
    ),
    "factor + 1": replace(
        rf"(?<=, ){INTEGER}(?=, {REGISTER};)", lambda m: next_integer(m) if "mad" in m.string else None
    ),
    "real doubled": replace(r"\b0f([0-9A-F]{8})", double_real),
    "index of another": replace(r"%(ctaid|nctaid|tid)\.([xyz])\b", lambda m: f"%{m[1]}.{'yzx'['xyz'.index(m[2])]}"),
    "branch turned": replace(r"^\s*@(!?)%p", lambda m: "\t@%p" if "!" in m.group(0) else "\t@!%p"),
    "constant + 1": replace(
        rf"(?<=, ){INTEGER}(?=;)", lambda m: None if "cp.async" in m.string or "bar" in m.string else next_integer(m)
    ),
    "offset": replace(r"(?<=\+)\d+(?=\])", lambda m: str(int(m.group(0)) + 16) if "param" not in m.string else None),
    "selection turned": replace(
        rf"(?<=\s)({REGISTER}), ([^,]+), ([^,]+), ({REGISTER});",
        lambda m: f"{m[1]}, {m[3]}, {m[2]}, {m[4]};" if "selp" in m.string else None,
    ),
    "mma registers": exchange(r"\bmma\.sync"),
    "product left out": leave_product_out,
    "ldmatrix registers": exchange(r"\bldmatrix\."),
    "vector registers": exchange(r"\b(ld|st)\.\w+[\w.:]*\.v[248]"),
    "transposition": replace(r"(ldmatrix[\w.]*)\.trans", lambda m: m.group(1)),
    "shuffle distance": replace(
        r"(shfl\.sync\.bfly[^,]*, [^,]*, )(\d+)", lambda m: f"{m[1]}{3 - int(m[2]) if int(m[2]) in (1, 2) else 1}"
    ),
    "store removed": drop(r"^\s*(st|red)\."),
    # wgmma, mbarriers and bulk copies
    "proxy fence removed": drop(r"\bfence\.(proxy|mbarrier_init)"),
    "wgmma fence removed": drop(r"\bwgmma\.fence"),
    "wgmma wait removed": drop(r"\bwgmma\.(wait|commit)_group"),
    "wgmma accumulators": exchange(r"\bwgmma\.mma", most=4),
    "wgmma operands": replace(
        rf"(?<=\}}, )(%rd\d+), (%rd\d+)(?=, [01],)|(?<=\{{)({REGISTER}), ({REGISTER})(?=(?:, {REGISTER}){{2}}\}}, %rd)",
        lambda m: f"{m[2]}, {m[1]}" if m[1] else f"{m[4]}, {m[3]}",
    ),
    "wgmma scale": replace(r"(wgmma\.mma.*%rd\d+, )([01])(?=, 1, 1)", lambda m: m[1] + "10"[int(m[2])]),
    "wgmma transposition": replace(r"(wgmma\.mma.*, )([01])(?=;)", lambda m: m[1] + "10"[int(m[2])]),
    "descriptor stride": replace(
        r"(?<=, )46\d{17}(?=;)",
        lambda m: str(int(m[0]) + (1 << 38)),
        lambda m: str(int(m[0]) ^ (3 << 24)) if int(m[0]) >> 16 & 0x3FFF else None,
    ),
    "phase not waited for": drop(r"\bmbarrier\.try_wait"),
    "parity": replace(r"(mbarrier\.try_wait[^;]*\], )%r\d+", lambda m: m[1] + "0", lambda m: m[1] + "1"),
    "arrival removed": drop(r"\bmbarrier\.arrive\."),
    "bytes expected": replace(r"(expect_tx[^;]*\], )(%r\d+)", lambda m: m[1] + "1024"),
    "initial count": replace(r"(mbarrier\.init[^;]*\], )%r\d+", lambda m: m[1] + "7"),
    "box removed": drop(r"\bcp\.async\.bulk\.tensor"),
    "box coordinate": replace(
        r"(cp\.async\.bulk\.tensor[^;]*\{)(%r\d+), (%r\d+)",
        lambda m: f"{m[1]}{m[3]}, {m[2]}",
        lambda m: f"{m[1]}{m[2]}, {m[2]}",
    ),
    "registers of a role": replace(r"(setmaxnreg.*u32 )(\d+)", lambda m: f"{m[1]}{int(m[2]) + 16}"),
}

# An asm statement may declare a predicate in front of its instruction.
INSTRUCTION = re.compile(r"^\s*(\{ \.reg |(@!?%\w+\s+)?[a-z][\w.:]*\s*[^:]*;)")


@dataclass
class Fault:
    """One line that is another one."""

    kernel: str
    kind: str
    line: int
    before: str
    after: str
    verdict: str = ""


def join_lines(text: str) -> str:
    """With each instruction in one line."""
    return re.sub(r"\n\t\t(?=\{)", " ", text)


def find_faults(name: str, text: str) -> list[Fault]:
    """All faults of all classes in this text."""
    faults = []
    for number, line in enumerate(text.splitlines(), 1):
        if not INSTRUCTION.match(line) or line.lstrip().startswith("."):
            continue
        for kind, mutate in CLASSES.items():
            for changed in mutate(line):
                faults.append(Fault(name, kind, number, line.strip(), changed))
    return faults
