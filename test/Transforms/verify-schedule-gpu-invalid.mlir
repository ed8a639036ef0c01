// A schedule in IR for a GPU is checked as one of --schedule is.
// RUN: attn-opt %s --attn-select-schedule=target=sm_80 --split-input-file --verify-diagnostics

// No schedule makes this one a GPU kernel.
func.func @rows(%q: tensor<16x59xf16>, %o: tensor<16x59xf16>) -> tensor<16x59xf16> {
  // expected-error @below {{no GPU kernel for head sizes 59 and 59, expected static multiples of 8 from 8 to 640 and 256}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<16x59xf16>, tensor<16x59xf16>, tensor<16x59xf16>) outs(%o : tensor<16x59xf16>)
      {schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>} -> tensor<16x59xf16>
  return %r : tensor<16x59xf16>
}

// -----

// The schedule of a processor.
func.func @no_warps(%q: tensor<16x64xf32>, %o: tensor<16x64xf32>) -> tensor<16x64xf32> {
  // expected-error @below {{schedule: expected one of a block of warps on target sm_80, found #attn.prefill<query_tile = 16, key_tile = 16, lanes = 16, block_rows = 1, block_vectors = 1>; write #attn.block<…>}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>) outs(%o : tensor<16x64xf32>)
      {schedule = #attn.prefill<query_tile = 16, key_tile = 16, lanes = 16, block_rows = 1, block_vectors = 1>} -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}

// -----

// A slice of the mask has 9 rows.
func.func @more_rows(%q: tensor<9x64xf16>, %mask: tensor<9x9xi1>, %o: tensor<9x64xf16>) -> tensor<9x64xf16> {
  // expected-error @below {{schedule: expected query_tile of at most the 9 query rows, found 16; write query_tile = 9}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<9x64xf16>, tensor<9x64xf16>, tensor<9x64xf16>) mask(%mask : tensor<9x9xi1>)
      outs(%o : tensor<9x64xf16>)
      {schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>} -> tensor<9x64xf16>
  return %r : tensor<9x64xf16>
}

// -----

// Without tensor cores each product is an instruction.
func.func @unrolled(%q: tensor<32x64xf32>, %o: tensor<32x64xf32>) -> tensor<32x64xf32> {
  // expected-error @below {{schedule: expected warp_rows times key_tile without tensor cores to be at most 1024, found 32 times 64; write warp_rows = 16, key_tile = 32}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>) outs(%o : tensor<32x64xf32>)
      {schedule = #attn.block<query_tile = 32, key_tile = 64, warps = 1, warp_rows = 32>} -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}

// -----

func.func @registers(%q: tensor<128x64xf16>, %o: tensor<128x64xf16>) -> tensor<128x64xf16> {
  // expected-error @below {{schedule: expected warp_rows times columns of V and keys of a tile to be at most 32768, found 128 times 320; write warp_rows = 16 and a smaller key_tile}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<128x64xf16>, tensor<128x64xf16>, tensor<128x64xf16>) outs(%o : tensor<128x64xf16>)
      {schedule = #attn.block<query_tile = 128, key_tile = 256, warps = 1, warp_rows = 128, instruction = mma>} -> tensor<128x64xf16>
  return %r : tensor<128x64xf16>
}

// -----

// Two groups of four warps share rows.
func.func @columns(%q: tensor<64x1x576xf16>, %k: tensor<1x99x576xf16>, %v: tensor<1x99x512xf16>, %o: tensor<64x1x512xf16>) -> tensor<64x1x512xf16> {
  // expected-error @below {{schedule: expected warps to be a multiple of 8, and columns of V of 128, where 2 groups of warps share rows, found 4 and 512; write warps = 8, or instruction = mma for parts of V}}
  %0 = attn.sdpa ins(%q, %k, %v : tensor<64x1x576xf16>, tensor<1x99x576xf16>, tensor<1x99x512xf16>) outs(%o : tensor<64x1x512xf16>)
      {schedule = #attn.block<query_tile = 1, key_tile = 32, warps = 4, warp_rows = 16, instruction = wgmma, shared_keys = true>} -> tensor<64x1x512xf16>
  return %0 : tensor<64x1x512xf16>
}

// -----

// Four warps multiply together.
func.func @two_warps(%q: tensor<32x64xf16>, %o: tensor<32x64xf16>) -> tensor<32x64xf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<32x64xf16>, tensor<32x64xf16>, tensor<32x64xf16>) outs(%o : tensor<32x64xf16>)
      // expected-error @below {{expected warps to be a multiple of 4 for instruction = wgmma, found 2; write warps = 4}}
      {schedule = #attn.block<query_tile = 32, key_tile = 64, warps = 2, warp_rows = 16, instruction = wgmma>} -> tensor<32x64xf16>
  return %r : tensor<32x64xf16>
}

// -----

func.func @two_fragments(%q: tensor<128x64xf16>, %o: tensor<128x64xf16>) -> tensor<128x64xf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<128x64xf16>, tensor<128x64xf16>, tensor<128x64xf16>) outs(%o : tensor<128x64xf16>)
      // expected-error @below {{expected warp_rows = 16 and key_tile of at most 256 for instruction = wgmma, found 32 and 64; write warp_rows = 16, key_tile = 128}}
      {schedule = #attn.block<query_tile = 128, key_tile = 64, warps = 4, warp_rows = 32, instruction = wgmma>} -> tensor<128x64xf16>
  return %r : tensor<128x64xf16>
}

// -----

func.func @other_target(%q: tensor<64x64xf16>, %o: tensor<64x64xf16>) -> tensor<64x64xf16> {
  // expected-error @below {{schedule: expected instruction = wgmma only on targets that have it, with sums of 'f32', found sm_80 and 'f32'; write instruction = mma}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>) outs(%o : tensor<64x64xf16>)
      {schedule = #attn.block<query_tile = 64, key_tile = 64, warps = 4, warp_rows = 16, instruction = wgmma>} -> tensor<64x64xf16>
  return %r : tensor<64x64xf16>
}

// -----

func.func @f32(%q: tensor<64x64xf32>, %o: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-error @below {{schedule: instruction = wgmma: found Q of 'f32', K of 'f32' and head sizes 64 and 64, expected a Q of 16 bits; write instruction = fma}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) outs(%o : tensor<64x64xf32>)
      {schedule = #attn.block<query_tile = 64, key_tile = 64, warps = 4, warp_rows = 16, instruction = wgmma>} -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// -----

func.func @many_stages(%q: tensor<16x64xf16>, %o: tensor<16x64xf16>) -> tensor<16x64xf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<16x64xf16>, tensor<16x64xf16>, tensor<16x64xf16>) outs(%o : tensor<16x64xf16>)
      // expected-error @below {{expected stages of at most 16, found 17; write stages = 2}}
      {schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma, stages = 17>} -> tensor<16x64xf16>
  return %r : tensor<16x64xf16>
}

// -----

// Each stage takes shared memory.
func.func @large_stages(%q: tensor<64x128xf16>, %o: tensor<64x128xf16>) -> tensor<64x128xf16> {
  // expected-error @below {{schedule: expected at most 163 KiB of shared memory on target sm_80, found 272; write a smaller key_tile, fewer stages or fewer warps}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<64x128xf16>, tensor<64x128xf16>, tensor<64x128xf16>) outs(%o : tensor<64x128xf16>)
      {schedule = #attn.block<query_tile = 64, key_tile = 64, warps = 4, warp_rows = 16, instruction = mma, stages = 8>} -> tensor<64x128xf16>
  return %r : tensor<64x128xf16>
}

// -----

func.func @no_stage(%q: tensor<64x64xf16>, %o: tensor<64x64xf16>) -> tensor<64x64xf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>) outs(%o : tensor<64x64xf16>)
      // expected-error @below {{expected stages to be a number from 1 to 16777216, found 0}}
      {schedule = #attn.block<query_tile = 64, key_tile = 64, warps = 4, warp_rows = 16, instruction = wgmma, stages = 0>} -> tensor<64x64xf16>
  return %r : tensor<64x64xf16>
}

// -----

// Who copies ahead has a place for it.
func.func @one_stage(%q: tensor<64x64xf16>, %o: tensor<64x64xf16>) -> tensor<64x64xf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>) outs(%o : tensor<64x64xf16>)
      // expected-error @below {{expected stages of at least 2 with a producer, found 1; write stages = 2, or producer = false}}
      {schedule = #attn.block<query_tile = 64, key_tile = 64, warps = 4, warp_rows = 16, instruction = wgmma, producer = true>} -> tensor<64x64xf16>
  return %r : tensor<64x64xf16>
}

// -----

// Warps that multiply four at a time do not copy ahead themselves.
func.func @no_producer(%q: tensor<64x64xf16>, %o: tensor<64x64xf16>) -> tensor<64x64xf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>) outs(%o : tensor<64x64xf16>)
      // expected-error @below {{expected a producer for stages of instruction = wgmma, found none; write producer = true, or stages = 1}}
      {schedule = #attn.block<query_tile = 64, key_tile = 64, warps = 4, warp_rows = 16, instruction = wgmma, stages = 2>} -> tensor<64x64xf16>
  return %r : tensor<64x64xf16>
}

// -----

// Tiles of mma have no panels.
func.func @mma(%q: tensor<64x64xf16>, %o: tensor<64x64xf16>) -> tensor<64x64xf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>) outs(%o : tensor<64x64xf16>)
      // expected-error @below {{expected a producer with instruction = wgmma alone, found mma; write instruction = wgmma, or producer = false}}
      {schedule = #attn.block<query_tile = 64, key_tile = 64, warps = 4, warp_rows = 16, instruction = mma, stages = 2, producer = true>} -> tensor<64x64xf16>
  return %r : tensor<64x64xf16>
}

// -----

// What is converted goes through registers.
func.func @converted(%q: tensor<1x64x64xf16>, %k: tensor<1x64x64xi8>, %s: tensor<1xf32>, %o: tensor<1x64x64xf16>) -> tensor<1x64x64xf16> {
  // expected-error @below {{schedule: expected no producer where rows of K and V are converted on their way to shared memory; write stages = 1, producer = false}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<1x64x64xf16>, tensor<1x64x64xi8>, tensor<1x64x64xi8>) kv_scale(%s, %s : tensor<1xf32>, tensor<1xf32>)
      outs(%o : tensor<1x64x64xf16>)
      {schedule = #attn.block<query_tile = 64, key_tile = 64, warps = 4, warp_rows = 16, instruction = wgmma, stages = 2, producer = true>} -> tensor<1x64x64xf16>
  return %r : tensor<1x64x64xf16>
}

// -----

// Keys are split among blocks that share the query rows.
func.func @split(%q: tensor<16x64xf16>, %o: tensor<16x64xf16>) -> tensor<16x64xf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<16x64xf16>, tensor<16x64xf16>, tensor<16x64xf16>) outs(%o : tensor<16x64xf16>)
      // expected-error @below {{expected split_keys only with shared_keys, found it without; write split_keys = 0}}
      {schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma, split_keys = 16>}
      -> tensor<16x64xf16>
  return %r : tensor<16x64xf16>
}

// -----

// More rows than the warps have.
func.func @tile(%q: tensor<64x64xf16>, %o: tensor<64x64xf16>) -> tensor<64x64xf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>) outs(%o : tensor<64x64xf16>)
      // expected-error @below {{expected query_tile to be at most warp_rows times warps, 16, found 32; write query_tile = 16}}
      {schedule = #attn.block<query_tile = 32, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>}
      -> tensor<64x64xf16>
  return %r : tensor<64x64xf16>
}

