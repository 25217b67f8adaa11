# What `cmake --install` copies, and the package arbiter_client, which find_package finds: the target arbiter::client.

include(CMakePackageConfigHelpers)

set(package "${CMAKE_INSTALL_LIBDIR}/cmake/arbiter_client")
set_target_properties(arbiter_client PROPERTIES EXPORT_NAME client)
set_target_properties(arbiter_protocol PROPERTIES EXPORT_NAME protocol)
install(TARGETS arbiter_client arbiter_protocol EXPORT arbiter_client ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY include/arbiter DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(
  DIRECTORY "${protocol_code}/arbiter"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.pb.h")
install(EXPORT arbiter_client NAMESPACE arbiter:: DESTINATION "${package}")
configure_package_config_file(
  cmake/arbiter_clientConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/arbiter_clientConfig.cmake"
  INSTALL_DESTINATION "${package}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
  "${CMAKE_CURRENT_BINARY_DIR}/arbiter_clientConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(
  FILES "${CMAKE_CURRENT_BINARY_DIR}/arbiter_clientConfig.cmake"
        "${CMAKE_CURRENT_BINARY_DIR}/arbiter_clientConfigVersion.cmake"
  DESTINATION "${package}")
