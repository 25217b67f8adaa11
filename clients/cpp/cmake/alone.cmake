# Runs a workflow of CMakePresets.json while nobody else does so in this folder: cmake -P cmake/alone.cmake PRESET
#
# Tests that run at the same time build the same client.

file(LOCK "${CMAKE_CURRENT_LIST_DIR}/../build.lock" GUARD PROCESS)
execute_process(
  COMMAND "${CMAKE_COMMAND}" --workflow --preset "${CMAKE_ARGV3}"
  WORKING_DIRECTORY "${CMAKE_CURRENT_LIST_DIR}/.."
  COMMAND_ERROR_IS_FATAL ANY)
