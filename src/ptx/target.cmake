# The ALU's functions: simd/*.cpp compiled once an instruction set, each time in a namespace of its name, like
# num's (the instruction sets and their flags are num's too).
file(GLOB ptx_simd_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/ptx/simd/*.cpp)
foreach(isa ${simd_isas})
  add_library(ptx_${isa} OBJECT ${ptx_simd_sources})
  target_include_directories(ptx_${isa} PRIVATE
    ${includes} ${num_includes} ${base_includes} ${PROJECT_SOURCE_DIR}/src/ptx)
  target_compile_definitions(ptx_${isa} PRIVATE SIMD_ISA=${isa} SIMD_ISA_${isa})
  # Registers are read in other types than they were written in.
  target_compile_options(ptx_${isa} PRIVATE ${simd_flags_${isa}} -fno-math-errno -fno-trapping-math
    -fno-strict-aliasing -Wno-psabi -Wno-maybe-uninitialized -Wno-uninitialized)
  if(TRITON_RUNNER_SANITIZE STREQUAL "thread")
    target_compile_options(ptx_${isa} PRIVATE -fno-sanitize=thread)
  endif()
  target_sources(ptx PRIVATE $<TARGET_OBJECTS:ptx_${isa}>)
endforeach()
if(TRITON_RUNNER_TESTS)
  add_executable(ptx_bench EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/benchmark/approx.cpp)
  target_link_libraries(ptx_bench PRIVATE ptx)
endif()
