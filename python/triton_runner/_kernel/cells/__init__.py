"""compare: one kernel on several releases, targets and configurations, as a table of figures."""
