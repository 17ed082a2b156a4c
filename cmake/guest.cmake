# Guest programs: static RISC-V Linux executables made by the stock cross compiler (C1). This file is part of the
# package: find_package(rubato) brings its functions, of which rubato_add_guest() is for users (docs/guest-programs.md).
#
#   rubato_add_guest(NAME source... [OPTIONS flag...] [LIBS flag...] [CAPALLOC])
#
# builds guest/NAME in the current binary folder, by the target guest_NAME, which is part of `all`. CAPALLOC: it has the
# allocator of docs/capsules.md. With the package's toolchain file, which makes every target a guest program, it is an
# ordinary executable of the target NAME in the same place.
#
#   rubato_guest_program(NAME SOURCES file... [OPTIONS flag...] [LIBS flag...] [OBJECTS file...])
#
# builds ${CMAKE_BINARY_DIR}/guest/NAME by the target guest_NAME, which is part of `all`. C sources (*.c) are compiled
# as C17, all others as C++20. Headers are tracked: a changed header rebuilds the programs that use it.
#
#   rubato_guest_objects(NAME SOURCES file... [OPTIONS flag...])
#
# sets guest_objects to objects in guest/objects/NAME that several programs of the folder may have as OBJECTS.
# With -DRUBATO_GUEST=OFF both do nothing.
# The default one, except on Ubuntu 22.04, whose default is GCC 11.
find_program(RUBATO_GUEST_CXX NAMES riscv64-linux-gnu-g++-12 riscv64-linux-gnu-g++ DOC "Cross compiler for guest programs (C++)")
find_program(RUBATO_GUEST_CC NAMES riscv64-linux-gnu-gcc-12 riscv64-linux-gnu-gcc DOC "Cross compiler for guest programs (C)")
if(RUBATO_PACKAGE_INCLUDE_DIR)  # in the package, set by rubatoConfig.cmake
  # A folder with our headers alone: beside them there may be the host's, which are not the guest's.
  set(RUBATO_GUEST ON)
  set(RUBATO_GUEST_INCLUDE_DIR ${CMAKE_BINARY_DIR}/rubato-guest/include)
  file(MAKE_DIRECTORY ${RUBATO_GUEST_INCLUDE_DIR})
  file(CREATE_LINK ${RUBATO_PACKAGE_INCLUDE_DIR}/rubato ${RUBATO_GUEST_INCLUDE_DIR}/rubato SYMBOLIC)
  set(RUBATO_GUEST_INCLUDES -isystem ${RUBATO_GUEST_INCLUDE_DIR})
else()
  set(RUBATO_GUEST_DIR ${CMAKE_BINARY_DIR}/guest)
  set(RUBATO_GUEST_INCLUDES -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR})
endif()

