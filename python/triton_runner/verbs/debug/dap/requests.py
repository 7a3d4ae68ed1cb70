"""Lists the requests that are answered. A row is a request: its handler, what has to be there before it, and
the capability that it is; `initialize` tells the editor what the rows say."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable

from triton_runner._base.errors import fail
from triton_runner._settings import CHECKS
from triton_runner.verbs.debug.dap import breaking, life, looking, stepping, texts
from triton_runner.verbs.verify.ci import RULES

CLIENT, SESSION, STANDS = "client", "session", "stands"  # what has to be there


@dataclasses.dataclass(frozen=True)
class Request:
    """handler(adapter, arguments) returns the body of the response."""

    handler: Callable
    after: str = SESSION
    capabilities: tuple = ()


def _initialize(adapter, arguments) -> dict:
    if adapter.client is not None:
        raise fail("'initialize' came a second time")
    adapter.begin(arguments)
    return capabilities()


REQUESTS = {
    # beginning and end
    "initialize": Request(_initialize, ""),
    "launch": Request(life.launch, CLIENT),
    "attach": Request(life.attach, CLIENT),
    "configurationDone": Request(life.configuration_done, SESSION, ("supportsConfigurationDoneRequest",)),
    "terminate": Request(life.terminate, SESSION, ("supportsTerminateRequest",)),
    "disconnect": Request(life.disconnect, "", ("supportTerminateDebuggee",)),
    "cancel": Request(life.cancel, ""),
    # where it stops
    "setBreakpoints": Request(
        breaking.source, CLIENT,
        ("supportsConditionalBreakpoints", "supportsHitConditionalBreakpoints", "supportsLogPoints"),
    ),
    "setFunctionBreakpoints": Request(breaking.function, CLIENT, ("supportsFunctionBreakpoints",)),
    "setInstructionBreakpoints": Request(breaking.instruction, STANDS, ("supportsInstructionBreakpoints",)),
    "setExceptionBreakpoints": Request(breaking.exception, CLIENT),
    "dataBreakpointInfo": Request(breaking.data_info, STANDS),
    "setDataBreakpoints": Request(
        breaking.data, CLIENT, ("supportsDataBreakpoints", "supportsDataBreakpointBytes")
    ),
    "breakpointLocations": Request(breaking.locations, CLIENT, ("supportsBreakpointLocationsRequest",)),
    # going on
    "continue": Request(stepping.go_on, STANDS, ("supportsSingleThreadExecutionRequests",)),
    "next": Request(stepping.over, STANDS, ("supportsSteppingGranularity",)),
    "stepIn": Request(stepping.into, STANDS),
    "stepOut": Request(stepping.out, STANDS),
    "stepBack": Request(stepping.back, STANDS, ("supportsStepBack",)),
    "reverseContinue": Request(stepping.go_back, STANDS),
    "pause": Request(stepping.pause, SESSION),
    # what stands
    "threads": Request(looking.threads, CLIENT),
    "stackTrace": Request(looking.stack, STANDS, ("supportsDelayedStackTraceLoading",)),
    "scopes": Request(looking.scopes, STANDS),
    "variables": Request(looking.variables, STANDS, ("supportsValueFormattingOptions",)),
    "setVariable": Request(looking.set_variable, STANDS, ("supportsSetVariable",)),
    "setExpression": Request(looking.set_expression, STANDS, ("supportsSetExpression",)),
    "evaluate": Request(looking.evaluate, STANDS, ("supportsEvaluateForHovers", "supportsClipboardContext")),
    "completions": Request(looking.completions, STANDS, ("supportsCompletionsRequest",)),
    "exceptionInfo": Request(looking.exception_info, STANDS, ("supportsExceptionInfoRequest",)),
    # texts and memory
    "source": Request(texts.source, SESSION),
    "loadedSources": Request(texts.loaded, SESSION, ("supportsLoadedSourcesRequest",)),
    "disassemble": Request(texts.disassemble, STANDS, ("supportsDisassembleRequest",)),
    "readMemory": Request(texts.read_memory, STANDS, ("supportsReadMemoryRequest",)),
}  # fmt: skip


def capabilities() -> dict:
    """Answers `initialize`: the capabilities of the rows, and a filter of exceptions for each check."""
    able = {name: True for request in REQUESTS.values() for name in request.capabilities}
    filters = [
        {"filter": "trap", "label": "Traps", "description": RULES["trap"], "default": True},
        *(
            {"filter": name, "label": f"Check: {name}", "description": RULES[name], "default": False}
            for name in CHECKS
        ),
    ]
    return {**able, "exceptionBreakpointFilters": filters}


def answered(adapter, command: str, arguments) -> dict | None:
    """The body of the response to a request. Raises DiagnosticError for one that cannot be done."""
    request = REQUESTS.get(command)
    if request is None:
        near = [f"did you mean {name!r}?" for name in difflib.get_close_matches(command, REQUESTS, 1)]
        raise fail(f"there is no request {command[:80]!r} here", *near)
    if request.after and adapter.client is None:
        raise fail(f"the request '{command}' came before 'initialize'")
    if request.after in (SESSION, STANDS) and adapter.session is None:
        raise fail(f"the request '{command}' came before 'launch'")
    if request.after == STANDS:
        adapter.standing()
    return request.handler(adapter, arguments)
