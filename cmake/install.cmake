# Of the package: the headers and the library of the native engine, for CMake and pkg-config (package.cmake).
include(GNUInstallDirs)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/rubato)

install(TARGETS rubato_native rubato_headers EXPORT rubato
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rubato DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING
        PATTERN *.hpp PATTERN markers.h PATTERN tm EXCLUDE)
install(EXPORT rubato NAMESPACE rubato:: FILE rubatoTargets.cmake DESTINATION ${package} COMPONENT dev)
if(TARGET rubato-native-info)
  install(TARGETS rubato-native-info RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT dev)
endif()

# A static library brings its own needs, a shared one has them built in.
set(RUBATO_PC_REQUIRES)
if(NOT BUILD_SHARED_LIBS AND (RUBATO_HWLOC OR RUBATO_ZLIB))
  set(RUBATO_PC_REQUIRES "Requires:")
  if(RUBATO_HWLOC)
    string(APPEND RUBATO_PC_REQUIRES " hwloc")
  endif()
  if(RUBATO_ZLIB)
    string(APPEND RUBATO_PC_REQUIRES " zlib")
  endif()
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/rubato.pc.in rubato.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rubato.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
