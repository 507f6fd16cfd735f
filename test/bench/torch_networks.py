# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures of torchvision and transformers with random weights: exported to ONNX, and as torch runs them itself.

    torch_networks.py FOLDER NAME...

Exports those of `EXPORTED`; `module` also has what the graphs of make_models.py and networks.py are in torch.
"""
import os
import sys
import warnings

import torch
from torch import nn

EXPORTED = ["mobilenetv3", "efficientnet_b0", "convnext_t", "vit_b", "swin_t", "densenet121", "whisper_tiny_encoder"]
# Newer versions export in another way by default, which gives weights names of its own.
EXPORTER = {} if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 5) else {"dynamo": False}
VISION = {"mobilenetv2": "mobilenet_v2", "resnet50": "resnet50", "mobilenetv3": "mobilenet_v3_large", "efficientnet_b0": "efficientnet_b0",
          "convnext_t": "convnext_tiny", "vit_b": "vit_b_16", "swin_t": "swin_t", "densenet121": "densenet121"}


class Last(nn.Module):
    """What a module of transformers gives first, or the first element of a tuple."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, *inputs):
        return self.inner(*inputs)[0]


def transformer(name):
    import transformers as t

    if name == "whisper_tiny_encoder":
        encoder = t.WhisperModel(t.WhisperConfig(d_model=384, encoder_layers=4, decoder_layers=1, encoder_attention_heads=6,
                                                 encoder_ffn_dim=1536, decoder_ffn_dim=64)).encoder
        return Last(encoder), (torch.randn(1, 80, 3000),)
    ids = torch.randint(0, 30000, (1, 128))
    if name == "gpt2_prefill":
        return Last(t.GPT2LMHeadModel(t.GPT2Config())), (ids,)
    config = t.BertConfig() if name == "bert_base" else t.BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    return Last(t.BertModel(config)), (ids, torch.ones_like(ids), torch.zeros_like(ids))


def module(name):
    """The module and its inputs; raises KeyError for a row that torch has no form of here."""
    torch.manual_seed(20)
    parts = name.split("_")
    if name in VISION:
        import torchvision

        return getattr(torchvision.models, VISION[name])(weights=None), (torch.randn(1, 3, 224, 224),)
    if name in ("minilm", "bert_base", "gpt2_prefill", "whisper_tiny_encoder"):
        return transformer(name)
    if parts[0] == "gemm":
        sizes = [int(s) for s in parts[1].split("x")] * (3 if "x" not in parts[1] else 1)
        return nn.Linear(sizes[2], sizes[1], bias=False), (torch.randn(sizes[0], sizes[2]),)
    if parts[0] == "conv3x3":
        side, _, channels = (int(s) for s in parts[1].split("x"))
        chain = [m for _ in range(8) for m in (nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU())]
        return nn.Sequential(*chain), (torch.randn(1, channels, side, side),)
    if parts[0] == "lstm":
        return Last(nn.LSTM(512, 512, 2)), (torch.randn(64, 1, 512),)
    if parts[0] == "mlp":
        return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3)), (torch.randn(1, 4),)
    raise KeyError(name)


def main():
    warnings.filterwarnings("ignore")
    folder, names = sys.argv[1], sys.argv[2:]
    for name in names:
        try:
            made, inputs = module(name)
        except ImportError as e:
            print(f"{name}: {e}", flush=True)
            continue
        final = os.path.join(folder, name + ".onnx")
        torch.onnx.export(made.eval(), inputs, final + ".part", opset_version=17, input_names=["x"], output_names=["y"], **EXPORTER)
        os.replace(final + ".part", final)


if __name__ == "__main__":
    main()
