#!/usr/bin/env python3
"""Learns to read handwritten digits (1,797 pictures that come with scikit-learn).

    moulin run --gpu 0.25 --checkpoint digits.ckpt -- python3 examples/digits/train.py

Shows what a well-behaved program does: it saves after each epoch, goes on from what was
saved, leaves when it is asked to, and says at the end how good it has become. Runs
without Moulin, too.
"""

import argparse
import os
import pickle
import signal
import time

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

asked_to_leave = False


def on_term(*_):
    global asked_to_leave
    asked_to_leave = True  # seen between two epochs, where it is safe to save


def arguments_of_command():
    parser = argparse.ArgumentParser(description="Learns to read handwritten digits.")
    parser.add_argument("--seed", type=int, default=1, help="of the first weights and of the order of pictures")
    parser.add_argument("--learning-rate", type=float, default=0.01)
    parser.add_argument("--hidden", type=int, default=32, help="neurons between picture and digit")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--pace", type=float, default=0.0, metavar="SECONDS", help="an epoch takes at least so long")
    return parser.parse_args()


def data(seed):
    pictures, digits = load_digits(return_X_y=True)
    return train_test_split(pictures / 16.0, digits, test_size=0.25, random_state=seed, stratify=digits)


def new_model(arguments):
    return MLPClassifier((arguments.hidden,), solver="sgd", learning_rate_init=arguments.learning_rate,
                         batch_size=64, random_state=arguments.seed)


def load(file):
    """(model, finished epochs), or nothing when there is no checkpoint yet."""
    if not file or not os.path.exists(file):
        return None
    with open(file, "rb") as saved:
        return pickle.load(saved)  # our own file: never load a pickle of others


def save(file, model, epoch):
    """Writes beside it and renames: the file is whole at any instant, and the rename tells Moulin."""
    if not file:
        return
    with open(file + ".new", "wb") as beside:
        pickle.dump((model, epoch), beside)
        beside.flush()
        os.fsync(beside.fileno())
    os.replace(file + ".new", file)


def train(arguments, file=None):
    """Returns the accuracy on pictures that it has not seen, or nothing when it had to leave before the end."""
    seen, unseen, seen_digits, unseen_digits = data(arguments.seed)
    saved = load(file)
    model, first = saved or (new_model(arguments), 0)
    print(f"resumed after epoch {first}" if saved else f"begins with learning rate {arguments.learning_rate:g}",
          flush=True)
    for epoch in range(first + 1, arguments.epochs + 1):
        began = time.monotonic()
        model.partial_fit(seen, seen_digits, classes=range(10))
        save(file, model, epoch)
        if epoch % 5 == 0 or epoch == arguments.epochs:
            print(f"epoch {epoch}/{arguments.epochs} loss {model.loss_:.3f}", flush=True)
        if asked_to_leave and epoch < arguments.epochs:
            print(f"asked to leave: saved after epoch {epoch}" if file else "asked to leave", flush=True)
            return None
        time.sleep(max(0.0, arguments.pace - (time.monotonic() - began)))
    return model.score(unseen, unseen_digits)


def main():
    signal.signal(signal.SIGTERM, on_term)
    accuracy = train(arguments_of_command(), os.environ.get("MOULIN_CHECKPOINT_FILE"))
    if accuracy is None:
        return
    print(f"accuracy {accuracy:.3f}", flush=True)
    if asked_to_leave and "MOULIN_DONE_FILE" in os.environ:
        open(os.environ["MOULIN_DONE_FILE"], "w").close()  # asked in the last epoch: this is the end all the same


if __name__ == "__main__":
    main()
