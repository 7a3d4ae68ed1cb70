"""Computes in torch what functions of Triton's tutorials do."""

import torch


def add(x, y):
    return x + y


def softmax(x):
    return torch.softmax(x, 1)


def matmul(a, b, activation=""):
    product = torch.matmul(a, b)
    return torch.nn.functional.leaky_relu(product, 0.01) if activation else product


def layer_norm(x, normalized_shape, weight, bias, eps):
    return torch.nn.functional.layer_norm(x, normalized_shape, weight, bias, eps)


def dropout(x, x_keep, p):
    return torch.where(x_keep.bool(), x / (1 - p), torch.zeros_like(x))
