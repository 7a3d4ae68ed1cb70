"""Runs under --pretend-cuda: walks the tables pretend_cuda_*.txt, and prints what is not as written there."""

import contextlib
import copy
import importlib
import inspect
import io
import pathlib
import pickle  # noqa: F401  (the tables use it)
import sys
import threading
import warnings

import torch
from triton_runner._pretend.missing import MISSING

warnings.simplefilter("ignore")
x = torch.arange(4.0)
c = x.cuda()
FOREIGN = (
    "typing", "functools", "contextlib", "collections", "collections.abc", "ctypes", "typing_extensions",
    "inspect",
)  # fmt: skip


def within(context):
    with context:
        return bool((c + 1).is_cuda)


def timed(event):
    begin, end = event(enable_timing=True), event(enable_timing=True)
    begin.record()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) > 0 and end.query()


def same_draws(seed):
    seed(3)
    first = torch.rand(5, device="cuda")
    seed(3)
    return torch.equal(first, torch.rand(5, device="cuda"))


def scaled(scaler):
    model = torch.nn.Linear(4, 1).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = model.weight.detach().clone()
    scaler.scale(model(c).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    return not torch.equal(before, model.weight) and scaler.get_scale() > 1


def autocasts(context):
    with context:
        return torch.mm(c[:, None], c[None]).dtype


def asks_autocast():
    with torch.autocast("cuda"):
        inside = torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
    return *inside, torch.is_autocast_enabled("cuda")


def gradient(tensor):
    leaf = tensor.clone().requires_grad_()
    (leaf * 2).sum().backward()
    return leaf.grad


def gradient_through(function):
    leaf = torch.ones(2, requires_grad=True)
    function(leaf).sum().backward()
    return leaf.grad.tolist()


def copies(move, source):
    """Whether what a move gives stays as it was when its source changes."""
    moved = move()
    before = moved.tolist()
    source.add_(1)
    same = moved.tolist() == before
    source.sub_(1)
    return same


def moved(module):
    places = [str(module.weight.device)]
    for move in (module.cuda, module.cpu, lambda: module.to("cuda")):
        places.append(str(move().weight.device))
    return places


def inside(device):
    with device:
        return torch.nn.Linear(2, 2).weight.device


def default_device():
    torch.set_default_device("cuda")
    made = torch.zeros(2).device
    torch.set_default_device(None)
    return str(made), str(torch.zeros(2).device)


def default_type():
    torch.set_default_tensor_type("torch.cuda.FloatTensor")
    made = torch.zeros(2)
    torch.set_default_tensor_type("torch.FloatTensor")
    torch.set_default_device(None)
    return str(made.device), made.type()


def in_thread():
    seen = []

    def work():
        made = torch.ones(3, device="cuda"), torch.tensor([1], device="cuda"), torch.ones(3).cuda()
        seen.extend(str(t.device) for t in made)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return seen


def forked_rng():
    before = torch.cuda.get_rng_state()
    with torch.random.fork_rng(devices=[0]):
        torch.rand(3, device="cuda")
    return torch.equal(before, torch.cuda.get_rng_state())


def saved(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


def reloaded(module):
    other = copy.deepcopy(module)
    torch.nn.init.zeros_(other.weight)
    other.load_state_dict(torch.load(saved(module.state_dict()), map_location="cuda"))
    return torch.equal(module.weight, other.weight) and other.weight.is_cuda


def on_stream():
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        inside = torch.cuda.current_stream() == stream
    return inside, torch.cuda.current_stream() == torch.cuda.default_stream()


def trained():
    """A loop with mixed precision; the loss falls."""
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cuda")
    data = torch.utils.data.TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
    losses = []
    for _ in range(10):
        for inputs, wanted in torch.utils.data.DataLoader(data, batch_size=32, pin_memory=True):
            inputs, wanted = inputs.cuda(non_blocking=True), wanted.cuda(non_blocking=True)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(model(inputs), wanted)
            optimizer.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        losses.append(loss.item())
    return losses[-1] < losses[0] and loss.is_cuda


def checkpointed():
    from torch.utils.checkpoint import checkpoint

    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 4)).cuda()
    for reentrant in (True, False):
        given = c.clone().requires_grad_()
        checkpoint(model, given, use_reentrant=reentrant).sum().backward()
    return given.grad is not None and given.grad.is_cuda


def profiled():
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, record_shapes=True, profile_memory=True) as profile:
        torch.mm(c[:, None], c[None])
    return "aten::mm" in profile.key_averages().table(sort_by="cuda_time_total", row_limit=5)


def names_of(module) -> list:
    """The public names of a module that are its own."""
    found = []
    for name in dir(module):
        value = getattr(module, name)
        imported = inspect.ismodule(value) or getattr(value, "__module__", None) in FOREIGN
        if name.startswith("_") or imported or name in ("annotations", "TYPE_CHECKING", "Tensor", "Storage"):
            continue
        found.append(name)
    return found


def read(path: str) -> dict:
    """{module: {name: (expression, what it gives)}}; "* other" takes what other has of the same name."""
    tables, table = {}, None
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith("["):
            table = tables.setdefault(line.strip("[]"), {})
        elif line.startswith("* "):
            table["*"] = line[2:]
        elif line and not line.startswith("#"):
            name, _, rest = line.partition(" | ")
            expression, _, wanted = rest.partition(" | ")
            table[name] = (expression.removesuffix(" |"), wanted)
    return tables


def check(module_name: str, table: dict, tables: dict) -> int:
    M = importlib.import_module(module_name)
    other = tables.get(table.get("*"), {})
    wrong = 0

    def say(name, what):
        nonlocal wrong
        wrong += 1
        print(f"{module_name}.{name}: {what}")

    for name in names_of(M):
        if name not in table and name not in other:
            say(name, "is not in the table")
    for name, entry in table.items():
        if name == "*" or not hasattr(M, name):
            continue  # of another release of torch
        expression, wanted = entry
        if expression == "missing":
            try:
                getattr(M, name)()
                say(name, "works, and the table says that it is missing")
            except RuntimeError as error:
                if MISSING[f"{module_name}.{name}"] not in str(error):
                    say(name, f"does not say why it is missing: {error}")
            continue
        try:
            given = eval(expression, {**globals(), "M": M})
        except Exception as error:
            say(name, f"{type(error).__name__}: {str(error).splitlines()[0]}")
            continue
        if wanted and str(given) != wanted:
            say(name, f"gives {given}, not {wanted}")
    return wrong


def check_values(path: str) -> int:
    """Walks pretend_cuda_tensors.txt."""
    wrong = 0
    for line in pathlib.Path(path).read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        expression, _, wanted = line.rpartition(" | ")
        try:
            given = str(eval(expression, globals()))
        except Exception as error:
            given = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        if given != wanted:
            wrong += 1
            print(f"{expression} gives {given}, not {wanted}")
    return wrong


class Seen(torch.overrides.TorchFunctionMode):
    """A function mode that changes nothing, as programs have it and verify, too."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


if __name__ == "__main__":
    if sys.argv[1].endswith("tensors.txt"):
        with Seen() if "--seen" in sys.argv else contextlib.nullcontext():
            sys.exit(bool(check_values(sys.argv[1])))
    known = read(sys.argv[1])
    total = sum(check(module, table, known) for module, table in known.items())
    print(f"{total} wrong of {sum(len(table) for table in known.values())}")
    sys.exit(bool(total))
