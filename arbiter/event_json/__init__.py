"""The JSON of events: its canonical bytes, the reading of fields, and the codec of matches and tournaments."""
