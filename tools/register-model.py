#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fits the trees of the register estimate, and says how far off they are.

    register-model.py TABLE [--trees trees.txt] [--held-out FILE]

TABLE has a header and a kernel a line, fields separated by blanks: `group` (kernels of one program, and of
programs that share code, have the same), `held` (1: not trained on), `weight`, `registers` (of `ptxas -v`), then the
figures that `cargo run -p margay-ir --example register_features` prints. Needs numpy and lightgbm.
Prints the errors by five-fold cross-validation over groups and on what is held out; --trees writes the model,
--held-out the table of kernels that a test replays.
"""

import argparse

import lightgbm
import numpy

PARAMETERS = dict(
    objective="l2",
    num_leaves=32,
    learning_rate=0.06,
    min_data_in_leaf=8,
    feature_fraction=0.4,
    bagging_fraction=0.7,
    bagging_freq=1,
    lambda_l2=1.0,
    num_threads=1,
    deterministic=True,
    verbose=-1,
)
ROUNDS = 240
# The estimate is the mean of as many models, each of which saw other parts of the table.
SEEDS = [1, 2, 3, 4]


class Models:
    def __init__(self, figures, registers, weight):
        self.each = []
        for seed in SEEDS:
            data = lightgbm.Dataset(figures, numpy.log(registers), weight=weight)
            self.each.append(lightgbm.train(PARAMETERS | dict(seed=seed), data, ROUNDS))

    def predict(self, figures):
        return numpy.mean([model.predict(figures) for model in self.each], axis=0)

    def trees(self):
        return [tree["tree_structure"] for model in self.each for tree in model.dump_model()["tree_info"]]


fit = Models


def errors(name, estimate, registers, bound):
    """With launch bounds, and the counts that mod.rs prefers."""
    estimate = estimate * 0.985
    even = numpy.where(estimate < 32, 2 * numpy.round(estimate / 2), 32)
    whole = numpy.where(estimate < 38.5, even, numpy.round(estimate))
    off = numpy.abs(numpy.minimum(whole, bound) - registers) / registers
    mean, most = 100 * off.mean(), 100 * numpy.quantile(off, 0.9)
    print(f"{name}: {len(off)} kernels, mean {mean:.1f} %, 90th percentile {most:.1f} %")


def written(node, number):
    """A subtree in the form that trees.rs describes."""
    if "leaf_value" in node:
        return [str(round(node["leaf_value"] * 10_000 / len(SEEDS)))]
    figure = number.setdefault(node["split_feature"], len(number))
    left, right = written(node["left_child"], number), written(node["right_child"], number)
    # Figures are whole numbers.
    return [f"{figure}:{int(numpy.floor(node['threshold']))}", *left, *right]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table")
    parser.add_argument("--trees")
    parser.add_argument("--held-out")
    arguments = parser.parse_args()
    with open(arguments.table) as file:
        names = file.readline().split()[4:]
        table = numpy.array([[float(field) for field in line.split()] for line in file])
    group, held, weight, registers = table[:, 0], table[:, 1] == 1, table[:, 2], table[:, 3]
    figures = table[:, 4:]

    fold = numpy.random.RandomState(7).randint(0, 5, int(group.max()) + 1)[group.astype(int)]
    across = numpy.zeros(len(table))
    for number in range(5):
        train = (fold != number) & ~held
        model = fit(figures[train], registers[train], weight[train])
        across[fold == number] = numpy.exp(model.predict(figures[fold == number]))
    bound = figures[:, names.index("bound")]
    counts = ~held & (weight > 0)
    errors("five-fold", across[counts], registers[counts], bound[counts])
    model = fit(figures[~held], registers[~held], weight[~held])
    errors("trained on", numpy.exp(model.predict(figures[~held])), registers[~held], bound[~held])
    if held.any():
        errors("held out", numpy.exp(model.predict(figures[held])), registers[held], bound[held])

    if arguments.trees:
        number = {}
        lines = [" ".join(written(tree, number)) for tree in model.trees()]
        used = " ".join(names[figure] for figure in number)
        with open(arguments.trees, "w") as file:
            print("# Written by tools/register-model.py; trees.rs says what it means.", file=file)
            # The mean of the logarithms is in each model's first tree.
            print(used, 0, *lines, sep="\n", file=file)
    if arguments.held_out:
        with open(arguments.held_out, "w") as file:
            print("registers", *names, file=file)
            for row in table[held]:
                print(*(int(value) for value in row[3:]), file=file)


if __name__ == "__main__":
    main()
