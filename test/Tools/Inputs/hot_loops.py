"""Prints the hot loops of a disassembly on standard input: innermost loops with at least FMAS multiply-adds.

One line a loop: whether it is a product (at least PRODUCT_SHARE of it multiply-adds) or something else, how many
multiply-adds, spills (accesses to the stack at a constant place; tiles on the stack have an index) and calls it has.
"""

import re
import sys

FMAS = 8
PRODUCT_SHARE = 0.5
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*)")
SPILL = re.compile(r"\(%r[sb]p\)")


def main() -> None:
    """Loops are what backward jumps span; those that hold no other backward jump are innermost."""
    code = [(int(m[1], 16), m[2], m[3]) for m in map(INSTRUCTION.match, sys.stdin) if m]
    places = {address: i for i, (address, _, _) in enumerate(code)}
    loops = []
    for end, (address, mnemonic, operands) in enumerate(code):
        target = re.match(r"0x([0-9a-f]+)", operands) if mnemonic.startswith("j") else None
        if target and int(target[1], 16) <= address:
            loops.append((places[int(target[1], 16)], end))
    for start, end in loops:
        if any(start <= first and last <= end for first, last in loops if (first, last) != (start, end)):
            continue
        body = code[start : end + 1]
        fmas = sum(mnemonic.startswith("vfmadd") for _, mnemonic, _ in body)
        if fmas < FMAS:
            continue
        kind = "product" if fmas >= PRODUCT_SHARE * len(body) else "other"
        spills = sum(bool(SPILL.search(operands)) for _, _, operands in body)
        calls = sum(mnemonic.startswith("call") for _, mnemonic, _ in body)
        print(f"{kind}: {fmas} multiply-adds, {spills} spills, {calls} calls")


main()
