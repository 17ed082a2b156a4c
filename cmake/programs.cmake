# Programs written once against include/rubato: rubato_program(NAME source...) builds bin/NAME-serial (serial engine)
# and bin/NAME-native (native engine) for the host, and guest/NAME for the chip. rubato_host_program(NAME source...)
# leaves the chip out. Header-only libraries (CLI11, Boost) serve all: the guest sees only their folders, not the
# host's headers.
find_package(CLI11 REQUIRED)
find_package(Boost REQUIRED)
find_package(TBB QUIET)  # optional: the peers that some applications are compared with
find_path(RUBATO_CLI11_INCLUDE CLI/CLI.hpp REQUIRED)
set(RUBATO_GUEST_INCLUDE ${CMAKE_BINARY_DIR}/guest/include)
file(MAKE_DIRECTORY ${RUBATO_GUEST_INCLUDE})
file(CREATE_LINK ${RUBATO_CLI11_INCLUDE}/CLI ${RUBATO_GUEST_INCLUDE}/CLI SYMBOLIC)
list(GET Boost_INCLUDE_DIRS 0 RUBATO_BOOST_INCLUDE)
file(CREATE_LINK ${RUBATO_BOOST_INCLUDE}/boost ${RUBATO_GUEST_INCLUDE}/boost SYMBOLIC)

function(rubato_host_program name)
  foreach(engine serial native)
    if(TARGET rubato_${engine})
      add_executable(${name}-${engine} ${ARGN})
      target_link_libraries(${name}-${engine} PRIVATE rubato_${engine} rubato_options CLI11::CLI11 Boost::headers)
    endif()
  endforeach()
endfunction()

function(rubato_program name)
  rubato_host_program(${name} ${ARGN})
  rubato_guest_program(${name} SOURCES ${ARGN} OPTIONS -Wall -Wextra -Wno-array-bounds -isystem ${RUBATO_GUEST_INCLUDE})
endfunction()
