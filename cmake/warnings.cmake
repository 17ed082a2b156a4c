# Compile options every target of ours uses: link rubato_options privately.
add_library(rubato_options INTERFACE)
target_compile_options(rubato_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wold-style-cast
                       -Woverloaded-virtual -Wconversion -Wno-sign-conversion -fno-math-errno)
# GCC 12 reports these falsely across inlined standard-library code.
target_compile_options(rubato_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-stringop-overflow
                       -Wno-maybe-uninitialized -Wno-restrict>)
if(RUBATO_WERROR)
  target_compile_options(rubato_options INTERFACE -Werror)
endif()
if(RUBATO_SANITIZE)
  target_compile_options(rubato_options INTERFACE -fsanitize=${RUBATO_SANITIZE} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  target_link_options(rubato_options INTERFACE -fsanitize=${RUBATO_SANITIZE})
endif()
target_include_directories(rubato_options INTERFACE ${PROJECT_SOURCE_DIR})
