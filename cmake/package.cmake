# find_package(rubato), whatever of the libraries is built.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/rubato)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/rubatoConfig.cmake.in rubatoConfig.cmake
                              INSTALL_DESTINATION ${package}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
# Before version 1 a minor version may break what was before it.
write_basic_package_version_file(rubatoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rubatoConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/rubatoConfigVersion.cmake
        ${PROJECT_SOURCE_DIR}/cmake/guest.cmake ${PROJECT_SOURCE_DIR}/cmake/guest-toolchain.cmake
        DESTINATION ${package} COMPONENT dev)
