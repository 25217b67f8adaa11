"""What the use cases need from the outside world, as Protocols that adapters fill."""
