"""What the initial weights should look like (Appendix B.1; Glorot and Bengio 2010); nothing of the
package is imported.
"""

import numpy as np

RECURRENT = ("U", "U_z", "U_r")
ALIGNMENT = ("W_a", "U_a")


def expected(symbol):
    """("orthogonal", None), ("normal", standard deviation) or ("zero", None) for a paper symbol."""
    last = symbol.rpartition(".")[2]
    if last == "v_a" or last == "b" or last.startswith("b_"):
        return "zero", None
    if last in RECURRENT:
        return "orthogonal", None
    return "normal", 0.001 if last in ALIGNMENT else 0.01


def distance_from_orthogonal(matrix):
    """The largest entry of |U U^T - I|."""
    return float(np.abs(matrix @ matrix.T - np.eye(len(matrix))).max())


def normal_deviations(values, standard_deviation):
    """How many standard errors the sample's mean, variance and fourth moment lie from N(0, sd^2).

    For N samples of a standard normal: the mean has variance 1/N, the mean square
    2/N, the mean fourth power 96/N. The fourth moment tells a normal sample from a
    uniform one (1.8) or one cut at two deviations (about 2.06).
    """
    x = np.asarray(values, dtype=np.float64).ravel() / standard_deviation
    count = len(x)
    return (
        float(x.mean() / np.sqrt(1 / count)),
        float(((x**2).mean() - 1) / np.sqrt(2 / count)),
        float(((x**4).mean() - 3) / np.sqrt(96 / count)),
    )


def glorot_limit(rows, columns, terms=1):
    """Glorot and Bengio 2010, eq. 16: a matrix of these sizes is drawn from U(-limit, limit); of k
    summed products each has 1/k of the variance.
    """
    return float(np.sqrt(6.0 / (rows + columns) / terms))


def uniform_deviations(values, limit):
    """How many standard errors the sample's mean and mean square lie from U(-limit, limit); inf
    where a value lies outside.

    For N samples of U(-1, 1): the mean has variance 1/(3N); x^2 has mean 1/3 and variance 4/45.
    """
    x = np.asarray(values, dtype=np.float64).ravel() / limit
    if np.abs(x).max() > 1 + 1e-6:
        return np.inf, np.inf
    count = len(x)
    return float(x.mean() / np.sqrt(1 / (3 * count))), float(
        ((x**2).mean() - 1 / 3) / np.sqrt(4 / (45 * count))
    )
