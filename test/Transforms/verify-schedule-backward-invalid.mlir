// RUN: attn-opt %s --attn-select-schedule=target=x86-64-v3 --split-input-file --verify-diagnostics

func.func @forward_schedule(%q: tensor<4x16xf32>, %l: tensor<4xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) {
  // expected-error @below {{schedule: expected that of a backward kernel; write #attn.backward<…>}}
  %r:3 = attn.sdpa_backward
      ins(%q, %q, %q, %q, %l, %q : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4xf32>, tensor<4x16xf32>)
      outs(%q, %q, %q : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>)
      {schedule = #attn.prefill<query_tile = 8, key_tile = 16, lanes = 8, block_rows = 4, block_vectors = 1>}
      -> tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>
  return %r#0, %r#1, %r#2 : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>
}

// -----

func.func @backward_schedule(%q: tensor<4x16xf32>) -> tensor<4x16xf32> {
  // expected-error @below {{schedule: expected one of a forward kernel}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) outs(%q : tensor<4x16xf32>)
      {schedule = #attn.backward<query_tile = 6, key_tile = 16, lanes = 8, block_rows = 6, block_vectors = 2>}
      -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

func.func @lanes(%q: tensor<4x16xf32>, %l: tensor<4xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) {
  // expected-error @below {{schedule: expected lanes to be 8, those of a vector of 'f32' on target x86-64-v3}}
  %r:3 = attn.sdpa_backward
      ins(%q, %q, %q, %q, %l, %q : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4xf32>, tensor<4x16xf32>)
      outs(%q, %q, %q : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>)
      {schedule = #attn.backward<query_tile = 6, key_tile = 16, lanes = 4, block_rows = 6, block_vectors = 2>}
      -> tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>
  return %r#0, %r#1, %r#2 : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>
}

// -----

func.func @stack(%q: tensor<4x1024xf32>, %l: tensor<4xf32>) -> (tensor<4x1024xf32>, tensor<4x1024xf32>, tensor<4x1024xf32>) {
  // expected-error @below {{schedule: expected query_tile and key_tile of at most 1048576 bytes of a tile, found 96 and 128}}
  %r:3 = attn.sdpa_backward
      ins(%q, %q, %q, %q, %l, %q : tensor<4x1024xf32>, tensor<4x1024xf32>, tensor<4x1024xf32>, tensor<4x1024xf32>, tensor<4xf32>, tensor<4x1024xf32>)
      outs(%q, %q, %q : tensor<4x1024xf32>, tensor<4x1024xf32>, tensor<4x1024xf32>)
      {schedule = #attn.backward<query_tile = 96, key_tile = 128, lanes = 8, block_rows = 6, block_vectors = 2>}
      -> tensor<4x1024xf32>, tensor<4x1024xf32>, tensor<4x1024xf32>
  return %r#0, %r#1, %r#2 : tensor<4x1024xf32>, tensor<4x1024xf32>, tensor<4x1024xf32>
}

// -----

// expected-error @below {{expected key_tile to be a multiple of the 16 keys of a panel, found 40; write key_tile = 48}}
#s = #attn.backward<query_tile = 6, key_tile = 40, lanes = 8, block_rows = 6, block_vectors = 2>

// -----

// expected-error @below {{expected block_rows times block_vectors to be at most 128, found 100 times 2; write block_rows = 6, block_vectors = 2}}
#s = #attn.backward<query_tile = 6, key_tile = 16, lanes = 8, block_rows = 100, block_vectors = 2>

// -----

// expected-error @below {{expected query_tile to be a multiple of 32 with instruction = amx, found 6; write query_tile = 32}}
#s = #attn.backward<query_tile = 6, key_tile = 16, lanes = 8, block_rows = 6, block_vectors = 2, instruction = amx>

// -----

// expected-error @below {{expected panels of a multiple of 32 keys with instruction = amx, found lanes times block_vectors = 16; write lanes = 16, block_vectors = 2}}
#s = #attn.backward<query_tile = 32, key_tile = 32, lanes = 16, block_rows = 32, block_vectors = 1, instruction = amx>

// -----

// expected-error @below {{expected instruction to be fma, pairs or amx, found bytes; write instruction = fma}}
#s = #attn.backward<query_tile = 6, key_tile = 16, lanes = 8, block_rows = 6, block_vectors = 2, instruction = bytes>

// -----

func.func @pairs(%q: tensor<4x16xf32>, %l: tensor<4xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) {
  // expected-error @below {{schedule: expected instruction = pairs only on targets that have it, with sums of 'f32', found x86-64-v3}}
  %r:3 = attn.sdpa_backward
      ins(%q, %q, %q, %q, %l, %q : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4xf32>, tensor<4x16xf32>)
      outs(%q, %q, %q : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>)
      {schedule = #attn.backward<query_tile = 6, key_tile = 16, lanes = 8, block_rows = 6, block_vectors = 2, instruction = pairs>}
      -> tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>
  return %r#0, %r#1, %r#2 : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>
}

// -----

func.func @chunks(%q: tensor<4x16xf32>, %l: tensor<4xf32>, %bias: tensor<1x1xf32>)
    -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<1x1xf32>) {
  // expected-error @below {{schedule: expected chunks = 1 for packed sequences, and where tasks share a gradient of a bias or of a captured tensor, found 2; write chunks = 1}}
  %r:4 = attn.sdpa_backward
      ins(%q, %q, %q, %q, %l, %q : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4xf32>, tensor<4x16xf32>)
      bias(%bias : tensor<1x1xf32>)
      outs(%q, %q, %q : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) dbias(%bias : tensor<1x1xf32>)
      {schedule = #attn.backward<query_tile = 6, key_tile = 16, lanes = 8, block_rows = 6, block_vectors = 2, chunks = 2>}
      -> tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<1x1xf32>
  return %r#0, %r#1, %r#2, %r#3 : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<1x1xf32>
}
