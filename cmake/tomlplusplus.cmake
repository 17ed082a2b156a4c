# toml++ as the target tomlplusplus::tomlplusplus: Debian's package, or the headers that tools/bootstrap fetched
# where there is no package (Ubuntu 22.04).
find_package(tomlplusplus QUIET)
if(NOT TARGET tomlplusplus::tomlplusplus)
  find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h PATHS ${PROJECT_SOURCE_DIR}/.cache/tomlplusplus/include)
  if(NOT TOMLPLUSPLUS_INCLUDE_DIR)
    message(FATAL_ERROR "toml++ was not found; run tools/bootstrap, or install libtomlplusplus-dev")
  endif()
  add_library(tomlplusplus_headers INTERFACE)
  target_include_directories(tomlplusplus_headers SYSTEM INTERFACE ${TOMLPLUSPLUS_INCLUDE_DIR})
  target_compile_definitions(tomlplusplus_headers INTERFACE TOML_HEADER_ONLY=1)
  add_library(tomlplusplus::tomlplusplus ALIAS tomlplusplus_headers)
endif()
