"""Live matches, timers, recovery, transcripts."""
