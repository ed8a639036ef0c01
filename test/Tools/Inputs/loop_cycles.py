"""Compares hot loops with the bound of their multiply-adds: the cycles that llvm-mca predicts for each.

    loop_cycles.py ASSEMBLY MCA_OUTPUT MULTIPLY_ADDS_A_CYCLE

ASSEMBLY is what `attnc bench --roofline=asm` printed, MCA_OUTPUT what llvm-mca says of it (100 iterations). Products
(loops of which half are multiply-adds) are printed, and fail where they take more than SLACK times the bound; but not
those of what is left of a tile, which have fewer multiply-adds than MAIN_SHARE of the largest.
"""

import re
import sys
from pathlib import Path

ITERATIONS, SLACK, PRODUCT_SHARE, MAIN_SHARE = 100, 1.05, 0.5, 0.7


def main() -> None:
    """Exits with 1 where a product is slow."""
    assembly, prediction = (Path(path).read_text() for path in sys.argv[1:3])
    regions = re.findall(r"# LLVM-MCA-BEGIN (\S+)\n(.*?)# LLVM-MCA-END", assembly, re.S)
    cycles = [int(text) / ITERATIONS for text in re.findall(r"^Total Cycles: +(\d+)", prediction, re.M)]
    loops = [(name, code.count("vfmadd"), code.count("\n")) for name, code in regions]
    largest = max(products for _, products, _ in loops)
    is_fine = True
    for (name, products, instructions), spent in zip(loops, cycles, strict=True):
        if products < MAIN_SHARE * largest or products < PRODUCT_SHARE * instructions:
            continue
        bound = products / float(sys.argv[3])
        is_fine &= spent <= SLACK * bound
        print(f"{name}: {products} multiply-adds, {spent:.1f} cycles, bound {bound:.1f}")
    sys.exit(not is_fine)


main()
