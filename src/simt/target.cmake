# What AMD's instructions do over lanes: front/amdgcn/simd/*.cpp compiled once an instruction set, each time in a namespace of
# its name, like those of src/lanes.
file(GLOB simt_simd_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/simt/front/amdgcn/simd/*.cpp)
foreach(isa ${simd_isas})
  add_library(simt_${isa} OBJECT ${simt_simd_sources})
  target_include_directories(simt_${isa} PRIVATE $<TARGET_PROPERTY:simt,INCLUDE_DIRECTORIES>
    $<TARGET_PROPERTY:amdgcn,INTERFACE_INCLUDE_DIRECTORIES> $<TARGET_PROPERTY:lanes,INTERFACE_INCLUDE_DIRECTORIES>
    $<TARGET_PROPERTY:num,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_definitions(simt_${isa} PRIVATE SIMD_ISA=${isa} SIMD_ISA_${isa})
  target_compile_options(simt_${isa} PRIVATE ${simd_flags_${isa}} -fno-math-errno -fno-trapping-math
    -fno-strict-aliasing -Wno-psabi -Wno-maybe-uninitialized -Wno-uninitialized)
  if(TRITON_RUNNER_SANITIZE STREQUAL "thread")
    target_compile_options(simt_${isa} PRIVATE -fno-sanitize=thread)
  endif()
  target_sources(simt PRIVATE $<TARGET_OBJECTS:simt_${isa}>)
endforeach()
