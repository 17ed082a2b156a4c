# What of the cache server is installed: both programs, and a unit of systemd that starts the server from where it is. The
# programs find the libraries beside them: librubato_itm in its own folder (T9), and librubato where it is shared.
include(GNUInstallDirs)
file(RELATIVE_PATH libraries /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR})
set_target_properties(rubato-cached PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries}/rubato;$ORIGIN/${libraries}")
if(TARGET rubato_itm)
  set_target_properties(rubato-cached PROPERTIES RUBATO_OWN_RPATH ON
                                                 BUILD_RPATH "$<TARGET_FILE_DIR:rubato_itm_shared>")
endif()
install(TARGETS rubato-cached rubato-load RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT cached)
# The prefix may be another one than was configured.
install(CODE "set(RUBATO_CACHED_PROGRAM \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/rubato-cached\")
configure_file(\"${CMAKE_CURRENT_SOURCE_DIR}/rubato-cached.service.in\"
               \"${CMAKE_CURRENT_BINARY_DIR}/rubato-cached.service\" @ONLY)" COMPONENT cached)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rubato-cached.service DESTINATION lib/systemd/system COMPONENT cached)
