"""The facts that are known of one kernel: compilations, dumps, lockstep, maps, costs, cases."""
