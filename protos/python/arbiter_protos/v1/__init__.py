"""Generated messages and stubs of package arbiter.v1."""
