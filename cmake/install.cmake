# The package: headers, library, find_package(rubato), pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
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

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/rubatoConfig.cmake.in rubatoConfig.cmake
                              INSTALL_DESTINATION ${package}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
# Before version 1 a minor version may break what was before it.
write_basic_package_version_file(rubatoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rubatoConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/rubatoConfigVersion.cmake
        ${PROJECT_SOURCE_DIR}/cmake/guest.cmake ${PROJECT_SOURCE_DIR}/cmake/guest-toolchain.cmake
        DESTINATION ${package} COMPONENT dev)

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
