"""The adapter to NATS, the bus between servers that share a store."""
