// RUN: attn-opt %s --split-input-file --verify-diagnostics

// What the compiler notes on a kernel's function is trusted by later phases and by the C header: a file that claims it
// in another form is refused, not believed.

// No array.
// expected-error @+1 {{expected attn.arguments to be an array of {name = "…", output = …, type = …} with C identifiers, updated and result for outputs alone, strided for tensors that are inputs or updated, sizes = array<i32: …> of places in attn.sizes where a type is dynamic, and checks of integers; found 3 : i64}}
func.func private @arguments() attributes {attn.arguments = 3}

// -----

// An entry without a type.
// expected-error @+1 {{expected attn.arguments to be an array}}
func.func private @entry() attributes {attn.arguments = [{name = "q", output = false}]}

// -----

// An input is not written.
// expected-error @+1 {{expected attn.arguments to be an array}}
func.func private @updated() attributes {attn.arguments = [{name = "q", output = false, type = f32, updated}]}

// -----

// A result that there is not, and one twice.
// expected-error @+1 {{expected attn.arguments to be an array}}
func.func private @result_beyond() attributes {attn.arguments = [{name = "o", output = true, result = 1, type = f32}]}

// -----

// expected-error @+1 {{expected attn.arguments to be an array}}
func.func private @result_twice() attributes {attn.arguments = [
    {name = "o", output = true, result = 0, type = f32}, {name = "p", output = true, result = 0, type = f32}]}

// -----

// A number where lowering reads a tile.
// expected-error @+1 {{expected attn.schedule to be a schedule, #attn.block<…>, found 1 : i64}}
func.func private @schedule() attributes {attn.schedule = 1}

// -----

// Only a loop visits tiles one after the other.
// expected-error @+1 {{expected attn.consecutive to be a unit on an scf.for, found unit}}
func.func private @consecutive() attributes {attn.consecutive}

// -----

// A name that would end a comment of the header.
// expected-error @+1 {{expected attn.arguments to be an array}}
func.func private @name() attributes {attn.arguments = [{name = "*/", output = false, type = f32}]}

// -----

// A size that nobody knows.
// expected-error @+1 {{expected attn.arguments to be an array}}
func.func private @size() attributes {attn.arguments = [{name = "q", output = false, type = tensor<?xf32>}]}

// -----

// A place beyond the names.
// expected-error @+1 {{expected attn.arguments to be an array}}
func.func private @place() attributes {attn.sizes = ["n"], attn.arguments = [
    {name = "q", output = false, sizes = array<i32: 1>, type = tensor<?xf32>}]}

// -----

// A place for a size that is static.
// expected-error @+1 {{expected attn.arguments to be an array}}
func.func private @static_place() attributes {attn.sizes = ["n"], attn.arguments = [
    {name = "q", output = false, sizes = array<i32: 0>, type = tensor<4xf32>}]}

// -----

// A name of a size that is no C identifier.
// expected-error @+1 {{expected attn.sizes to be an array of C identifiers beside attn.arguments, found ["a b"]}}
func.func @size_name() attributes {attn.arguments = [], attn.sizes = ["a b"]} {
  return
}

// -----

// Nothing that a caller could call.
// expected-error @+1 {{expected attn.arguments on a function with a body}}
func.func private @declared() attributes {attn.arguments = []}

// -----

// Lengths that are no integers: the checked entry would read other memory.
// expected-error @+1 {{expected attn.arguments to be an array}}
func.func private @check() attributes {attn.arguments = [
    {name = "q", output = false, type = tensor<4xf32>, checks = [{kind = "lengths", limit = array<i64: -1, 5, -1, 1>,
     lengths = -1, page = array<i64: -1, 1>, rows = array<i64: -1, 1>}]}]}

// -----

// A limit that is a dimension of no argument.
// expected-error @+1 {{expected attn.arguments to be an array}}
func.func private @limit() attributes {attn.arguments = [
    {name = "n", output = false, type = tensor<4xi32>, checks = [{kind = "lengths", limit = array<i64: 0, 1, -1, 1>,
     lengths = -1, page = array<i64: -1, 1>, rows = array<i64: -1, 1>}]}]}

// -----

// No path of ours.
// expected-error @+1 {{expected attn.path to be "flash", "mixed" or "reference", found "fast"}}
func.func private @path() attributes {attn.path = "fast", attn.conventions = {}}

// -----

// A path comes with conventions, be there none.
// expected-error @+1 {{expected attn.conventions beside attn.path, found none}}
func.func private @alone() attributes {attn.path = "flash"}

// -----

// A scale that is no number.
// expected-error @+1 {{expected attn.conventions to hold attributes of attn.sdpa under their names}}
func.func private @conventions() attributes {attn.conventions = {scale = "half"}}

// -----

// A name of an argument that is no text.
// expected-error @+1 {{expected attn.name to be a string, found 3 : i64}}
func.func private @argument(f32 {attn.name = 3})

// -----

// The same for a result.
// expected-error @+1 {{expected attn.name to be a string, found unit}}
func.func private @result() -> (f32 {attn.name})

// -----

// An entry for a GPU of a function without arguments.
// expected-error @+1 {{expected attn.arguments beside attn.cuda_entry, found none}}
func.func private @cuda_entry() attributes {attn.cuda_entry}

// -----

// expected-error @+1 {{expected attn.cuda_entry to be a unit, found 3 : i64}}
func.func private @cuda_entry_of_3() attributes {attn.cuda_entry = 3}
