"""Messages of the server as Python values: one module for each proto file, one frozen class for each message."""
