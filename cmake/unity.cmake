# Sources compiled together, folder by folder: most of a source's compile time is headers.
#
#   rubato_together(RESULT NAME source... [BATCH n])   sets RESULT to sources that include these: one for each folder,
#                                                      or for each n sources of a folder
#
# CMake's own unity builds include by absolute paths, so each clone has sources of its own, and a compiler cache finds
# no other clone's objects. These include by paths below the project. Names in anonymous namespaces must differ within
# a folder.
function(rubato_together result name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "BATCH" "")
  set(files)
  foreach(source ${arg_UNPARSED_ARGUMENTS})
    get_filename_component(source ${source} ABSOLUTE)
    file(RELATIVE_PATH source ${PROJECT_SOURCE_DIR} ${source})
    get_filename_component(file ${source} DIRECTORY)
    string(REPLACE "/" "_" file ${file})
    if(arg_BATCH)
      math(EXPR number "0${sources_of_${file}} / ${arg_BATCH}")
      math(EXPR sources_of_${file} "0${sources_of_${file}} + 1")
      string(APPEND file _${number})
    endif()
    list(APPEND files ${file})
    string(APPEND text_${file} "#include \"${source}\"\n")
  endforeach()
  list(REMOVE_DUPLICATES files)
  set(together)
  foreach(file ${files})
    set(path ${CMAKE_CURRENT_BINARY_DIR}/together/${name}/${file}.cpp)
    file(CONFIGURE OUTPUT ${path} CONTENT "${text_${file}}" @ONLY)  # leaves a file alone that is so already
    list(APPEND together ${path})
  endforeach()
  set(${result} ${together} PARENT_SCOPE)
endfunction()
