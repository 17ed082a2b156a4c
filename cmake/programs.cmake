# Programs written once against include/rubato: rubato_program(NAME source...) builds bin/NAME-serial for the host
# (serial engine) and guest/NAME for the chip. Header-only libraries (CLI11, Boost) serve both: the guest sees only
# their folders, not the host's headers.
find_package(CLI11 REQUIRED)
find_package(Boost REQUIRED)
find_path(RUBATO_CLI11_INCLUDE CLI/CLI.hpp REQUIRED)
set(RUBATO_GUEST_INCLUDE ${CMAKE_BINARY_DIR}/guest/include)
file(MAKE_DIRECTORY ${RUBATO_GUEST_INCLUDE})
file(CREATE_LINK ${RUBATO_CLI11_INCLUDE}/CLI ${RUBATO_GUEST_INCLUDE}/CLI SYMBOLIC)
list(GET Boost_INCLUDE_DIRS 0 RUBATO_BOOST_INCLUDE)
file(CREATE_LINK ${RUBATO_BOOST_INCLUDE}/boost ${RUBATO_GUEST_INCLUDE}/boost SYMBOLIC)

function(rubato_program name)
  add_executable(${name}-serial ${ARGN})
  target_link_libraries(${name}-serial PRIVATE rubato_serial rubato_options CLI11::CLI11 Boost::headers)
  rubato_guest_program(${name} SOURCES ${ARGN} OPTIONS -Wall -Wextra -Wno-array-bounds -isystem ${RUBATO_GUEST_INCLUDE})
endfunction()
