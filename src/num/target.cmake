# The SIMD kernels: simd/*.cpp compiled once an instruction set, each time in a namespace of its name.
file(GLOB simd_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/num/simd/*.cpp)
set(simd_isas portable)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND simd_isas avx2 avx512)
endif()
set(simd_flags_portable "")
set(simd_flags_avx2 -mavx2 -mfma -mf16c)
set(simd_flags_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c -mprefer-vector-width=512)
# ptx builds its functions for the same ones.
set(simd_isas ${simd_isas} PARENT_SCOPE)
foreach(isa ${simd_isas})
  set(simd_flags_${isa} ${simd_flags_${isa}} PARENT_SCOPE)
  add_library(num_${isa} OBJECT ${simd_sources})
  target_include_directories(num_${isa} PRIVATE ${PROJECT_BINARY_DIR}/include/num ${PROJECT_SOURCE_DIR}/src/num)
  target_compile_definitions(num_${isa} PRIVATE NUM_ISA=${isa} NUM_ISA_${isa})
  # No errno and no traps are looked at, so that loops with selects vectorise; results do not change. g++ 12 sees values in its
  # own intrinsics that nobody set.
  target_compile_options(num_${isa} PRIVATE ${simd_flags_${isa}} -fno-math-errno -fno-trapping-math -Wno-psabi -Wno-maybe-uninitialized -Wno-uninitialized)
  if(TRITON_RUNNER_SANITIZE STREQUAL "thread")  # no threads in here, and much to compile
    target_compile_options(num_${isa} PRIVATE -fno-sanitize=thread)
  endif()
  target_sources(num PRIVATE $<TARGET_OBJECTS:num_${isa}>)
endforeach()
if(TRITON_RUNNER_TESTS)
  add_executable(num_bench EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/benchmark/num.cpp)
  target_link_libraries(num_bench PRIVATE num)
endif()
