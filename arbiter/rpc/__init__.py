"""The gRPC API: servicers and interceptors."""
