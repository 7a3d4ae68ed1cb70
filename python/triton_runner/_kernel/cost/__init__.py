"""Says what a launch costs: counts of its machine code (counting), the least time by each resource (bounds),
cycles by the replay of an SM (replay), and what surely costs time (costs)."""
