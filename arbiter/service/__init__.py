"""Use cases, and the ports to everything outside them."""
