"""What a server does because other servers use the same store: the room that a server alone never enters."""
