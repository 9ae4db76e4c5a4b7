"""Update rules in float64 NumPy, written from their papers; nothing of the package is imported."""

import numpy as np


def clip_by_global_norm(gradients, limit):
    """All gradients together cut to one L2 norm (Pascanu et al. 2013; B.2 of Bahdanau et al.)."""
    norm = np.sqrt(sum(float((gradient**2).sum()) for gradient in gradients))
    if limit is None or norm <= limit:
        return list(gradients), norm
    return [gradient * (limit / norm) for gradient in gradients], norm


class SGD:
    """Gradient descent with momentum (Polyak 1964): v = momentum v - learning_rate g, x + v."""

    def __init__(self, learning_rate=0.01, momentum=0.0, clip=None):
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.clip = clip
        self.velocities = None

    def update(self, values, gradients):
        gradients, _ = clip_by_global_norm(gradients, self.clip)
        if self.velocities is None:
            self.velocities = [np.zeros_like(value) for value in values]
        self.velocities = [
            self.momentum * velocity - self.learning_rate * gradient
            for velocity, gradient in zip(self.velocities, gradients)
        ]
        return [value + velocity for value, velocity in zip(values, self.velocities)]


class Adadelta:
    """Zeiler 2012, Algorithm 1: E[g^2], then the step, then E[dx^2]."""

    def __init__(self, rho=0.95, epsilon=1e-6, learning_rate=1.0, clip=None):
        self.rho = rho
        self.epsilon = epsilon
        self.learning_rate = learning_rate
        self.clip = clip
        self.squared_gradients = None
        self.squared_steps = None

    def update(self, values, gradients):
        """New values of all parameters, as a list; the running averages move on."""
        gradients, _ = clip_by_global_norm(gradients, self.clip)
        if self.squared_gradients is None:
            self.squared_gradients = [np.zeros_like(value) for value in values]
            self.squared_steps = [np.zeros_like(value) for value in values]
        new = []
        for k, (value, gradient) in enumerate(zip(values, gradients)):
            self.squared_gradients[k] = (
                self.rho * self.squared_gradients[k] + (1 - self.rho) * gradient**2
            )
            root_of_steps = np.sqrt(self.squared_steps[k] + self.epsilon)
            root_of_gradients = np.sqrt(self.squared_gradients[k] + self.epsilon)
            change = -(root_of_steps / root_of_gradients) * gradient
            self.squared_steps[k] = self.rho * self.squared_steps[k] + (1 - self.rho) * change**2
            new.append(value + self.learning_rate * change)
        return new


class Adam:
    """Kingma and Ba 2015, the efficient form at the end of their section 2.

    alpha_t = alpha sqrt(1 - beta_2^t) / (1 - beta_1^t), epsilon added to sqrt(v_t):
    what Keras and TensorFlow compute ("epsilon hat" in the paper).
    """

    def __init__(self, learning_rate=1e-3, beta_1=0.9, beta_2=0.999, epsilon=1e-7, clip=None):
        self.learning_rate = learning_rate
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.clip = clip
        self.first = None
        self.second = None
        self.count = 0

    def update(self, values, gradients):
        gradients, _ = clip_by_global_norm(gradients, self.clip)
        if self.first is None:
            self.first = [np.zeros_like(value) for value in values]
            self.second = [np.zeros_like(value) for value in values]
        self.count += 1
        rate = (
            self.learning_rate
            * np.sqrt(1 - self.beta_2**self.count)
            / (1 - self.beta_1**self.count)
        )
        new = []
        for k, (value, gradient) in enumerate(zip(values, gradients)):
            self.first[k] = self.beta_1 * self.first[k] + (1 - self.beta_1) * gradient
            self.second[k] = self.beta_2 * self.second[k] + (1 - self.beta_2) * gradient**2
            new.append(value - rate * self.first[k] / (np.sqrt(self.second[k]) + self.epsilon))
        return new
