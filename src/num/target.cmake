# The SIMD kernels: simd/*.cpp compiled once an instruction set, each time in a namespace of its name.
file(GLOB simd_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/num/simd/*.cpp)
set(simd_isas portable)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT TRITON_RUNNER_SANITIZE MATCHES "thread|quick")
  set(simd_isas_of_x86 avx2 avx512)
  list(APPEND simd_isas ${simd_isas_of_x86})
endif()
# On x86 the portable copies serve machines of before 2013, and the tests: not worth the time to optimise them much.
set(simd_fast -O3)
set(simd_portable $<IF:$<BOOL:${simd_isas_of_x86}>,-O1,${simd_fast}>)
if(TRITON_RUNNER_SANITIZE STREQUAL "quick")
  set(simd_fast -O0)
  set(simd_portable -O0)
elseif(TRITON_RUNNER_SANITIZE)
  set(simd_fast -O1)
endif()
set(simd_flags_portable ${simd_portable})
set(simd_flags_avx2 ${simd_fast} -mavx2 -mfma -mf16c)
set(simd_flags_avx512 ${simd_fast} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c -mprefer-vector-width=512)
if(TRITON_RUNNER_SANITIZE MATCHES "undefined|quick")  # the portable copies have it, of the same sources
  list(APPEND simd_flags_avx2 -fno-sanitize=undefined)
  list(APPEND simd_flags_avx512 -fno-sanitize=undefined)
endif()
# A product's loop over k is some 120 bytes, up to a tenth slower where it lies across lines of code.
set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/num/simd/dot.cpp APPEND PROPERTY COMPILE_OPTIONS -falign-loops=64)
# ptx builds its functions for the same ones.
set(simd_isas ${simd_isas} PARENT_SCOPE)
foreach(isa ${simd_isas})
  set(simd_flags_${isa} ${simd_flags_${isa}} PARENT_SCOPE)
  add_library(num_${isa} OBJECT ${simd_sources})
  target_include_directories(num_${isa} PRIVATE ${includes} ${PROJECT_SOURCE_DIR}/src/num)
  target_compile_definitions(num_${isa} PRIVATE SIMD_ISA=${isa} SIMD_ISA_${isa})
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
