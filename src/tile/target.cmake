# The checks of a launch: a layer over the engine, in a folder of its own.
file(GLOB check_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/tile/check/*.cpp)
target_sources(tile PRIVATE ${check_sources})
