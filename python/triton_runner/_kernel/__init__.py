"""What is known of one kernel: compilations, dumps, lockstep, maps, costs, cases."""