function(rubato_guest_objects name)
  set(guest_objects "" PARENT_SCOPE)
  if(NOT RUBATO_GUEST)
    return()
  endif()
  if(NOT RUBATO_GUEST_CXX OR NOT RUBATO_GUEST_CC)
    message(FATAL_ERROR "Guest programs need the RISC-V cross compiler, riscv64-linux-gnu-g++, which was not found: "
                        "install it (Debian: apt-get install g++-riscv64-linux-gnu, or run tools/bootstrap of Rubato), "
                        "or configure Rubato with -DRUBATO_GUEST=OFF to build without guest programs")
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;OPTIONS")
  set(objects)
  file(MAKE_DIRECTORY ${RUBATO_GUEST_DIR}/objects/${name})
  foreach(source ${arg_SOURCES})
    get_filename_component(source ${source} ABSOLUTE)
    get_filename_component(stem ${source} NAME)
    if(stem MATCHES "\\.c$")
      set(compiler ${RUBATO_GUEST_CC} -std=gnu17)
    else()
      set(compiler ${RUBATO_GUEST_CXX} -std=c++20)
    endif()
    set(object ${RUBATO_GUEST_DIR}/objects/${name}/${stem}.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${compiler} -O2 ${RUBATO_GUEST_INCLUDES} ${arg_OPTIONS} -MD -MF ${object}.d -MT ${object} -c
              ${source} -o ${object}
      DEPENDS ${source}
      DEPFILE ${object}.d
      COMMENT "Building guest object ${name}/${stem}"
      COMMAND_EXPAND_LISTS VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(guest_objects ${objects} PARENT_SCOPE)
endfunction()

# rubato_guest_archive(NAME SOURCES file... [OPTIONS flag...] [OBJECTS file...]): guest/libNAME.a, whose path is in
# guest_archive. A program takes it among its OBJECTS.
function(rubato_guest_archive name)
  set(guest_archive "" PARENT_SCOPE)
  if(NOT RUBATO_GUEST)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;OPTIONS;OBJECTS")
  rubato_guest_objects(${name} SOURCES ${arg_SOURCES} OPTIONS ${arg_OPTIONS})
  list(APPEND guest_objects ${arg_OBJECTS})
  string(REGEX REPLACE "g\\+\\+(-[0-9]+)?$" "ar" ar ${RUBATO_GUEST_CXX})
  set(archive ${RUBATO_GUEST_DIR}/lib${name}.a)
  add_custom_command(
    OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${ar} rcsD ${archive} ${guest_objects}
    DEPENDS ${guest_objects}
    COMMENT "Archiving guest library ${name}"
    VERBATIM)
  add_custom_target(guest_lib${name} ALL DEPENDS ${archive})
  set(guest_archive ${archive} PARENT_SCOPE)
endfunction()

function(rubato_guest_program name)
  if(NOT RUBATO_GUEST)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;OPTIONS;LIBS;OBJECTS")
  rubato_guest_objects(${name} SOURCES ${arg_SOURCES} OPTIONS ${arg_OPTIONS})
  set(objects ${guest_objects} ${arg_OBJECTS})
  set(program ${RUBATO_GUEST_DIR}/${name})
  set(static -static)
  if("-static-pie" IN_LIST arg_LIBS)
    set(static)
  endif()
  # A program that allocates by operator new alone names no function of the archive. The C++ library, which calls
  # malloc, is linked after it and would take the C library's.
  set(force)
  if("${arg_OBJECTS}" MATCHES "lib(capalloc|tcmalloc)\\.a")
    set(force -Wl,--undefined=malloc)
  endif()
  add_custom_command(
    OUTPUT ${program}
    COMMAND ${RUBATO_GUEST_CXX} ${static} -O2 ${arg_OPTIONS} ${force} ${objects} ${arg_LIBS} -o ${program}
    DEPENDS ${objects}
    COMMENT "Linking guest program ${name}"
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(guest_${name} ALL DEPENDS ${program})
endfunction()

function(rubato_add_guest name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CAPALLOC" "" "OPTIONS;LIBS")
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "rubato_add_guest(${name}) names no source file")
  endif()
  set(objects)
  if(arg_CAPALLOC)
    if(NOT EXISTS "${RUBATO_CAPALLOC}")
      message(FATAL_ERROR "rubato_add_guest(${name}) asks for CAPALLOC, which this installation of Rubato does not "
                          "have: install one that was built with its guest programs")
    endif()
    set(objects ${RUBATO_CAPALLOC})
  endif()
  set(RUBATO_GUEST_DIR ${CMAKE_CURRENT_BINARY_DIR}/guest)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "riscv64")
    add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
    target_compile_options(${name} PRIVATE ${arg_OPTIONS})
    target_link_libraries(${name} PRIVATE rubato::headers ${objects} ${arg_LIBS})
    if(objects)
      target_link_options(${name} PRIVATE -Wl,--undefined=malloc)
    endif()
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${RUBATO_GUEST_DIR})
  else()
    rubato_guest_program(${name} SOURCES ${arg_UNPARSED_ARGUMENTS} OPTIONS ${arg_OPTIONS} LIBS ${arg_LIBS}
                         OBJECTS ${objects})
  endif()
endfunction()
