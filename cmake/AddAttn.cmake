# The only CMake functions of the project: dependencies, one function a kind of target, the installed package.

set(ATTN_MLIR_VERSION 22.1)

# Finds LLVM/MLIR 22.1, lld, OpenMP and DLPack's header, and creates the interface target that carries our flags.
macro(attn_find_dependencies)
  find_package(MLIR QUIET CONFIG)
  if(NOT MLIR_FOUND)
    message(FATAL_ERROR "attn needs MLIR ${ATTN_MLIR_VERSION}, found none: install libmlir-22-dev mlir-22-tools "
      "llvm-22-dev (scripts/setup.sh does), or set CMAKE_PREFIX_PATH to the LLVM installation")
  endif()
  # Debian's MLIRConfigVersion.cmake reports the version of the LLVM that it belongs to.
  find_package(LLVM QUIET REQUIRED CONFIG HINTS ${LLVM_DIR})
  if(NOT "${LLVM_VERSION_MAJOR}.${LLVM_VERSION_MINOR}" STREQUAL "${ATTN_MLIR_VERSION}")
    message(FATAL_ERROR "attn needs MLIR ${ATTN_MLIR_VERSION}, found ${LLVM_PACKAGE_VERSION} at ${MLIR_DIR}: "
      "install libmlir-22-dev, or point CMAKE_PREFIX_PATH at LLVM ${ATTN_MLIR_VERSION}")
  endif()
  find_package(LLD QUIET REQUIRED CONFIG HINTS ${LLVM_DIR}/../lld)
  find_path(DLPACK_INCLUDE_DIR dlpack/dlpack.h)
  if(NOT DLPACK_INCLUDE_DIR)
    message(FATAL_ERROR "attn needs dlpack/dlpack.h, found none: install libdlpack-dev")
  endif()
  list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
  include(TableGen)
  include(AddLLVM)
  include(AddMLIR)
  set(MLIR_LINK_MLIR_DYLIB ON)

  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  # Installed, a tool finds our own libraries beside it, and libMLIR, which no linker cache knows, where it was found.
  set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
  # A header precompiled for libraries (-fPIC) is refused by programs compiled with -fPIE.
  set(CMAKE_CXX_COMPILE_OPTIONS_PIE -fPIC)

  add_library(attn_flags INTERFACE)
  target_compile_features(attn_flags INTERFACE cxx_std_20)
  target_include_directories(attn_flags INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:include>)
  target_include_directories(attn_flags SYSTEM INTERFACE
    $<BUILD_INTERFACE:${MLIR_INCLUDE_DIRS}> $<BUILD_INTERFACE:${LLVM_INCLUDE_DIRS}>
    $<BUILD_INTERFACE:${DLPACK_INCLUDE_DIR}>)
  target_compile_options(attn_flags INTERFACE
    $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wno-unused-parameter;-fno-exceptions>>)
  # g++ 12 sees overlaps in every `"text" + std::string` (gcc bug 105651).
  target_compile_options(attn_flags INTERFACE
    $<BUILD_INTERFACE:$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>>)
  if(NOT LLVM_ENABLE_RTTI)
    target_compile_options(attn_flags INTERFACE $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>>)
  endif()
  set(ATTN_SANITIZE "" CACHE STRING "Sanitizers for every target, as -fsanitize takes them")
  if(ATTN_SANITIZE)
    target_compile_options(attn_flags INTERFACE -fsanitize=${ATTN_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(attn_flags INTERFACE -fsanitize=${ATTN_SANITIZE})
  endif()
  install(TARGETS attn_flags EXPORT AttnRuntimeTargets)
endmacro()

# attn_install(NAME …): install(TARGETS NAME …), and NAME is a part of attn_product, so that what is installed is what
# scripts/setup.sh builds.
function(attn_install name)
  install(TARGETS ${name} ${ARGN})
  add_dependencies(attn_product ${name})
  set_property(TARGET attn_product APPEND PROPERTY ATTN_INSTALLED $<TARGET_FILE:${name}>)
endfunction()

# attn_precompile(TARGET LLVM|IR): TARGET takes headers precompiled (lib/CMakeLists.txt), which makes compiling it 4 times
# faster. Its compile options must be those of attn_flags.
function(attn_precompile target kind)
  target_precompile_headers(${target} REUSE_FROM attn_precompiled_${kind})
endfunction()

# attn_add_library(NAME [LLVM_ONLY] SOURCES… LINK targets… DEPENDS targets…): one layer of lib/; LLVM_ONLY: below the IR.
function(attn_add_library name)
  cmake_parse_arguments(ARG "LLVM_ONLY" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC attn_flags ${ARG_LINK})
  # The shared libMLIR only: the static archives beside it would bring second copies of every type id.
  target_link_libraries(${name} PUBLIC MLIR LLVM)
  add_dependencies(${name} attn_headers ${ARG_DEPENDS})
  if(ARG_LLVM_ONLY)
    attn_precompile(${name} LLVM)
  else()
    attn_precompile(${name} IR)
  endif()
  attn_install(${name} EXPORT AttnTargets ARCHIVE DESTINATION lib)
  set_property(GLOBAL APPEND PROPERTY ATTN_LIBRARIES ${name})
endfunction()

# attn_get_static_archives(VARIABLE): the files of our layers and of all static libraries of LLVM, MLIR and lld, from which
# a linker takes what is needed. As files, because the layers' own dependency is the shared libMLIR.
function(attn_get_static_archives variable)
  get_property(layers GLOBAL PROPERTY ATTN_LIBRARIES)
  get_property(mlir GLOBAL PROPERTY MLIR_ALL_LIBS)
  set(upstream ${mlir} ${LLVM_AVAILABLE_LIBS})
  list(FILTER upstream INCLUDE REGEX "^(MLIR|LLVM)")
  list(FILTER upstream EXCLUDE REGEX "^MLIRCAPI|^LLVMBOLT|Test")
  set(archives)
  foreach(library ${layers} AttnCheckBitcode attn_runtime lldELF lldWasm lldCommon ${upstream})
    if(TARGET ${library})
      get_target_property(type ${library} TYPE)
      if(type STREQUAL STATIC_LIBRARY)
        list(APPEND archives $<TARGET_FILE:${library}>)
      endif()
    endif()
  endforeach()
  set(${variable} ${archives} PARENT_SCOPE)
endfunction()

# attn_add_tool(NAME SOURCES… LINK targets…): a program in build/<preset>/bin.
function(attn_add_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  attn_precompile(${name} IR)
  attn_install(${name} EXPORT AttnRuntimeTargets RUNTIME DESTINATION bin)
endfunction()

# Before anything is installed: cmake --install copies what it finds, and would leave half a package where a part is not
# built.
function(attn_expect_product)
  install(CODE "
    set(files \"$<TARGET_GENEX_EVAL:attn_product,$<TARGET_PROPERTY:attn_product,ATTN_INSTALLED>>\")
    foreach(file IN LISTS files)
      if(NOT EXISTS \${file})
        message(FATAL_ERROR \"expected \${file}, found none; nothing is installed; build it first: \"
          \"cmake --build ${PROJECT_BINARY_DIR} --target attn_product\")
      endif()
    endforeach()")
endfunction()

# Installs headers, .td files and the CMake package `Attn`.
function(attn_install_package)
  include(CMakePackageConfigHelpers)
  set(package_dir lib/cmake/Attn)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ ${PROJECT_BINARY_DIR}/include/ DESTINATION include
    FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.td" PATTERN "*.inc" PATTERN "CMakeFiles" EXCLUDE)
  # In two parts: who only calls a kernel needs the tools and the runtime, and no MLIR.
  install(EXPORT AttnRuntimeTargets NAMESPACE Attn:: DESTINATION ${package_dir})
  install(EXPORT AttnTargets NAMESPACE Attn:: DESTINATION ${package_dir})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/attn)
  # Where find_package does not look: it would take the build tree, whose bin may be in PATH, for an installation.
  set(generated_dir ${PROJECT_BINARY_DIR}/cmake/package)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/AttnConfig.cmake.in
    ${generated_dir}/AttnConfig.cmake INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(${generated_dir}/AttnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${generated_dir}/AttnConfig.cmake ${generated_dir}/AttnConfigVersion.cmake DESTINATION ${package_dir})
endfunction()