// -----

// Fewer rows than the warps have, and than there are.
func.func @less(%q: tensor<64x64xf16>, %o: tensor<64x64xf16>) -> tensor<64x64xf16> {
  // expected-error @below {{schedule: expected query_tile to be warp_rows times warps, 16, or all query rows, found 8; write query_tile = 16}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>) outs(%o : tensor<64x64xf16>)
      {schedule = #attn.block<query_tile = 8, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>}
      -> tensor<64x64xf16>
  return %r : tensor<64x64xf16>
}

// -----

// A block of 2,048 threads.
func.func @warps(%q: tensor<1024x64xf16>, %o: tensor<1024x64xf16>) -> tensor<1024x64xf16> {
  // expected-error @below {{schedule: expected warps from 1 to 16 on target sm_80, found 64; write warps = 4}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<1024x64xf16>, tensor<1024x64xf16>, tensor<1024x64xf16>)
      outs(%o : tensor<1024x64xf16>)
      {schedule = #attn.block<query_tile = 1024, key_tile = 16, warps = 64, warp_rows = 16, instruction = mma>}
      -> tensor<1024x64xf16>
  return %r : tensor<1024x64xf16>
}

// -----

// A block of gradients has all of its rows.
func.func @back(%q: tensor<64x64xf16>, %lse: tensor<64xf32>) -> tensor<64x64xf16> {
  // expected-error @below {{schedule: expected query_tile to be warp_rows times warps, 16, without shared_keys, found 8; write query_tile = 16}}
  %r:3 = attn.sdpa_backward ins(%q, %q, %q, %q, %lse, %q : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>,
      tensor<64x64xf16>, tensor<64xf32>, tensor<64x64xf16>)
      outs(%q, %q, %q : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>)
      {schedule = #attn.block<query_tile = 8, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>}
      -> tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>
  return %r#0 : tensor<64x64xf16>
}

// -----

// Sums of 512 columns do not fit the registers.
func.func @back_head(%q: tensor<64x512xf16>, %v: tensor<64x64xf16>, %lse: tensor<64xf32>) -> tensor<64x512xf16> {
  // expected-error @below {{no GPU kernel for gradients of head size 512, expected at most 256; compile it for a CPU}}
  %r:3 = attn.sdpa_backward ins(%q, %q, %v, %v, %lse, %v : tensor<64x512xf16>, tensor<64x512xf16>, tensor<64x64xf16>,
      tensor<64x64xf16>, tensor<64xf32>, tensor<64x64xf16>)
     
      outs(%q, %q, %v : tensor<64x512xf16>, tensor<64x512xf16>, tensor<64x64xf16>)
      -> tensor<64x512xf16>, tensor<64x512xf16>, tensor<64x64xf16>
  return %r#0 : tensor<64x512xf16>
}
