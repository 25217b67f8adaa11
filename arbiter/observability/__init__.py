"""What a running server tells its operator: metrics and traces."""
