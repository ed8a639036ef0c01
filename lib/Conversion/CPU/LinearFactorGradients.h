//===- LinearFactorGradients.h - gradients of a chunk's factors -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_LINEARFACTORGRADIENTS_H
#define ATTN_LIB_CONVERSION_CPU_LINEARFACTORGRADIENTS_H

#include "LinearTile.h"

namespace attn::cpu {

/// From the gradients of the factors of a chunk to those of its rows and decays.
class LinearFactorGradients {
public:
  LinearFactorGradients(TileOps &ops, LinearChunk &chunk);
  /// What is the same for all chunks.
  void prepare();
  void compute();

  TileOps &ops;
  LinearChunk &chunk;
  const LinearShape &shape;
  Tile left;      ///< in: of e^G a, then of scale e^G q; out: of a, then of scale q
  Tile right;     ///< in: of e^(G_C - G) k, then of that of writes; out: of k and writes
  Tile triangles; ///< of L' and L, then of P; (2 chunk, sets chunk)
  Tile ends;      ///< sum over values of dS * S; (1, D)
  Tile gates;     ///< out: of decays, (1, chunk) or (chunk, D)
  Tile erased;    ///< a, which compute reads

private:
  bool hasDecay() const { return chunk.op.getDecay() != mlir::Value(); }
  void selectTriangles();
  void computeByHead();
  void computeLogs();
  void computeByChannel();
  void buildHistory();
  void computeTokenBack(mlir::Value token);
  void computeLeft(mlir::Value token);
  Tile row(const Tile &tile, mlir::Value at, int64_t shift = 0) {
    return ops.part(tile, ops.add(at, ops.index(shift)), ops.b.getIndexAttr(1));
  }
  /// output += x y over elements.
  void addProduct(const Tile &x, const Tile &y, const Tile &output);
  void scaleRow(const Tile &gate, const Tile &output);

  Tile logs, starts; ///< by head: of ln D, and of ln e^G; by channel `starts` is e^G in front of each token
  Tile history;      ///< by channel: keys and writes, decayed up to the gate of each token
};

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_LINEARFACTORGRADIENTS_H
