// The programs that generate arbiterpb, apart: who uses the client does not need them.
module github.com/game-arbiter/arbiter/clients/go/tools

go 1.25.0

require (
	google.golang.org/grpc/cmd/protoc-gen-go-grpc v1.6.2 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

tool (
	google.golang.org/grpc/cmd/protoc-gen-go-grpc
	google.golang.org/protobuf/cmd/protoc-gen-go
)
