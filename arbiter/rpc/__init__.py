"""The gRPC door: servicers and interceptors."""
