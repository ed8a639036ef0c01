// attn.sdpa on numbers along every path that attn-opt has: materialised in f32 and f64, tiled (4 query rows, 3 keys) on
// tensors, and tiled on vectors. What is expected is computed by the formula of docs/Semantics.md in f64.
// DEFINE: %{bufferize} = --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map"
// DEFINE: %{lower} = --convert-linalg-to-loops --expand-strided-metadata --lower-affine --convert-scf-to-cf \
// DEFINE:   --convert-vector-to-llvm --convert-math-to-libm --expand-strided-metadata --lower-affine --convert-to-llvm \
// DEFINE:   --reconcile-unrealized-casts
// DEFINE: %{execute} = mlir-runner -e examples --entry-point-result=void \
// DEFINE:   --shared-libs=%mlir_lib_dir/libmlir_runner_utils.so,%mlir_lib_dir/libmlir_c_runner_utils.so
// RUN: attn-opt %s --attn-to-reference %{bufferize} %{lower} | %{execute} | FileCheck %s
// RUN: attn-opt %s --attn-to-reference=compute-type=f64 %{bufferize} %{lower} | %{execute} | FileCheck %s
// RUN: attn-opt %s --attn-to-flash=target=x86-64 --attn-lower-to-reference %{bufferize} --scf-forall-to-for %{lower} | %{execute} \
// RUN:   | FileCheck %s
// RUN: attn-opt %s --attn-to-flash=target=x86-64 %{bufferize} --attn-lower-tile-to-vector=target=x86-64 \
// RUN:   --attn-outline-parallel=parallel=false %{lower} | %{execute} | FileCheck %s

func.func private @printMemrefF32(tensor<*xf32>)

// 1 where every element is the expected one (-inf included) or as near as 1e-5, otherwise 0.
func.func private @agree(%got: tensor<?xf32>, %want: tensor<?xf32>) {
  %true = arith.constant true
  %eps = arith.constant 1.0e-5 : f32
  %e = tensor.empty() : tensor<1xi1>
  %init = linalg.fill ins(%true : i1) outs(%e : tensor<1xi1>) -> tensor<1xi1>
  %all = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (0)>],
      iterator_types = ["reduction"]} ins(%got, %want : tensor<?xf32>, tensor<?xf32>) outs(%init : tensor<1xi1>) {
  ^bb0(%x: f32, %y: f32, %before: i1):
    %d = arith.subf %x, %y : f32
    %a = math.absf %d : f32
    %near = arith.cmpf ole, %a, %eps : f32
    %same = arith.cmpf oeq, %x, %y : f32
    %ok = arith.ori %near, %same : i1
    %both = arith.andi %before, %ok : i1
    linalg.yield %both : i1
  } -> tensor<1xi1>
  %f = tensor.empty() : tensor<1xf32>
  %ones = linalg.map { arith.uitofp } ins(%all : tensor<1xi1>) outs(%f : tensor<1xf32>)
  %u = tensor.cast %ones : tensor<1xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}

func.func private @check(%out: tensor<4x5x2xf32>, %lse: tensor<4x5xf32>, %wantOut: tensor<40xf32>,
                         %wantLse: tensor<20xf32>) {
  %o = tensor.collapse_shape %out [[0, 1, 2]] : tensor<4x5x2xf32> into tensor<40xf32>
  %l = tensor.collapse_shape %lse [[0, 1]] : tensor<4x5xf32> into tensor<20xf32>
  %a = tensor.cast %o : tensor<40xf32> to tensor<?xf32>
  %b = tensor.cast %wantOut : tensor<40xf32> to tensor<?xf32>
  %c = tensor.cast %l : tensor<20xf32> to tensor<?xf32>
  %d = tensor.cast %wantLse : tensor<20xf32> to tensor<?xf32>
  call @agree(%a, %b) : (tensor<?xf32>, tensor<?xf32>) -> ()
  call @agree(%c, %d) : (tensor<?xf32>, tensor<?xf32>) -> ()
  return
}

