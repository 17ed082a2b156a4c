# What of the transactions goes into the package: the library in a folder of its own, rubato::itm, rubato-itm.pc. The link
# librubato_itm.so is in that folder as well: in a folder that ldconfig scans it would make itself libitm.so.1 for the
# whole system (T9).
set(folder ${CMAKE_INSTALL_LIBDIR}/rubato)
install(TARGETS rubato_itm_shared rubato_itm_static
        LIBRARY DESTINATION ${folder} COMPONENT transactions ARCHIVE DESTINATION ${folder} COMPONENT transactions)
install(FILES ${RUBATO_ITM_DIR}/librubato_itm.so DESTINATION ${folder} COMPONENT transactions)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/rubato)
set_target_properties(rubato_itm PROPERTIES EXPORT_NAME itm)
set_target_properties(rubato_itm_flags PROPERTIES EXPORT_NAME itm_flags)
install(TARGETS rubato_itm rubato_itm_flags EXPORT rubato-transactions)
install(EXPORT rubato-transactions NAMESPACE rubato:: FILE rubatoTransactions.cmake DESTINATION ${package} COMPONENT dev)

# The run path of programs is the folder where this is installed, which is known then. Behind it is one by the file's
# own place, for an installation that was moved; that one has /pkgconfig/../ in it.
set(RUBATO_ITM_RUN_PATH "@escaped_prefix@/${folder}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/rubato-itm.pc.in rubato-itm.pc.in @ONLY)
install(CODE [[string(REGEX REPLACE "([ '\"#\\])" "\\\\\\1" escaped_prefix "${CMAKE_INSTALL_PREFIX}")]] COMPONENT dev)
install(CODE "configure_file(\"${CMAKE_CURRENT_BINARY_DIR}/rubato-itm.pc.in\"
               \"${CMAKE_CURRENT_BINARY_DIR}/rubato-itm.pc\" @ONLY)" COMPONENT dev)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rubato-itm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
