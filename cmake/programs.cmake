# Programs written once against include/rubato. Header-only libraries (CLI11, Boost) serve all: the guest sees only
# their folders, not the host's headers.
#
#   rubato_program(NAME source...)       bin/NAME-serial (serial engine) and bin/NAME-native (native engine) for the host,
#                                        and guest/NAME for the chip
#   rubato_host_program(NAME source... [WITH collection...])   the same without the chip
#   rubato_collection(NAME source... [ENGINE_FREE file...] [TOGETHER file...])    sources that several host programs have, compiled once an
#                                        engine: the object libraries NAME_serial and NAME_native. Those among them named
#                                        as ENGINE_FREE include nothing of include/rubato and are compiled once for both
#                                        engines: the library NAME_engine_free, which both bring. Those named as TOGETHER
#                                        are compiled as one source for each engine
find_package(CLI11 REQUIRED)
find_package(Boost REQUIRED)
find_package(TBB QUIET)  # optional: the peers that some applications are compared with
find_path(RUBATO_CLI11_INCLUDE CLI/CLI.hpp REQUIRED)
set(RUBATO_GUEST_INCLUDE ${CMAKE_BINARY_DIR}/guest/include)
file(MAKE_DIRECTORY ${RUBATO_GUEST_INCLUDE})
file(CREATE_LINK ${RUBATO_CLI11_INCLUDE}/CLI ${RUBATO_GUEST_INCLUDE}/CLI SYMBOLIC)
list(GET Boost_INCLUDE_DIRS 0 RUBATO_BOOST_INCLUDE)
file(CREATE_LINK ${RUBATO_BOOST_INCLUDE}/boost ${RUBATO_GUEST_INCLUDE}/boost SYMBOLIC)
set(RUBATO_GUEST_OPTIONS -Wall -Wextra -Wno-array-bounds -isystem ${RUBATO_GUEST_INCLUDE})
set(RUBATO_ENGINES serial)
if(TARGET rubato_native)
  list(APPEND RUBATO_ENGINES native)
endif()

# A peer written with oneTBB is a source file *_tbb.cpp: left out where the library is missing. RUBATO_HAS_TBB tells
# the program.
function(rubato_link_program target engine sources)
  target_link_libraries(${target} PUBLIC rubato_${engine} PRIVATE rubato_options rubato_command_line Boost::headers)
  if(TBB_FOUND AND sources MATCHES "_tbb\\.cpp")
    target_link_libraries(${target} PUBLIC TBB::tbb)
    target_compile_definitions(${target} PUBLIC RUBATO_HAS_TBB=1)
  endif()
endfunction()

function(rubato_collection name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ENGINE_FREE;TOGETHER")
  set(sources ${arg_UNPARSED_ARGUMENTS})
  set(engine_free)
  if(arg_ENGINE_FREE)
    list(TRANSFORM arg_ENGINE_FREE PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    list(REMOVE_ITEM sources ${arg_ENGINE_FREE})
    set(engine_free ${name}_engine_free)
    rubato_together(arg_ENGINE_FREE ${engine_free} ${arg_ENGINE_FREE})
    add_library(${engine_free} STATIC ${arg_ENGINE_FREE})
    target_link_libraries(${engine_free} PRIVATE rubato_options Boost::headers)
  endif()
  if(arg_TOGETHER)
    list(TRANSFORM arg_TOGETHER PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    list(REMOVE_ITEM sources ${arg_TOGETHER})
    rubato_together(together ${name} ${arg_TOGETHER})
    list(APPEND sources ${together})
  endif()
  foreach(engine ${RUBATO_ENGINES})
    add_library(${name}_${engine} OBJECT ${sources})
    rubato_link_program(${name}_${engine} ${engine} "${sources}")
    target_link_libraries(${name}_${engine} PUBLIC ${engine_free})
  endforeach()
endfunction()

function(rubato_host_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "WITH")
  foreach(engine ${RUBATO_ENGINES})
    add_executable(${name}-${engine} ${arg_UNPARSED_ARGUMENTS})
    rubato_link_program(${name}-${engine} ${engine} "${arg_UNPARSED_ARGUMENTS}")
    foreach(collection ${arg_WITH})
      target_link_libraries(${name}-${engine} PRIVATE ${collection}_${engine})
    endforeach()
  endforeach()
endfunction()

function(rubato_program name)
  rubato_host_program(${name} ${ARGN})
  rubato_guest_program(${name} SOURCES ${ARGN} OPTIONS ${RUBATO_GUEST_OPTIONS})
endfunction()
