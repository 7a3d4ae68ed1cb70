"""The releases of Triton that this machine has."""
