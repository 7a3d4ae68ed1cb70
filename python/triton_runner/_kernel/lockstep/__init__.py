"""One launch at several levels or devices: the first value that differs."""
