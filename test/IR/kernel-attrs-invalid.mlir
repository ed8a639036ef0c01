// RUN: attn-opt %s --split-input-file --verify-diagnostics

// What the compiler notes on a kernel's function is trusted by later phases and by the C header: a file that claims it
// in another form is refused, not believed.

// No array.
// expected-error @+1 {{expected attn.arguments to be an array of {name = "…", output = …, type = …} with C identifiers and static types, found 3 : i64}}
func.func private @arguments() attributes {attn.arguments = 3}

// -----

// An entry without a type.
// expected-error @+1 {{expected attn.arguments to be an array}}
func.func private @entry() attributes {attn.arguments = [{name = "q", output = false}]}

// -----

// A name that would end a comment of the header.
// expected-error @+1 {{expected attn.arguments to be an array}}
func.func private @name() attributes {attn.arguments = [{name = "*/", output = false, type = f32}]}

// -----

// A size that nobody knows.
// expected-error @+1 {{expected attn.arguments to be an array}}
func.func private @size() attributes {attn.arguments = [{name = "q", output = false, type = tensor<?xf32>}]}

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
// expected-error @+1 {{expected attn.conventions to hold scale and softcap as floats}}
func.func private @conventions() attributes {attn.conventions = {scale = "half"}}

// -----

// A name of an argument that is no text.
// expected-error @+1 {{expected attn.name to be a string, found 3 : i64}}
func.func private @argument(f32 {attn.name = 3})

// -----

// The same for a result.
// expected-error @+1 {{expected attn.name to be a string, found unit}}
func.func private @result() -> (f32 {attn.name})
