"""Prints IR that is nested N levels deep in one of the ways there are: nested.py KIND N."""

import sys

kind, n = sys.argv[1], int(sys.argv[2])
value = {
    "array": "[" * n + "]" * n,
    "dictionary": "{a = " * n + "1" + "}" * n,
    "tuple": "tuple<" * n + ">" * n,
    "function": "(" * n + "() -> ()" + ") -> ()" * n,
    "parentheses": "affine_map<(d0) -> (" + "(" * n + "d0" + ")" * n + ")>",
    "signs": "affine_map<(d0) -> (" + "-" * n + "d0)>",
    "operators": "affine_map<(d0) -> (" + " + ".join(f"d0 floordiv {i + 2}" for i in range(n // 2)) + ")>",
    "dense": "dense<" + "[" * n + "1" + "]" * n + "> : tensor<1xi32>",
    "alias": f"#a{n}",
    "type_alias": f"!t{n}",
    "string": '"' + "[" * n + r"\"" + "(" * n + '"',
}.get(kind, "1")
print("// " + "[({<" * n)
if kind == "alias":
    print("#a0 = [1]\n" + "\n".join(f"#a{i + 1} = [#a{i}]" for i in range(n)))
if kind == "type_alias":
    print("!t0 = i32\n" + "\n".join(f"!t{i + 1} = tuple<!t{i}>" for i in range(n)))
regions = {"module": "module {\n", "region": "scf.if %t {\n"}.get(kind, "")
location = ' loc({}"b"{})'.format('callsite("a" at ' * n, ")" * n) if kind == "location" else ""
modules = kind == "module"
print(f"module attributes {{test.value = {value}}} {{")
print(regions * n if modules else "", "}\n" * n if modules else "", sep="")
print(f"""func.func @kernel(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %t = arith.constant true
  {"" if modules else regions * n}{"" if modules else "}" * (n if regions else 0)}
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.copy ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}}{location}
}}""")
