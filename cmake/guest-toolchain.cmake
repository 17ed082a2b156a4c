# Toolchain file: every target of the project is a guest program, a static RISC-V Linux executable for rubato-chip.
#   cmake -B build -DCMAKE_TOOLCHAIN_FILE=PREFIX/lib/cmake/rubato/guest-toolchain.cmake -DCMAKE_PREFIX_PATH=PREFIX
# What CTest runs, it runs on rubato-chip if that is installed, or else found on PATH; exit statuses are the program's.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
# The default one, except on Ubuntu 22.04, whose default is GCC 11.
find_program(RUBATO_GUEST_CXX NAMES riscv64-linux-gnu-g++-12 riscv64-linux-gnu-g++ DOC "Cross compiler for guest programs (C++)")
find_program(RUBATO_GUEST_CC NAMES riscv64-linux-gnu-gcc-12 riscv64-linux-gnu-gcc DOC "Cross compiler for guest programs (C)")
if(NOT RUBATO_GUEST_CXX OR NOT RUBATO_GUEST_CC)
  message(FATAL_ERROR "The RISC-V cross compiler, riscv64-linux-gnu-g++, was not found: install it (Debian: apt-get "
                      "install g++-riscv64-linux-gnu)")
endif()
set(CMAKE_C_COMPILER ${RUBATO_GUEST_CC})
set(CMAKE_CXX_COMPILER ${RUBATO_GUEST_CXX})
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
find_program(RUBATO_CHIP rubato-chip HINTS ${CMAKE_CURRENT_LIST_DIR}/../../../bin ${CMAKE_CURRENT_LIST_DIR}/../../../../bin
             DOC "The simulator, which runs the project's tests")
if(RUBATO_CHIP)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${RUBATO_CHIP} --quiet --guest-status)
endif()
