"""One kernel on several releases, targets and configurations, as a table."""
