# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes metrics.txt: scores, labels, and what scikit-learn says of them (1.9.1; not needed by the tests).

usage: metrics.py > metrics.txt"""
import numpy as np
from sklearn import metrics as sk

random = np.random.default_rng(3)


def softmax(scores):
    e = np.exp(scores - scores.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def show(name, scores, labels, values):
    print("case", name, *scores.shape)
    print(*(repr(float(v)) for v in scores.ravel()))
    print(*labels)
    for key, value in values.items():
        print(key, repr(float(value)))


def many(name, scores, labels):
    """More than two classes, no score equal to another one."""
    p, predicted, classes = softmax(scores), scores.argmax(1), np.arange(scores.shape[1])
    values = {"accuracy": sk.accuracy_score(labels, predicted), "f1": sk.f1_score(labels, predicted, average="macro")}
    for k in (2, 3)[:scores.shape[1] - 2]:
        values[f"top{k}"] = sk.top_k_accuracy_score(labels, scores, k=k, labels=classes)
    if set(labels) == set(classes):
        values["auc"] = sk.roc_auc_score(labels, p, multi_class="ovr")
    values["cross_entropy"] = sk.log_loss(labels, p, labels=classes)
    values["perplexity"] = np.exp(values["cross_entropy"])
    show(name, scores, labels, values)


def two(name, scores, labels):
    """Two classes by two scores, which may come again, and by their difference."""
    difference = scores[:, 1] - scores[:, 0]
    predicted = (difference > 0).astype(int)
    p = 1 / (1 + np.exp(-difference))
    values = {"accuracy": sk.accuracy_score(labels, predicted), "f1": sk.f1_score(labels, predicted),
              "auc": sk.roc_auc_score(labels, difference), "cross_entropy": sk.log_loss(labels, p)}
    values["perplexity"] = np.exp(values["cross_entropy"])
    show(name, scores, labels, values)
    show(name + "-one", difference[:, None], labels, values)


def numbers(name, outputs, targets):
    print("case", name, *outputs.shape)
    print(*(repr(float(v)) for v in outputs.ravel()))
    print(*(repr(float(v)) for v in targets.ravel()))
    print("mse", repr(float(sk.mean_squared_error(targets, outputs))))
    print("mae", repr(float(sk.mean_absolute_error(targets, outputs))))


many("four", random.standard_normal((37, 4)), random.integers(0, 4, 37))
many("sharp", 8 * random.standard_normal((11, 3)), random.integers(0, 3, 11))
many("absent", random.standard_normal((9, 6)) * [1, 1, 1, 1, 1, 0.01], random.integers(1, 3, 9))
two("two", random.standard_normal((29, 2)), random.integers(0, 2, 29))
two("ties", random.integers(0, 4, (40, 2)) / 2.0, random.integers(0, 2, 40))
numbers("numbers", random.standard_normal((7, 3)), random.standard_normal((7, 3)))
