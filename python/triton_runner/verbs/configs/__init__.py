"""Every configuration of a launch, judged."""
