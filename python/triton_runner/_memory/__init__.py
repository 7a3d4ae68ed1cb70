"""Knows the memory of launches: what is in it, to whom it belongs, and what nobody has written.

- arrays, files, ghost*: arrays as Triton takes them, in files, and of any size
- arguments, contents, difference: the arguments of a launch, kept, put back and compared
- pointed, registry: memory that no argument holds
- uninit*, marks, tracking, substitution, fault_log: what the checks know of memory
- torch_modes: hides all this from torch.compile"""
