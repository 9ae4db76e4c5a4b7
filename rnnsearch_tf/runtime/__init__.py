"""The surroundings of TensorFlow: its quiet import, progress bars, optional packages, and the parts
of TensorFlow and Keras that are not public.
"""
