"""The surroundings of TensorFlow: its quiet import, progress bars, optional packages, fused
optimizers, and the parts of Keras that are not public.
"""
