#!/usr/bin/env bash
# What masks, score functions and dynamic sizes cost: one line a kernel, all in one run on one thread.
#
#   benchmarks/masks.sh [ATTNC]
set -euo pipefail
attnc=${1:-$(dirname "$0")/../build/release/bin/attnc}

# bench NAME PROBLEM [FLAG…]: best and median time of a problem, which may go on with regions after its first line.
bench() {
  local name=$1 problem=$2
  shift 2
  "$attnc" bench --seconds=1.5 --problem="$problem" "$@" | sed -e "s/.*best \([0-9.]* ms\), median \([0-9.]* ms\).*/$name: best \1, median \2/"
}

alibi='captures(%slopes : tensor<1xf32>)
score_mod {
^bb0(%score: f32):
  %h = attn.index head : index
  %i = attn.index query : index
  %j = attn.index key : index
  %slope = tensor.extract %slopes[%h] : tensor<1xf32>
  %distance = arith.subi %j, %i : index
  %narrow = arith.index_cast %distance : index to i32
  %real = arith.sitofp %narrow : i32 to f32
  %added = arith.mulf %slope, %real : f32
  %sum = arith.addf %score, %added : f32
  attn.yield %sum : f32
}'
causal='mask_mod {
  %i = attn.index query : index
  %j = attn.index key : index
  %keep = arith.cmpi sle, %j, %i : index
  attn.yield %keep : i1
}'
blocks='mask_mod {
  %i = attn.index query : index
  %j = attn.index key : index
  %size = arith.constant 512 : index
  %row = arith.floordivsi %i, %size : index
  %column = arith.floordivsi %j, %size : index
  %keep = arith.cmpi eq, %row, %column : index
  attn.yield %keep : i1
}'

bench "1024 full" "sq1024 d64"
bench "1024 boolean mask" "sq1024 d64 mask=bool"
bench "1024 bias" "sq1024 d64 bias=1,1,1024,1024"
bench "1024 softcap" "sq1024 d64 softcap=30"
bench "1024 alibi by region" "sq1024 d64
$alibi"
bench "1024 dynamic sizes" "b? hq? sq? sk? d64" --size=b=1,hq=1,sq=1024,sk=1024
bench "4096 full" "sq4096 d64"
bench "4096 window of 256" "sq4096 d64 window=255,0 align=top_left"
bench "4096 causal" "sq4096 d64 causal=top_left"
bench "4096 causal by region" "sq4096 d64
$causal"
bench "4096 block-diagonal, 8 documents" "sq4096 d64
$blocks"
bench "4096 chunks of 512, causal" "sq4096 d64 causal=top_left chunk=512"
