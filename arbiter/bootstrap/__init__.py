"""The composition root: the only package that names adapters. Each part can also be passed in as an argument."""
