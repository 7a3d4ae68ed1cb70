"""Measures in the interpreter that runs it, with the packages that it has: the other end of peers.py.

    PYTHON peer.py READ WRITE [FIRST_ON_PATH ...]

Reads requests from one descriptor and writes answers to the other, JSON a line. Standard library, Triton and
torch only; triton_runner is whatever that interpreter calls so, or nothing."""

import importlib.util
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def loaded(name: str, path: str = ""):
    """A module by its file: the folder is not on the path, where its names would hide others."""
    spec = importlib.util.spec_from_file_location(name, path or os.path.join(HERE, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class MeasuredProblem:
    """The subject of a measurement here: a problem of this project, or a module of the user's."""

    def __init__(self, on_gpu: bool):
        self.device = "cuda" if on_gpu else "cpu"
        self.on_gpu = on_gpu
        self.calls, self.timer, self.problem = {}, None, None

    def ways(self, request: dict) -> list:
        """[name, what it launches, why not, what is wrong] of each way to launch the problem."""
        native, kernels, problems = loaded("native"), loaded("kernels"), loaded("problems")
        self.timer = loaded("timing").timer(request["timer"], self.on_gpu, request["launches"])
        asked = request["problem"]
        self.problem = problems.make(kernels, asked, self.device)
        checked = self.problem
        if asked["problem"] == "launch" and asked["count"]:
            checked = problems.make(kernels, {**asked, "witness": True}, self.device)
        stream = self._stream()
        samples = []
        for name, way in (
            ("triton.jit", native.jit),
            ("CompiledKernel.run", lambda p: native.compiled_run(p, stream)),
            ("triton_runner.jit", native.runner_jit),
        ):
            try:
                samples.append([name, *self._made(name, way, checked)])
            except Exception as error:
                first = str(error).partition("\n")[0]
                samples.append([name, "", f"{type(error).__name__}: {first}", ""])
        return samples

    def _made(self, name, way, checked):
        call, _ = way(checked)
        checked.clear()
        call()
        if self.on_gpu:
            import torch

            torch.cuda.synchronize()
        wrong = checked.fault()
        self.calls[name], launches = way(self.problem) if checked is not self.problem else way(checked)
        return launches, "", wrong

    def _stream(self) -> int:
        if not self.on_gpu:
            return 0
        import torch

        return torch.cuda.current_stream().cuda_stream

    def module(self, request: dict) -> list:
        """A user's module with kernel, prepare_args() and get_grid(), at a size; writes its arguments after a
        launch to a file."""
        import numpy
        import torch

        module = sys.modules.get("subject") or loaded("subject", request["file"])
        missing = [name for name in ("kernel", "prepare_args", "get_grid") if not hasattr(module, name)]
        if missing:
            raise AttributeError(f"{request['file']} lacks {', '.join(missing)}")
        size = request["size"]
        torch.manual_seed(0)
        args, grid = module.prepare_args(**size), tuple(module.get_grid(**size))
        keywords = module.get_kernel_kwargs(**size) if hasattr(module, "get_kernel_kwargs") else {}
        if request.get("inputs"):
            self._take_inputs(args, request["inputs"])
        kernel = module.kernel
        compiled = kernel[grid](*args, **keywords)
        tensors = [a.detach().float().cpu().numpy() for a in args if hasattr(a, "detach")]
        numpy.savez(request["outputs"], *tensors)
        for level in ("cubin", "ptx"):
            if request.get("save") and dict.__contains__(compiled.asm, level):
                code = compiled.asm[level]
                with open(os.path.join(request["save"], f"{compiled.name}.{level}"), "wb") as file:
                    file.write(code if isinstance(code, bytes) else code.encode())
        self.timer = loaded("timing").timer(request["timer"], self.on_gpu, request["launches"])
        self.calls["kernel"] = lambda: kernel[grid](*args, **keywords)
        return [["kernel", loaded("native").describe(compiled), "", ""]]

    @staticmethod
    def _take_inputs(args, path: str) -> None:
        """Fills the tensors from a file, which the first interpreter writes: all compute from the same."""
        import numpy
        import torch

        tensors = [a for a in args if hasattr(a, "detach")]
        if not os.path.exists(path):
            numpy.savez(path, *(t.detach().float().cpu().numpy() for t in tensors))
            return
        with numpy.load(path) as file:
            for tensor, name in zip(tensors, file.files):  # noqa: B905  (3.9's Python)
                tensor.copy_(torch.from_numpy(file[name]))

    def sample(self, request: dict) -> float:
        return self.timer(self.calls[request["way"]])


def hello(on_gpu: bool) -> dict:
    """Who answers here."""
    about = {"python": sys.version.split()[0], "executable": sys.executable}
    try:
        import triton_runner

        about["triton_runner"] = getattr(triton_runner, "__version__", "?")
        about["triton_runner_file"] = triton_runner.__file__
    except ImportError:
        about["triton_runner"] = None
    import torch
    import triton

    about["triton"], about["torch"] = triton.__version__, torch.__version__
    if on_gpu and not torch.cuda.is_available():
        raise RuntimeError("torch of this interpreter sees no GPU")
    return about


def main() -> None:
    reader, writer = (os.fdopen(int(fd), mode) for fd, mode in zip(sys.argv[1:3], "rw"))  # noqa: B905
    sys.path[0:1] = sys.argv[3:]  # in the place of this file's folder
    subject = None
    for line in reader:
        request = json.loads(line)
        try:
            if request["do"] == "hello":
                answer = hello(request["gpu"])
                subject = MeasuredProblem(request["gpu"])
            else:
                answer = {"ways": subject.ways, "module": subject.module, "sample": subject.sample}[
                    request["do"]
                ](request)
            reply = {"answer": answer}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        writer.write(json.dumps(reply) + "\n")
        writer.flush()


if __name__ == "__main__":
    main()
