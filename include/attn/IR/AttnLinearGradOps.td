//===- AttnLinearGradOps.td - gradients of linear attention -*- tablegen -*-===//
//
// The gradients of attn.linear as one op.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_ATTNLINEARGRADOPS_TD
#define ATTN_IR_ATTNLINEARGRADOPS_TD

include "attn/IR/AttnBase.td"

def Attn_LinearBackwardOp : Attn_StructuredOp<"linear_backward", [AttrSizedOperandSegments]> {
  let summary = "the gradients of linear attention";
  let description = [{
    Of an `attn.linear` with the same operands and attributes, whose state is `state` in front of the first token, and of the
    cotangents of its results: `dout`, and `dstate`, which holds that of the state behind the last token, and afterwards
    the gradient of the state in front of the first one. For each token, from the last one to the first, with `S`, `D`,
    `S'` and `e` as `attn.linear` has them, `dS` the cotangent of `S'`, and `R` the `D`, or `S` with `before`, that erase reads:

    1. `dS += scale * query dout^T`; `dquery = scale * S' dout`;
    2. `dkey = dS value`; `dvalue = dS^T key`;
    3. `de = dS^T write`; `dwrite = dS e`; `derase = R de`; `dR = erase de^T`;
    4. `dD = dS + dR`, `dS` with `before`; `ddecay = sum dD * D` over what shares a decay; the `dS` of the token in front is
       `diag(exp decay) dD`, `+ dR` with `before`.

    With `beta`, `dbeta = value . dv - key . derase` of `dv`, the gradient of `beta value`; `dvalue = beta dv`, and `-beta derase`
    is added to dkey. The rule of `normalize` follows for dquery and dkey.

    dquery and dkey have the heads of value: who wants those of query and key sums over the heads that share one.

    Domain: (batch…, query, head, value), where query is the token.

    With `slots` state and dstate are pools: slots that no batch index has keep what they hold. With `cu_seqlens` rows of no
    sequence are not written.

    * L1 to L7: as for `attn.linear`.
    * L9: dout has the type of query, dstate that of state; a gradient has the type of its input, or that of the
      accumulation; `ddecay`, `dbeta`, `derase` and `dwrite` stand exactly beside decay, beta, erase and write.

    ```mlir
    %dq, %dk, %dv, %ds = attn.linear_backward
        ins(%q, %k, %v : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>)
        dout(%do : tensor<1x2x5x6xf32>) state(%s : tensor<1x2x8x6xf32>)
        outs(%dq0, %dk0, %dv0 : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>)
        dstate(%ds0 : tensor<1x2x8x6xf32>)
        -> tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x2x8x6xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$query, Attn_Shaped:$key, Attn_Shaped:$value, Optional<Attn_Shaped>:$decay,
                       Optional<Attn_Shaped>:$beta, Optional<Attn_Shaped>:$erase, Optional<Attn_Shaped>:$write,
                       Attn_Shaped:$dout, Attn_Shaped:$state, Attn_Shaped:$dquery, Attn_Shaped:$dkey,
                       Attn_Shaped:$dvalue, Optional<Attn_Shaped>:$ddecay, Optional<Attn_Shaped>:$dbeta,
                       Optional<Attn_Shaped>:$derase, Optional<Attn_Shaped>:$dwrite, Attn_Shaped:$dstate,
                       Optional<Attn_Shaped>:$cu_seqlens, Optional<Attn_Shaped>:$slots, UnitAttr:$before, OptionalAttr<F64Attr>:$normalize, OptionalAttr<F64Attr>:$scale,
                       OptionalAttr<AffineMapArrayAttr>:$maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let extraClassDeclaration = structuredDeclaration # [{
    /// `scale`, or 1/sqrt(D).
    double getScaleNumber();
    /// True where decay has a channel of key.
    bool hasChannelDecay();
    /// The cotangent that has the form of attn.linear's output.
    ::mlir::Value getOutput() { return getDout(); }
  }];
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
        (`decay` `(` $decay^ `:` type($decay) `)`)? (`beta` `(` $beta^ `:` type($beta) `)`)?
        (`erase` `(` $erase^ `:` type($erase) `)`)? (`write` `(` $write^ `:` type($write) `)`)?
        `dout` `(` $dout `:` type($dout) `)` `state` `(` $state `:` type($state) `)`
        (`cu_seqlens` `(` $cu_seqlens^ `:` type($cu_seqlens) `)`)? (`slots` `(` $slots^ `:` type($slots) `)`)?
        `outs` `(` $dquery `,` $dkey `,` $dvalue `:` type($dquery) `,` type($dkey) `,` type($dvalue) `)`
        (`ddecay` `(` $ddecay^ `:` type($ddecay) `)`)? (`dbeta` `(` $dbeta^ `:` type($dbeta) `)`)?
        (`derase` `(` $derase^ `:` type($derase) `)`)? (`dwrite` `(` $dwrite^ `:` type($dwrite) `)`)?
        `dstate` `(` $dstate `:` type($dstate) `)` attr-dict (`->` type($results)^)?
  }];
}

#endif // ATTN_IR_ATTNLINEARGRADOPS_TD
