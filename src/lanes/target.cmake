# The functions over lanes: simd/*.cpp compiled once an instruction set, each time in a namespace of its name, like
# num's (the instruction sets and their flags are num's too).
file(GLOB lanes_simd_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/lanes/simd/*.cpp)
foreach(isa ${simd_isas})
  add_library(lanes_${isa} OBJECT ${lanes_simd_sources})
  target_include_directories(lanes_${isa} PRIVATE
    ${includes} ${num_includes} ${base_includes} ${PROJECT_SOURCE_DIR}/src/lanes)
  target_compile_definitions(lanes_${isa} PRIVATE SIMD_ISA=${isa} SIMD_ISA_${isa})
  # Registers are read in other types than they were written in.
  target_compile_options(lanes_${isa} PRIVATE ${simd_flags_${isa}} -fno-math-errno -fno-trapping-math
    -fno-strict-aliasing -Wno-psabi -Wno-maybe-uninitialized -Wno-uninitialized)
  if(TRITON_RUNNER_SANITIZE STREQUAL "thread")
    target_compile_options(lanes_${isa} PRIVATE -fno-sanitize=thread)
  endif()
  target_sources(lanes PRIVATE $<TARGET_OBJECTS:lanes_${isa}>)
endforeach()
