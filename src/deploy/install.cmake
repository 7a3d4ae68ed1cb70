# The C++ library in a prefix, for find_package(triton_runner):
#   cmake -S . -B build/cpp -DTRITON_RUNNER_PYTHON=OFF && cmake --build build/cpp
#   cmake --install build/cpp --component cpp --prefix <prefix>
# A wheel holds the Python package and nothing of this.
include(CMakePackageConfigHelpers)
set(in_wheel)
if(SKBUILD)
  set(in_wheel EXCLUDE_FROM_ALL)
endif()
set(libraries ${PROJECT_BINARY_DIR}/package)
file(CONFIGURE OUTPUT ${libraries}/triton_runnerConfig.cmake @ONLY CONTENT [[
# Kernels of Triton run from C++: target_link_libraries(<program> PRIVATE triton_runner::triton_runner)
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/triton_runnerTargets.cmake")
]])
write_basic_package_version_file(${libraries}/triton_runnerConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(TARGETS base num exec ir layout machine tile lanes ptx sass amdgcn simt artifact probe device launch deploy triton_runner
  EXPORT triton_runnerTargets
  ARCHIVE DESTINATION lib/triton_runner COMPONENT cpp ${in_wheel})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/triton_runner DESTINATION include COMPONENT cpp ${in_wheel})
install(EXPORT triton_runnerTargets NAMESPACE triton_runner:: DESTINATION lib/cmake/triton_runner COMPONENT cpp ${in_wheel})
install(FILES ${libraries}/triton_runnerConfig.cmake ${libraries}/triton_runnerConfigVersion.cmake
  DESTINATION lib/cmake/triton_runner COMPONENT cpp ${in_wheel})
