"""Calls a Python function that launches kernels with other sizes, strides, types and values (`verify
--shapes`).

- run, command, results: the search and what it gives
- calls, declared, generalised, domain: which arguments the function takes, from its calls and from
  declarations
- cases, inputs, layouts: the calls that are tried, and their arguments in memory
- calling, launching, ran, compared: one call, its launches, and whether its results are right
- smaller, lines, hints: a call that shows a fault made small, the access at fault, and tricks that no right
  function needs

It is described in doc/guide/shapes.md."""
