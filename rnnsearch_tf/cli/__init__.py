"""The command line: one file for each command. Arguments are parsed before TensorFlow is imported.

May import every other room.
"""
