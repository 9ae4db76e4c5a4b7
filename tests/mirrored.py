"""Two replicas on two logical devices of one processor: the trainings of worker.py, with plain ``model.fit`` under a MirroredStrategy.

    python mirrored.py FILE.npz
"""

import sys

import numpy as np
import tensorflow as tf

if __name__ == "__main__":
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
    import worker

    from rnnsearch_tf.workers import Alone

    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        np.savez(sys.argv[1], **worker.trained(Alone(), sys.argv[2:] or worker.COMBINATIONS))
