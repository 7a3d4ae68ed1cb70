"""Arrays in files and in memory: put back, compared; memory that no argument holds, and what checks know."""
