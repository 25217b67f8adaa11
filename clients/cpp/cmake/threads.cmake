# What threads share, tested with the thread sanitizer. It has to see every synchronization, and gRPC's library is not
# built with it: so this test links no gRPC, and consists of the parts that need none.

find_package(GTest 1.12 REQUIRED)
set(messages ${protocol_sources})
list(FILTER messages EXCLUDE REGEX "grpc\\.pb\\.(cc|h)$")
add_executable(arbiter_thread_tests
  tests/test_threads.cpp src/outbox.cpp src/request_ids.cpp src/timers.cpp src/workers.cpp ${messages})
target_compile_features(arbiter_thread_tests PRIVATE cxx_std_20)
target_include_directories(arbiter_thread_tests PRIVATE include src)
target_include_directories(arbiter_thread_tests SYSTEM PRIVATE "${protocol_code}")
target_link_libraries(arbiter_thread_tests
  PRIVATE arbiter_options protobuf::libprotobuf GTest::gtest GTest::gtest_main Threads::Threads)
add_test(NAME threads COMMAND arbiter_thread_tests)
set_tests_properties(threads PROPERTIES TIMEOUT 2400)
