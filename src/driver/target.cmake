# libcuda.so.1 in front of the SIMT engine (doc/guide/cuda.md): its symbols are the rows of functions.def, and nothing else is seen.
add_library(cuda SHARED $<TARGET_OBJECTS:driver>)
set_target_properties(cuda PROPERTIES LINKER_LANGUAGE CXX PREFIX lib OUTPUT_NAME cuda SUFFIX .so.1 NO_SONAME ON)
target_link_libraries(cuda PRIVATE device artifact simt)
target_link_options(cuda PRIVATE -Wl,-soname,libcuda.so.1 -Wl,--gc-sections
  -Wl,-z,nodelete  # its threads and its handler of SIGINT stay
  -Wl,--version-script=${PROJECT_SOURCE_DIR}/src/driver/symbols.map)
if(TRITON_RUNNER_PYTHON)
  install(TARGETS cuda LIBRARY DESTINATION triton_runner/_cuda)
endif()
