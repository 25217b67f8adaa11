"""What the server says, as Python values: one module a proto file, one frozen class a message."""