// Every key of every row.
func.func private @plain(%q: tensor<4x5x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x2xf32>,
                         %b: tensor<5x7xf32>, %m: tensor<5x7xi1>) {
  %o = tensor.empty() : tensor<4x5x2xf32>
  %l = tensor.empty() : tensor<4x5xf32>
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>)
      outs(%o, %l : tensor<4x5x2xf32>, tensor<4x5xf32>)
      {schedule = #attn.prefill<query_tile = 4, key_tile = 3, lanes = 4, block_rows = 2, block_vectors = 1>}
      -> tensor<4x5x2xf32>, tensor<4x5xf32>
  %out = arith.constant dense<
      [1.535471, -1.578961, -0.343560, 0.624282, 1.392301, -1.455634, -0.327871, 0.571565,
       1.234844, -1.325350, -1.264538, 0.031874, 1.662579, -1.692531, -0.356479, 0.666474,
       1.535471, -1.578961, -0.343560, 0.624282, 1.286216, 0.861105, -1.494019, -0.116742,
       1.303244, 0.602150, -1.467160, -0.106373, -1.234844, -0.187105, -1.662579, -0.591059,
       1.264538, 1.108283, -1.520001, -0.127181, 1.286216, 0.861105, -1.494019, -0.116742]> : tensor<40xf32>
  %lse = arith.constant dense<
      [2.232623, 2.560163, 2.101082, 2.470033, 1.990298, 3.279743, 2.381814, 2.661304,
       2.232623, 2.560163, 3.241819, 2.882131, 3.220348, 2.868555, 1.990298, 2.381814,
       3.279743, 2.905053, 3.241819, 2.882131]> : tensor<20xf32>
  call @check(%r#0, %r#1, %out, %lse) : (tensor<4x5x2xf32>, tensor<4x5xf32>, tensor<40xf32>, tensor<20xf32>) -> ()
  return
}

// Row i keeps keys 0 to i.
func.func private @top_left(%q: tensor<4x5x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x2xf32>,
                            %b: tensor<5x7xf32>, %m: tensor<5x7xi1>) {
  %o = tensor.empty() : tensor<4x5x2xf32>
  %l = tensor.empty() : tensor<4x5xf32>
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>)
      outs(%o, %l : tensor<4x5x2xf32>, tensor<4x5xf32>)
      {causal = #attn.causal<top_left>,
       schedule = #attn.prefill<query_tile = 4, key_tile = 3, lanes = 4, block_rows = 2, block_vectors = 1>}
      -> tensor<4x5x2xf32>, tensor<4x5xf32>
  %out = arith.constant dense<
      [-2.000000, -0.500000, -0.250000, 1.250000, -0.660926, 0.839074, 0.084309, -0.227806,
       -0.152229, -0.088777, -2.000000, -0.500000, -0.348334, 1.151666, -0.681183, 0.818817,
       -0.042179, -0.076947, -0.200000, 0.0, 0.500000, 2.000000, -0.831958, 0.668042,
       0.649125, 2.149125, -1.691871, -0.191871, -1.474629, 0.025371, 0.500000, 2.000000,
       -0.749251, 0.750749, -0.350814, 1.149186, 0.656014, 2.156014, -1.611189, -0.111189]> : tensor<40xf32>
  %lse = arith.constant dense<
      [-0.450000, 0.430647, 0.574081, 1.127307, 1.172060, 1.912500, 0.300978, 0.875486,
       0.880923, 1.346938, -0.300000, 0.361962, 2.121573, 2.169681, 1.830784, -1.012500,
       0.088568, 0.453390, 2.283793, 2.266918]> : tensor<20xf32>
  call @check(%r#0, %r#1, %out, %lse) : (tensor<4x5x2xf32>, tensor<4x5xf32>, tensor<40xf32>, tensor<20xf32>) -> ()
  return
}

// Row i keeps keys 0 to i + 2.
func.func private @bottom_right(%q: tensor<4x5x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x2xf32>,
                                %b: tensor<5x7xf32>, %m: tensor<5x7xi1>) {
  %o = tensor.empty() : tensor<4x5x2xf32>
  %l = tensor.empty() : tensor<4x5xf32>
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>)
      outs(%o, %l : tensor<4x5x2xf32>, tensor<4x5xf32>)
      {causal = #attn.causal<bottom_right>,
       schedule = #attn.prefill<query_tile = 4, key_tile = 3, lanes = 4, block_rows = 2, block_vectors = 1>}
      -> tensor<4x5x2xf32>, tensor<4x5xf32>
  %out = arith.constant dense<
      [-0.673423, 0.826577, 0.0, -0.125000, -0.182175, -0.029954, -0.020795, -0.192756,
       1.234844, -1.325350, -1.660463, -0.160463, -0.126341, 0.011785, -0.241055, 0.059636,
       1.606102, -1.668452, -0.343560, 0.624282, 0.750479, 2.250479, -1.719507, -0.219507,
       0.997330, 2.497330, -1.543043, -0.043043, -1.234844, -0.187105, -2.180458, -0.680458,
       0.731201, 2.231201, -1.636639, -0.136639, 0.985856, 2.485856, -1.494019, -0.116742]> : tensor<40xf32>
  %lse = arith.constant dense<
      [0.611581, 1.123794, 1.123344, 1.446150, 1.990298, 2.724505, 0.887940, 1.315056,
       2.198511, 2.560163, 2.248844, 2.232695, 2.786341, 2.846905, 1.990298, 2.127565,
       2.426578, 2.340739, 2.890599, 2.882131]> : tensor<20xf32>
  call @check(%r#0, %r#1, %out, %lse) : (tensor<4x5x2xf32>, tensor<4x5xf32>, tensor<40xf32>, tensor<20xf32>) -> ()
  return
}

// The bias is added after the cap.
func.func private @softcap_and_bias(%q: tensor<4x5x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x2xf32>,
                                    %b: tensor<5x7xf32>, %m: tensor<5x7xi1>) {
  %o = tensor.empty() : tensor<4x5x2xf32>
  %l = tensor.empty() : tensor<4x5xf32>
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>)
      bias(%b : tensor<5x7xf32>) outs(%o, %l : tensor<4x5x2xf32>, tensor<4x5xf32>)
      {softcap = 0.5 : f64,
       schedule = #attn.prefill<query_tile = 4, key_tile = 3, lanes = 4, block_rows = 2, block_vectors = 1>}
      -> tensor<4x5x2xf32>, tensor<4x5xf32>
  %out = arith.constant dense<
      [0.772110, -1.001451, 0.141648, -0.828649, 0.266246, -0.192242, -0.612952, -0.261493,
       0.253392, -0.195719, -0.141513, -0.524838, 1.035781, -1.529647, -0.284499, 0.490148,
       -0.500955, -0.490824, -0.288657, 0.478635, 0.278866, 0.153200, -0.788571, 0.546265,
       0.786314, 0.307029, -0.150772, 1.052630, -0.228880, 0.123597, -0.725819, -0.220197,
       0.321249, 1.289201, -0.173234, 0.167948, 0.790506, 1.632564, -0.192139, 0.163856]> : tensor<40xf32>
  %lse = arith.constant dense<
      [1.956826, 2.002066, 1.818175, 1.947659, 2.028102, 2.183261, 2.280558, 2.014070,
       1.744017, 2.217412, 2.285581, 2.385361, 2.288873, 2.007019, 2.097169, 1.983310,
       2.202348, 1.832564, 2.190137, 2.050009]> : tensor<20xf32>
  call @check(%r#0, %r#1, %out, %lse) : (tensor<4x5x2xf32>, tensor<4x5xf32>, tensor<40xf32>, tensor<20xf32>) -> ()
  return
}

// Row 2 of the mask is empty: out 0, lse -inf.
func.func private @boolean_mask(%q: tensor<4x5x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x2xf32>,
                                %b: tensor<5x7xf32>, %m: tensor<5x7xi1>) {
  %o = tensor.empty() : tensor<4x5x2xf32>
  %l = tensor.empty() : tensor<4x5xf32>
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>)
      mask(%m : tensor<5x7xi1>) outs(%o, %l : tensor<4x5x2xf32>, tensor<4x5xf32>)
      {schedule = #attn.prefill<query_tile = 4, key_tile = 3, lanes = 4, block_rows = 2, block_vectors = 1>}
      -> tensor<4x5x2xf32>, tensor<4x5xf32>
  %out = arith.constant dense<
      [1.537972, -1.901829, -0.343560, 0.624282, 0.0, 0.0, -0.327871, 0.571565,
       2.319762, -1.959802, -1.297463, -0.003476, 1.662579, -1.692531, 0.0, 0.0,
       1.535471, -1.578961, 1.869004, -0.396678, 1.372473, 0.903505, -1.494019, -0.116742,
       0.0, 0.0, -1.467160, -0.106373, -2.319762, -0.819762, 0.290499, 0.362696,
       1.264538, 1.108283, 0.0, 0.0, 1.286216, 0.861105, -1.775240, -0.275240]> : tensor<40xf32>
  %lse = arith.constant dense<
      [2.164487, 2.560163, 0xFF800000, 2.470033, 1.637201, 3.267904, 2.381814, 0xFF800000,
       2.232623, 0.603420, 3.219292, 2.882131, 0xFF800000, 2.868555, 1.637201, 1.178166,
       3.279743, 0xFF800000, 3.241819, 2.777536]> : tensor<20xf32>
  call @check(%r#0, %r#1, %out, %lse) : (tensor<4x5x2xf32>, tensor<4x5xf32>, tensor<40xf32>, tensor<20xf32>) -> ()
  return
}

// Any real scale.
func.func private @negative_scale(%q: tensor<4x5x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x2xf32>,
                                  %b: tensor<5x7xf32>, %m: tensor<5x7xi1>) {
  %o = tensor.empty() : tensor<4x5x2xf32>
  %l = tensor.empty() : tensor<4x5xf32>
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>)
      outs(%o, %l : tensor<4x5x2xf32>, tensor<4x5xf32>)
      {scale = -0.75 : f64,
       schedule = #attn.prefill<query_tile = 4, key_tile = 3, lanes = 4, block_rows = 2, block_vectors = 1>}
      -> tensor<4x5x2xf32>, tensor<4x5xf32>
  %out = arith.constant dense<
      [-0.274191, 0.300789, 1.046707, -1.152362, -0.324924, 0.418257, 1.273744, -1.349476,
       -0.375003, 0.518742, 1.570217, -0.129192, -0.227865, 0.173831, 0.812882, -0.964305,
       -0.274191, 0.300789, 1.046707, -1.152362, -1.591615, -0.113044, 0.999046, 0.812382,
       -1.623214, -0.141735, 1.070884, 1.184013, 0.375003, 0.943314, 0.227865, 1.077197,
       -1.570217, -0.094194, 0.892998, 0.433977, -1.591615, -0.113044, 0.999046, 0.812382]> : tensor<40xf32>
  %lse = arith.constant dense<
      [2.821988, 2.628331, 2.872275, 2.779623, 2.955059, 2.733714, 2.807808, 2.528784,
       2.821988, 2.628331, 2.677297, 2.980300, 2.654405, 3.007252, 2.955059, 2.807808,
       2.733714, 2.999357, 2.677297, 2.980300]> : tensor<20xf32>
  call @check(%r#0, %r#1, %out, %lse) : (tensor<4x5x2xf32>, tensor<4x5xf32>, tensor<40xf32>, tensor<20xf32>) -> ()
  return
}

// A scale that is a value.
func.func private @scale_of_run_time(%q: tensor<4x5x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x2xf32>,
                                     %b: tensor<5x7xf32>, %m: tensor<5x7xi1>) {
  %s = arith.constant 0.375 : f32
  %o = tensor.empty() : tensor<4x5x2xf32>
  %l = tensor.empty() : tensor<4x5xf32>
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>)
      scale_value(%s : f32) outs(%o, %l : tensor<4x5x2xf32>, tensor<4x5xf32>)
      {schedule = #attn.prefill<query_tile = 4, key_tile = 3, lanes = 4, block_rows = 2, block_vectors = 1>}
      -> tensor<4x5x2xf32>, tensor<4x5xf32>
  %out = arith.constant dense<
      [1.138463, -1.195879, -0.248458, 0.428840, 1.029324, -1.105129, -0.239189, 0.387607,
       0.917741, -1.016222, -1.109063, -0.010699, 1.243584, -1.286697, -0.256206, 0.463942,
       1.138463, -1.195879, -0.248458, 0.428840, 1.110711, 0.803106, -1.287272, -0.024666,
       1.108429, 0.621134, -1.268660, -0.027629, -0.917741, -0.004286, -1.243584, -0.348891,
       1.109063, 0.980847, -1.305610, -0.021819, 1.110711, 0.803106, -1.287272, -0.024666]> : tensor<40xf32>
  %lse = arith.constant dense<
      [2.034820, 2.263014, 1.960612, 2.212376, 1.899058, 2.818692, 2.120697, 2.321596,
       2.034820, 2.263014, 2.798550, 2.494212, 2.788153, 2.491598, 1.899058, 2.120697,
       2.818692, 2.503310, 2.798550, 2.494212]> : tensor<20xf32>
  call @check(%r#0, %r#1, %out, %lse) : (tensor<4x5x2xf32>, tensor<4x5xf32>, tensor<40xf32>, tensor<20xf32>) -> ()
  return
}

// i - 2 <= j <= i, and all of it in head 0 only where j is even.
func.func private @window(%q: tensor<4x5x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x2xf32>,
                          %b: tensor<5x7xf32>, %m: tensor<5x7xi1>) {
  %o = tensor.empty() : tensor<4x5x2xf32>
  %l = tensor.empty() : tensor<4x5xf32>
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>)
      outs(%o, %l : tensor<4x5x2xf32>, tensor<4x5xf32>)
      {schedule = #attn.prefill<query_tile = 4, key_tile = 3, lanes = 4, block_rows = 2, block_vectors = 1>} mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %h = attn.index head : index
    %two = arith.constant 2 : index
    %zero = arith.constant 0 : index
    %first = arith.subi %i, %two : index
    %right = arith.cmpi sle, %j, %i : index
    %left = arith.cmpi sge, %j, %first : index
    %in = arith.andi %left, %right : i1
    %rest = arith.remui %j, %two : index
    %even = arith.cmpi eq, %rest, %zero : index
    %other = arith.cmpi ne, %h, %zero : index
    %head = arith.ori %even, %other : i1
    %keep = arith.andi %in, %head : i1
    attn.yield %keep : i1
  }
      -> tensor<4x5x2xf32>, tensor<4x5xf32>
  %out = arith.constant dense<
      [-2.000000, -0.500000, -2.000000, -0.500000, -1.740629, -0.240629, -1.500000, 0.0,
       -1.221993, 0.278007, -2.000000, -0.500000, -0.348334, 1.151666, -0.681183, 0.818817,
       0.660926, 0.074982, -0.166667, -0.833333, 0.500000, 2.000000, -0.831958, 0.668042,
       0.649125, 2.149125, -1.951651, -0.451651, 0.152512, 1.652512, 0.500000, 2.000000,
       -0.749251, 0.750749, -0.350814, 1.149186, 0.668752, 2.168752, -1.747440, -0.247440]> : tensor<40xf32>
  %lse = arith.constant dense<
      [-0.450000, -0.262500, 0.168850, -0.225000, 0.361962, 1.912500, 0.300978, 0.875486,
       0.574081, 0.836112, -0.300000, 0.361962, 2.121573, 2.057675, 0.765327, -1.012500,
       0.088568, 0.453390, 2.205304, 2.105775]> : tensor<20xf32>
  call @check(%r#0, %r#1, %out, %lse) : (tensor<4x5x2xf32>, tensor<4x5xf32>, tensor<40xf32>, tensor<20xf32>) -> ()
  return
}

// Heads 0 and 1 read head 0 of K, heads 2 and 3 head 1: j > kv_head.
func.func private @kv_head_index(%q: tensor<4x5x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x2xf32>,
                                 %b: tensor<5x7xf32>, %m: tensor<5x7xi1>) {
  %o = tensor.empty() : tensor<4x5x2xf32>
  %l = tensor.empty() : tensor<4x5xf32>
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>)
      outs(%o, %l : tensor<4x5x2xf32>, tensor<4x5xf32>)
      {schedule = #attn.prefill<query_tile = 4, key_tile = 3, lanes = 4, block_rows = 2, block_vectors = 1>} mask_mod {
    %g = attn.index kv_head : index
    %j = attn.index key : index
    %keep = arith.cmpi sgt, %j, %g : index
    attn.yield %keep : i1
  }
      -> tensor<4x5x2xf32>, tensor<4x5xf32>
  %out = arith.constant dense<
      [1.794985, -1.658161, -0.238865, 0.695342, 1.646452, -1.527230, -0.224667, 0.637703,
       1.476752, -1.387071, -1.013056, 0.213741, 1.921055, -1.776691, -0.251338, 0.741097,
       1.794985, -1.658161, -0.238865, 0.695342, 1.399105, 0.870035, -1.551939, -0.185398,
       1.448376, 0.599596, -1.530129, -0.184470, 0.152229, 0.627178, 0.264117, 0.156517,
       1.350904, 1.123617, -1.572102, -0.186794, 1.399105, 0.870035, -1.551939, -0.185398]> : tensor<40xf32>
  %lse = arith.constant dense<
      [2.161789, 2.498875, 2.028835, 2.410143, 1.918181, 2.985629, 2.313621, 2.599294,
       2.161789, 2.498875, 3.189225, 2.798265, 3.155406, 2.765394, 1.172060, 1.059560,
       3.237750, 2.837309, 3.189225, 2.798265]> : tensor<20xf32>
  call @check(%r#0, %r#1, %out, %lse) : (tensor<4x5x2xf32>, tensor<4x5xf32>, tensor<40xf32>, tensor<20xf32>) -> ()
  return
}

// With one batch dimension, batch and head are the same: j > batch.
func.func private @batch_index(%q: tensor<4x5x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x2xf32>,
                               %b: tensor<5x7xf32>, %m: tensor<5x7xi1>) {
  %o = tensor.empty() : tensor<4x5x2xf32>
  %l = tensor.empty() : tensor<4x5xf32>
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>)
      outs(%o, %l : tensor<4x5x2xf32>, tensor<4x5xf32>)
      {schedule = #attn.prefill<query_tile = 4, key_tile = 3, lanes = 4, block_rows = 2, block_vectors = 1>} mask_mod {
    %g = attn.index batch : index
    %j = attn.index key : index
    %keep = arith.cmpi sgt, %j, %g : index
    attn.yield %keep : i1
  }
      -> tensor<4x5x2xf32>, tensor<4x5xf32>
  %out = arith.constant dense<
      [1.794985, -1.658161, -0.238865, 0.695342, 1.646452, -1.527230, -0.224667, 0.637703,
       1.476752, -1.387071, -1.053384, 0.169029, 1.949395, -2.098198, -0.361840, 0.598571,
       1.817428, -2.012556, -0.356184, 0.539849, 1.601494, 0.043467, -1.601494, -0.237544,
       1.630223, -0.171149, -1.572105, -0.229006, -0.126341, 0.011785, 0.689933, -0.224527,
       1.660463, 0.274678, -1.248568, 0.013098, 1.678487, 0.055085, -1.247440, -0.004364]> : tensor<40xf32>
  %lse = arith.constant dense<
      [2.161789, 2.498875, 2.028835, 2.410143, 1.918181, 2.969709, 2.248482, 2.538110,
       2.088463, 2.433585, 2.779032, 2.779032, 2.814964, 2.748940, 0.887940, 0.652827,
       2.724505, 2.105884, 2.757879, 2.143275]> : tensor<20xf32>
  call @check(%r#0, %r#1, %out, %lse) : (tensor<4x5x2xf32>, tensor<4x5xf32>, tensor<40xf32>, tensor<20xf32>) -> ()
  return
}

// Every row is empty.
func.func private @nothing_kept(%q: tensor<4x5x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x2xf32>,
                                %b: tensor<5x7xf32>, %m: tensor<5x7xi1>) {
  %o = tensor.empty() : tensor<4x5x2xf32>
  %l = tensor.empty() : tensor<4x5xf32>
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>)
      outs(%o, %l : tensor<4x5x2xf32>, tensor<4x5xf32>)
      {schedule = #attn.prefill<query_tile = 4, key_tile = 3, lanes = 4, block_rows = 2, block_vectors = 1>} mask_mod {
    %keep = arith.constant false
    attn.yield %keep : i1
  }
      -> tensor<4x5x2xf32>, tensor<4x5xf32>
  %out = arith.constant dense<
      [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
       0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
       0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
       0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
       0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]> : tensor<40xf32>
  %lse = arith.constant dense<
      [0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000,
       0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000,
       0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000]> : tensor<20xf32>
  call @check(%r#0, %r#1, %out, %lse) : (tensor<4x5x2xf32>, tensor<4x5xf32>, tensor<40xf32>, tensor<20xf32>) -> ()
  return
}

// Sk = 0: every row is empty.
func.func private @no_keys(%q: tensor<4x5x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x2xf32>,
                           %b: tensor<5x7xf32>, %m: tensor<5x7xi1>) {
  %k0 = tensor.empty() : tensor<2x0x4xf32>
  %v0 = tensor.empty() : tensor<2x0x2xf32>
  %o = tensor.empty() : tensor<4x5x2xf32>
  %l = tensor.empty() : tensor<4x5xf32>
  %r:2 = attn.sdpa ins(%q, %k0, %v0 : tensor<4x5x4xf32>, tensor<2x0x4xf32>, tensor<2x0x2xf32>)
      outs(%o, %l : tensor<4x5x2xf32>, tensor<4x5xf32>)
      {schedule = #attn.prefill<query_tile = 4, key_tile = 3, lanes = 4, block_rows = 2, block_vectors = 1>}
      -> tensor<4x5x2xf32>, tensor<4x5xf32>
  %out = arith.constant dense<
      [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
       0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
       0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
       0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
       0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]> : tensor<40xf32>
  %lse = arith.constant dense<
      [0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000,
       0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000,
       0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000]> : tensor<20xf32>
  call @check(%r#0, %r#1, %out, %lse) : (tensor<4x5x2xf32>, tensor<4x5xf32>, tensor<40xf32>, tensor<20xf32>) -> ()
  return
}

// All at once.
func.func private @every_part(%q: tensor<4x5x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x2xf32>,
                              %b: tensor<5x7xf32>, %m: tensor<5x7xi1>) {
  %o = tensor.empty() : tensor<4x5x2xf32>
  %l = tensor.empty() : tensor<4x5xf32>
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>)
      bias(%b : tensor<5x7xf32>) mask(%m : tensor<5x7xi1>) outs(%o, %l : tensor<4x5x2xf32>, tensor<4x5xf32>)
      {causal = #attn.causal<bottom_right>, softcap = 2.0 : f64,
       schedule = #attn.prefill<query_tile = 4, key_tile = 3, lanes = 4, block_rows = 2, block_vectors = 1>}
      -> tensor<4x5x2xf32>, tensor<4x5xf32>
  %out = arith.constant dense<
      [-1.622146, -0.122146, -0.692547, -0.787425, 0.0, 0.0, -0.661006, -0.417330,
       2.304592, -1.593503, -1.608910, -0.108910, -0.886733, -0.678500, 0.0, 0.0,
       -0.076656, -0.866455, 1.798037, 0.859967, 0.977636, 2.477636, -1.275248, 0.224752,
       0.0, 0.0, -1.038074, 0.461926, -2.355757, -0.855757, 0.899885, 2.399885,
       0.492334, 1.992334, 0.0, 0.0, 1.112483, 2.612483, -1.715291, -0.215291]> : tensor<40xf32>
  %lse = arith.constant dense<
      [0.366835, 1.144002, 0xFF800000, 1.772939, 1.626638, 2.409284, 0.965304, 0xFF800000,
       1.720297, 0.609141, 2.209372, 1.916874, 0xFF800000, 2.364221, 1.759138, 0.074254,
       1.564788, 0xFF800000, 2.801377, 2.129562]> : tensor<20xf32>
  call @check(%r#0, %r#1, %out, %lse) : (tensor<4x5x2xf32>, tensor<4x5xf32>, tensor<40xf32>, tensor<20xf32>) -> ()
  return
}

// CHECK-NOT: {{^}}[0]
func.func @examples() {
  %q = arith.constant dense<[[[-1.50, -0.60, 0.30, 1.20],
                             [0.60, 1.50, -1.50, -0.60],
                             [-1.20, -0.30, 0.60, 1.50],
                             [0.90, 1.80, -1.20, -0.30],
                             [-0.90, 0.00, 0.90, 1.80]],
                             [[0.00, 0.90, 1.80, -1.20],
                             [-1.80, -0.90, 0.00, 0.90],
                             [0.30, 1.20, -1.80, -0.90],
                             [-1.50, -0.60, 0.30, 1.20],
                             [0.60, 1.50, -1.50, -0.60]],
                             [[1.50, -1.50, -0.60, 0.30],
                             [-0.30, 0.60, 1.50, -1.50],
                             [1.80, -1.20, -0.30, 0.60],
                             [0.00, 0.90, 1.80, -1.20],
                             [-1.80, -0.90, 0.00, 0.90]],
                             [[-0.90, 0.00, 0.90, 1.80],
                             [1.20, -1.80, -0.90, 0.00],
                             [-0.60, 0.30, 1.20, -1.80],
                             [1.50, -1.50, -0.60, 0.30],
                             [-0.30, 0.60, 1.50, -1.50]]]> : tensor<4x5x4xf32>
  %k = arith.constant dense<[[[-0.50, 0.25, 1.00, -1.50],
                             [1.25, -1.25, -0.50, 0.25],
                             [-0.25, 0.50, 1.25, -1.25],
                             [1.50, -1.00, -0.25, 0.50],
                             [0.00, 0.75, 1.50, -1.00],
                             [-1.50, -0.75, 0.00, 0.75],
                             [0.25, 1.00, -1.50, -0.75]],
                             [[0.75, 1.50, -1.00, -0.25],
                             [-0.75, 0.00, 0.75, 1.50],
                             [1.00, -1.50, -0.75, 0.00],
                             [-0.50, 0.25, 1.00, -1.50],
                             [1.25, -1.25, -0.50, 0.25],
                             [-0.25, 0.50, 1.25, -1.25],
                             [1.50, -1.00, -0.25, 0.50]]]> : tensor<2x7x4xf32>
  %v = arith.constant dense<[[[-2.0, -0.5],
                             [1.5, 3.0],
                             [-1.5, 0.0],
                             [2.0, -3.0],
                             [-1.0, 0.5],
                             [2.5, -2.5],
                             [-0.5, 1.0]],
                             [[0.5, 2.0],
                             [-2.5, -1.0],
                             [1.0, 2.5],
                             [-2.0, -0.5],
                             [1.5, 3.0],
                             [-1.5, 0.0],
                             [2.0, -3.0]]]> : tensor<2x7x2xf32>
  %b = arith.constant dense<[[-0.6, 0.0, 0.6, 1.2, -0.8, -0.2, 0.4],
                             [0.8, -1.2, -0.6, 0.0, 0.6, 1.2, -0.8],
                             [-0.4, 0.2, 0.8, -1.2, -0.6, 0.0, 0.6],
                             [1.0, -1.0, -0.4, 0.2, 0.8, -1.2, -0.6],
                             [-0.2, 0.4, 1.0, -1.0, -0.4, 0.2, 0.8]]> : tensor<5x7xf32>
  %m = arith.constant dense<[[true, false, true, true, true, true, true],
                             [true, true, true, true, true, true, true],
                             [false, false, false, false, false, false, false],
                             [true, true, true, true, true, true, true],
                             [false, true, false, true, false, true, false]]> : tensor<5x7xi1>
  // CHECK-COUNT-2: {{^}}[1]
  call @plain(%q, %k, %v, %b, %m)
      : (tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>, tensor<5x7xf32>, tensor<5x7xi1>) -> ()
  // CHECK-COUNT-2: {{^}}[1]
  call @top_left(%q, %k, %v, %b, %m)
      : (tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>, tensor<5x7xf32>, tensor<5x7xi1>) -> ()
  // CHECK-COUNT-2: {{^}}[1]
  call @bottom_right(%q, %k, %v, %b, %m)
      : (tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>, tensor<5x7xf32>, tensor<5x7xi1>) -> ()
  // CHECK-COUNT-2: {{^}}[1]
  call @softcap_and_bias(%q, %k, %v, %b, %m)
      : (tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>, tensor<5x7xf32>, tensor<5x7xi1>) -> ()
  // CHECK-COUNT-2: {{^}}[1]
  call @boolean_mask(%q, %k, %v, %b, %m)
      : (tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>, tensor<5x7xf32>, tensor<5x7xi1>) -> ()
  // CHECK-COUNT-2: {{^}}[1]
  call @negative_scale(%q, %k, %v, %b, %m)
      : (tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>, tensor<5x7xf32>, tensor<5x7xi1>) -> ()
  // CHECK-COUNT-2: {{^}}[1]
  call @scale_of_run_time(%q, %k, %v, %b, %m)
      : (tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>, tensor<5x7xf32>, tensor<5x7xi1>) -> ()
  // CHECK-COUNT-2: {{^}}[1]
  call @window(%q, %k, %v, %b, %m)
      : (tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>, tensor<5x7xf32>, tensor<5x7xi1>) -> ()
  // CHECK-COUNT-2: {{^}}[1]
  call @kv_head_index(%q, %k, %v, %b, %m)
      : (tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>, tensor<5x7xf32>, tensor<5x7xi1>) -> ()
  // CHECK-COUNT-2: {{^}}[1]
  call @batch_index(%q, %k, %v, %b, %m)
      : (tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>, tensor<5x7xf32>, tensor<5x7xi1>) -> ()
  // CHECK-COUNT-2: {{^}}[1]
  call @nothing_kept(%q, %k, %v, %b, %m)
      : (tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>, tensor<5x7xf32>, tensor<5x7xi1>) -> ()
  // CHECK-COUNT-2: {{^}}[1]
  call @no_keys(%q, %k, %v, %b, %m)
      : (tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>, tensor<5x7xf32>, tensor<5x7xi1>) -> ()
  // CHECK-COUNT-2: {{^}}[1]
  call @every_part(%q, %k, %v, %b, %m)
      : (tensor<4x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x2xf32>, tensor<5x7xf32>, tensor<5x7xi1>) -> ()
  return
}
