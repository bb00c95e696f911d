"""Settings, wiring, workers, telemetry and the command line: the one place that knows every part."""
