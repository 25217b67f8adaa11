"""The HTTP door: pages for people, rendered here, and the streams of events that keep them current."""
