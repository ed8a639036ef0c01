# The toolchain of the presets: clang-22 and lld-22. As a toolchain file, so that a preset can be configured again.
find_program(ATTN_CLANG clang-22 REQUIRED)
find_program(ATTN_CLANGXX clang++-22 REQUIRED)
set(CMAKE_C_COMPILER ${ATTN_CLANG})
set(CMAKE_CXX_COMPILER ${ATTN_CLANGXX})
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-fuse-ld=lld-22")
endforeach()
