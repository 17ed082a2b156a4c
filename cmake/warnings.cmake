# Compile options every target of ours uses: link rubato_options privately, or rubato_warnings where code bears no
# sanitizer.
add_library(rubato_warnings INTERFACE)
add_library(rubato_options INTERFACE)
target_link_libraries(rubato_options INTERFACE rubato_warnings)
target_compile_options(rubato_warnings INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wold-style-cast
                       -Woverloaded-virtual -Wconversion -Wno-sign-conversion -fno-math-errno)
# GCC 12 reports these falsely across inlined standard-library code.
target_compile_options(rubato_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-stringop-overflow
                       -Wno-maybe-uninitialized -Wno-restrict>)
if(RUBATO_WERROR)
  target_compile_options(rubato_warnings INTERFACE -Werror)
endif()
if(RUBATO_SANITIZE)
  target_compile_options(rubato_options INTERFACE -fsanitize=${RUBATO_SANITIZE} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  target_link_options(rubato_options INTERFACE -fsanitize=${RUBATO_SANITIZE})
endif()
target_include_directories(rubato_warnings INTERFACE ${PROJECT_SOURCE_DIR})
