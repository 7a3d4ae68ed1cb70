"""One trial of an assembler by a worker: a request is what _assemble.trial.work_of makes, the answer its
result."""


def run(request, note=lambda stage: None):
    # The package's driver is Triton's from here on.
    from triton_runner._assemble import trial

    return trial.run(request["work"], note)
