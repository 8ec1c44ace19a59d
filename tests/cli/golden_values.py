"""The elements of golden arrays, as the command has them and as NumPy sees them."""
import ml_dtypes
import numpy as np


def dtype_of(name):
    """NumPy's own, or that of ml_dtypes."""
    try:
        return np.dtype(name)
    except TypeError:
        return np.dtype(getattr(ml_dtypes, name))


def wide(values):
    """As numbers that NumPy computes with; none of these types has more than a double."""
    if values.dtype.kind in "fcbiu":
        return values
    return values.astype(np.float64)
