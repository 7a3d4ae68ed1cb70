"""Cross entropy of rows of logits, in blocks of columns; rows with the label -100 do not count."""

import torch
import triton
import triton.language as tl


@triton.jit
def loss_kernel(logits, labels, loss, row_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels + row)
    if label == -100:
        tl.store(loss + row, 0.0)
        return
    logits += row * row_stride
    largest, total = float("-inf"), 0.0
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(logits + at, at < columns, other=float("-inf")).to(tl.float32)
        new = tl.maximum(largest, tl.max(value, 0))
        total = total * tl.exp(largest - new) + tl.sum(tl.exp(value - new), 0)
        largest = new
    tl.store(loss + row, largest + tl.log(total) - tl.load(logits + label).to(tl.float32))


def cross_entropy(logits, labels):
    rows, columns = logits.shape
    if columns == 0:
        raise ValueError("there is no class")
    logits = logits if logits.stride(1) == 1 else logits.contiguous()
    labels = labels.contiguous()
    loss = torch.empty(rows, dtype=torch.float32, device=logits.device)
    if rows:
        loss_kernel[(rows,)](logits, labels, loss, logits.stride(0), columns, BLOCK=64)
    return loss


def reference(logits, labels):
    wide = logits if logits.dtype == torch.float64 else logits.float()
    return torch.nn.functional.cross_entropy(wide, labels.long(), ignore_index=-100, reduction="none")


if __name__ == "__main__":
    logits, labels = torch.randn(12, 192, device="cuda"), torch.randint(0, 192, (12,), device="cuda")
    labels[3] = -100
    assert torch.allclose(cross_entropy(logits, labels), reference(logits, labels), atol=1e-4)
