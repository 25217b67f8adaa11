"""Generated code of the Arbiter protocol; see protos/README.md."""
