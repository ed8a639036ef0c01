# Run with -P: compiles the C file SOURCE to LLVM bitcode without any attribute that names a processor, so that it takes
# on the target of the kernel it is linked into, and writes its bytes to BYTES as the initialisers of a char array. The
# code is for the ABI of TRIPLE, whose C library need not be installed: its few declarations are among
# INCLUDES (runtime/include).

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "expected exit code 0, found ${result}, of: ${ARGN}")
  endif()
endfunction()

list(TRANSFORM INCLUDES PREPEND -I)
# Code of Windows has no other form; that of WebAssembly would need a dynamic linker.
set(position -fPIC)
if(TRIPLE MATCHES "windows|wasm")
  set(position)
endif()
run(${CLANG} --target=${TRIPLE} -nostdlibinc -std=c11 -O2 ${position} -Qn -U_FORTIFY_SOURCE -fno-stack-protector -fno-asynchronous-unwind-tables
  -fvisibility=hidden ${INCLUDES} -S -emit-llvm ${SOURCE} -o ${BITCODE}.ll)
file(READ ${BITCODE}.ll text)
string(REGEX REPLACE "\"(target-cpu|target-features|tune-cpu)\"=\"[^\"]*\" ?" "" text "${text}")
# Nor any path of the machine that built it.
get_filename_component(name ${SOURCE} NAME)
string(REGEX REPLACE "source_filename = \"[^\"]*\"" "source_filename = \"${name}\"" text "${text}")
file(WRITE ${BITCODE}.ll "${text}")
run(${CLANG} --target=${TRIPLE} -x ir -Xclang -disable-llvm-passes -c -emit-llvm ${BITCODE}.ll -o ${BITCODE})

file(READ ${BITCODE} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${BYTES} "${bytes}\n")
