# Profile-guided optimization of rubato-chip in two build folders (tools/build release-pgo does all three steps):
#
#   RUBATO_PROFILE=generate   an instrumented simulator, which counts how often each branch is taken
#   RUBATO_PROFILE=use        a simulator optimized by the counts in RUBATO_PROFILE_DATA
#
# Both folders have the same sources and otherwise the same options: GCC finds the counts of an object by its path below
# the build folder. The name of the folder of counts changes with its content. So new counts are new options, and Ninja
# compiles again.
set(RUBATO_PROFILE "" CACHE STRING "Profile-guided optimization of rubato-chip: generate or use")
set_property(CACHE RUBATO_PROFILE PROPERTY STRINGS "" generate use)
set(RUBATO_PROFILE_DATA "" CACHE PATH "Folder of the counts for RUBATO_PROFILE")
if(RUBATO_PROFILE AND NOT RUBATO_PROFILE MATCHES "^(generate|use)$")
  message(FATAL_ERROR "RUBATO_PROFILE is '${RUBATO_PROFILE}', but generate, use or nothing was expected")
endif()
if(RUBATO_PROFILE AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  message(FATAL_ERROR "RUBATO_PROFILE needs GCC, but the compiler is ${CMAKE_CXX_COMPILER_ID}")
endif()
if(RUBATO_PROFILE STREQUAL "use" AND NOT IS_DIRECTORY "${RUBATO_PROFILE_DATA}")
  message(FATAL_ERROR "RUBATO_PROFILE=use needs the folder of counts, but RUBATO_PROFILE_DATA is "
                      "'${RUBATO_PROFILE_DATA}'; run tools/build release-pgo, which makes it")
endif()

# rubato_profiled(PROGRAM source...): these sources are compiled, and PROGRAM is linked, as RUBATO_PROFILE says. Other
# sources of PROGRAM stay as they are, so a compiler cache has their objects.
function(rubato_profiled program)
  if(NOT RUBATO_PROFILE)
    return()
  endif()
  set(flags -fprofile-prefix-path=${CMAKE_BINARY_DIR})
  if(RUBATO_PROFILE STREQUAL "generate")
    list(APPEND flags -fprofile-generate=${CMAKE_BINARY_DIR}/counts/new -fprofile-update=prefer-atomic)
  else()
    # Functions without counts are optimized as in the ordinary build, not for size.
    list(APPEND flags -fprofile-use=${RUBATO_PROFILE_DATA} -fprofile-partial-training -Wno-missing-profile)
  endif()
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS ${flags})
  target_link_options(${program} PRIVATE ${flags})
endfunction()
