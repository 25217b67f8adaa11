# The protocol: one static library, made from ../../protos by protoc and grpc_cpp_plugin.

set(ARBITER_PROTOS "${CMAKE_CURRENT_SOURCE_DIR}/../../protos" CACHE PATH "where arbiter/v1/*.proto are")

# The programs that come with the packages that were found; or else those on the path.
foreach(program IN ITEMS protobuf::protoc gRPC::grpc_cpp_plugin)
  string(REGEX REPLACE ".*::" "" name "${program}")
  string(TOUPPER "${name}" variable)
  if(TARGET ${program})
    set(${variable} "$<TARGET_FILE:${program}>")
  else()
    find_program(${variable} ${name} REQUIRED)
  endif()
endforeach()

set(protocol_code "${CMAKE_CURRENT_BINARY_DIR}/protocol")
file(MAKE_DIRECTORY "${protocol_code}")

# Adds the commands that generate code from NAME.proto in FOLDER; appends the files to the list SOURCES.
function(generate folder name with_services sources)
  set(made "${protocol_code}/${name}.pb.cc" "${protocol_code}/${name}.pb.h")
  set(services)
  if(with_services)
    list(APPEND made "${protocol_code}/${name}.grpc.pb.cc" "${protocol_code}/${name}.grpc.pb.h")
    set(services "--grpc_out=${protocol_code}" "--plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN}")
  endif()
  add_custom_command(
    OUTPUT ${made}
    COMMAND "${PROTOC}" "-I${folder}" "--cpp_out=${protocol_code}" ${services} "${folder}/${name}.proto"
    DEPENDS "${folder}/${name}.proto"
    VERBATIM)
  set(${sources} ${${sources}} ${made} PARENT_SCOPE)
endfunction()

set(protocol_sources)
generate("${ARBITER_PROTOS}" "arbiter/v1/refusal" OFF protocol_sources)
generate("${CMAKE_CURRENT_SOURCE_DIR}/src" "status_details" OFF protocol_sources)
foreach(file IN ITEMS game match play player rating server tournament)
  generate("${ARBITER_PROTOS}" "arbiter/v1/${file}" ON protocol_sources)
endforeach()

add_library(arbiter_protocol STATIC ${protocol_sources})
target_compile_features(arbiter_protocol PUBLIC cxx_std_20)
target_include_directories(arbiter_protocol
  SYSTEM PUBLIC "$<BUILD_INTERFACE:${protocol_code}>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_link_libraries(arbiter_protocol PUBLIC gRPC::grpc++ protobuf::libprotobuf)
# Nobody debugs generated code, and a bot spends no time in it: what counts, to those who work on the client, is how long
# it takes to compile. Reading the headers of gRPC and protobuf is most of that, so all services are compiled as one file,
# and all messages as another one. There, two names are made unique that every file of messages has with protobuf 3.21.
target_compile_options(arbiter_protocol PRIVATE $<IF:$<CXX_COMPILER_ID:MSVC>,/w,-w>)
if(compile_quickly)
  target_compile_options(arbiter_protocol PRIVATE -O0 -g0)
endif()
set(services ${protocol_sources})
list(FILTER services INCLUDE REGEX "grpc\\.pb\\.cc$")
if(Protobuf_VERSION VERSION_LESS 3.22)
  set_source_files_properties(${protocol_sources} PROPERTIES UNITY_GROUP messages)
endif()
set_source_files_properties(${services} PROPERTIES UNITY_GROUP services)
set_target_properties(arbiter_protocol PROPERTIES
  UNITY_BUILD ON
  UNITY_BUILD_MODE GROUP
  UNITY_BUILD_UNIQUE_ID schemas
  UNITY_BUILD_CODE_BEFORE_INCLUDE
    "#define ARBITER_JOINED(id) instances_##id\n#define ARBITER_OF(id) ARBITER_JOINED(id)\n#define file_default_instances ARBITER_OF(schemas)")
