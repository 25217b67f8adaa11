"""Worker processes: long work (rules, pairing, ratings, plug-ins) runs beside the event loop, with limits."""
