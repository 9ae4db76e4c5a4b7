"""Gradients by central differences, for comparison with those the package writes by hand."""

import numpy as np
import tensorflow as tf

STEP = 1e-5  # truncation about STEP² = 1e-10, rounding about 1e-16 · loss / STEP = 1e-10
RELATIVE = 1e-6
ABSOLUTE = 2e-8


def central_differences(function, variable):
    """d function() / d variable, entry by entry, in the variable's shape."""
    value = variable.numpy()
    result = np.zeros_like(value)
    for entry in np.ndindex(value.shape):
        sides = []
        for sign in (1, -1):
            moved = value.copy()
            moved[entry] += sign * STEP
            variable.assign(moved)
            sides.append(float(function()))
        result[entry] = (sides[0] - sides[1]) / (2 * STEP)
    variable.assign(value)
    return result


def check_gradients(function, variables):
    """The tape's gradients of `function` equal central differences at every entry of every
    variable.
    """
    with tf.GradientTape() as tape:
        tape.watch(variables)
        value = function()
    for variable, gradient in zip(variables, tape.gradient(value, variables)):
        gradient = tf.convert_to_tensor(gradient).numpy()
        expected = central_differences(function, variable)
        np.testing.assert_allclose(
            gradient, expected, rtol=RELATIVE, atol=ABSOLUTE, err_msg=variable.name
        )
