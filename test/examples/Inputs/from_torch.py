# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights between torch and examples/from_torch.cpp.

    from_torch.py write small|full FOLDER      torch writes the networks' weights, inputs and outputs
    from_torch.py read small|full FROM TO      torch loads what from_torch wrote, strictly, and compares outputs
    from_torch.py same FROM TO                 without torch: TO's files have FROM's names, types and shapes, and floats times 1.25

`write` and `read` need torch, safetensors and transformers, so they run by hand; FOLDER/small is checked in as Inputs/from_torch
(torch 2.15, transformers 5.23). Weights are drawn; norms' numbers and statistics are not the 0 and 1 that they begin with."""

import json
import os
import struct
import sys

import numpy

NAMES = ["mlp", "resnet18", "gpt2", "bert", "tagger"]


def networks(small):
    """Name: network in use, its input, and a function to its outputs as one row."""
    import torch
    import transformers
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(3)

    class Mlp(nn.Module):
        def __init__(self, i, h, o):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, h), nn.GELU(), nn.LayerNorm(h), nn.Linear(h, o))

        def forward(self, x):
            return self.layers(x)

    class Block(nn.Module):  # torchvision's BasicBlock
        def __init__(self, i, o, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(i, o, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(o)
            self.conv2 = nn.Conv2d(o, o, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(o)
            self.downsample = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o)) if stride != 1 or i != o else None

        def forward(self, x):
            y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
            return F.relu(y + (self.downsample(x) if self.downsample else x))

    class ResNet18(nn.Module):  # torchvision's, of any width
        def __init__(self, w, classes):
            super().__init__()
            self.conv1 = nn.Conv2d(3, w, 7, 2, 3, bias=False)
            self.bn1 = nn.BatchNorm2d(w)
            self.layer1 = nn.Sequential(Block(w, w, 1), Block(w, w, 1))
            self.layer2 = nn.Sequential(Block(w, 2 * w, 2), Block(2 * w, 2 * w, 1))
            self.layer3 = nn.Sequential(Block(2 * w, 4 * w, 2), Block(4 * w, 4 * w, 1))
            self.layer4 = nn.Sequential(Block(4 * w, 8 * w, 2), Block(8 * w, 8 * w, 1))
            self.fc = nn.Linear(8 * w, classes)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
            return self.fc(self.layer4(self.layer3(self.layer2(self.layer1(x)))).mean((2, 3)))

    class Tagger(nn.Module):
        def __init__(self, words, width, hidden, tags):
            super().__init__()
            self.words = nn.Embedding(words, width)
            self.lstm = nn.LSTM(width, hidden, 2, bidirectional=True, batch_first=True)
            self.head = nn.Linear(2 * hidden, tags)

        def forward(self, x):
            return self.head(self.lstm(self.words(x))[0])

    class Gpt2(transformers.GPT2Model):  # with the scores of GPT2LMHeadModel, whose weights are wte's
        def forward(self, x):
            return super().forward(x).last_hidden_state @ self.wte.weight.T

    class Bert(transformers.BertModel):
        def forward(self, x):
            made = super().forward(x, attention_mask=(x != 0).long())
            return torch.cat([made.last_hidden_state.flatten(), made.pooler_output.flatten()])

    tiny = {"n_layer": 2, "n_embd": 16, "n_head": 4, "vocab_size": 40, "n_positions": 12} if small else {}
    tinyBert = {"num_hidden_layers": 2, "hidden_size": 16, "num_attention_heads": 4, "vocab_size": 40,
                "max_position_embeddings": 12, "intermediate_size": 32} if small else {}
    side, length = (24, 9) if small else (224, 64)
    made = {
        "mlp": (Mlp(6, 8, 3) if small else Mlp(784, 512, 10), torch.randn(4, 6 if small else 784)),
        "resnet18": (ResNet18(2, 5) if small else ResNet18(64, 1000), torch.randn(2, 3, side, side)),
        "gpt2": (Gpt2(transformers.GPT2Config(**tiny)), torch.randint(40, (2, length))),
        "bert": (Bert(transformers.BertConfig(**tinyBert)), torch.randint(1, 40, (2, length))),
        "tagger": (Tagger(20, 6, 5, 4) if small else Tagger(10000, 128, 256, 17), torch.randint(20, (3, length))),
    }
    made["bert"][1][1, length - 3 :] = 0  # the second text is shorter
    for module, _ in made.values():
        for name, leaf in module.named_parameters():
            if leaf.dim() == 1:
                leaf.data += 0.2 * torch.randn(leaf.shape)
        for name, leaf in module.named_buffers():
            if name.endswith("running_mean"):
                leaf += 0.1 * torch.randn(leaf.shape)
            elif name.endswith("running_var"):
                leaf += torch.rand(leaf.shape)
            elif name.endswith("num_batches_tracked"):
                leaf += 7
        module.eval()
    return made


def outputs(module, x):
    import torch

    with torch.no_grad():
        return module(x).flatten().numpy()


def read(path):
    """Names to arrays, by the format's description alone."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    kinds = {"F32": numpy.float32, "I64": numpy.int64}
    tensors = {}
    for name, about in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__":
            begin, end = about["data_offsets"]
            tensors[name] = numpy.frombuffer(data[8 + length + begin : 8 + length + end], kinds[about["dtype"]]).reshape(about["shape"])
    return tensors


def main():
    mode, *rest = sys.argv[1:]
    if mode == "same":
        for name in NAMES:
            old, new = (read(os.path.join(folder, name + ".safetensors")) for folder in rest)
            assert old.keys() == new.keys(), old.keys() ^ new.keys()
            for key, value in old.items():
                wanted = value * numpy.float32(1.25) if value.dtype == numpy.float32 else value
                assert wanted.dtype == new[key].dtype and numpy.array_equal(wanted, new[key]), (name, key)
            print(f"{name}: {len(old)} tensors")
        return
    import safetensors.torch

    for name, (module, x) in networks(rest[0] == "small").items():
        path = lambda folder, end: os.path.join(folder, name + end)
        if mode == "write":
            os.makedirs(rest[1], exist_ok=True)
            safetensors.torch.save_file(module.state_dict(), path(rest[1], ".safetensors"))
            numpy.save(path(rest[1], "_x.npy"), x.numpy())
            numpy.save(path(rest[1], "_y.npy"), outputs(module, x))
        else:
            module.load_state_dict(safetensors.torch.load_file(path(rest[2], ".safetensors")), strict=True)
            import torch

            y, wanted = outputs(module, torch.tensor(numpy.load(path(rest[1], "_x.npy")))), numpy.load(path(rest[2], "_y.npy"))
            gap = (abs(y - wanted) / numpy.maximum(abs(y), 1)).max()
            print(f"{name}: {len(module.state_dict())} tensors loaded, {y.size} outputs, at most {gap:.1e} apart")
            assert gap <= 1e-5


main()
