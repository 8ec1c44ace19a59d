"""Tensors of other libraries: torch's, and any object that speaks DLPack.

torch is Debian's, which belongs to Debian's interpreter; it has no 8-bit floats, so that these come
from a producer made here, as DLPack's header lays it out.
"""

import ctypes
import unittest

import ml_dtypes
import numpy as np

import python_case
import tessera
from tessera import _core


class DlDevice(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DlType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DlTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", DlDevice), ("ndim", ctypes.c_int32),
                ("dtype", DlType), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class DlManaged(ctypes.Structure):
    pass


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(DlManaged))
DlManaged._fields_ = [("tensor", DlTensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class Producer:
    """An array as another library's tensor, under a type code of DLPack's."""

    def __init__(self, array, code, device=1):
        self.array, self.code, self.device = array, code, device
        self.deleted = 0

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, **_):
        def delete(_):
            self.deleted += 1

        array = self.array
        self.kept = (DELETER(delete), (ctypes.c_int64 * array.ndim)(*array.shape))
        self.managed = DlManaged(
            DlTensor(array.ctypes.data, DlDevice(self.device, 0), array.ndim,
                     DlType(self.code, 8 * array.itemsize, 1), self.kept[1], None, 0),
            None, self.kept[0])
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor", None)


class DlpackTest(python_case.PythonCase):
    def test_every_8_bit_float_that_dlpack_has_a_code_for(self):
        codes = {"float8_e3m4": 7, "float8_e4m3b11fnuz": 9, "float8_e4m3fn": 10,
                 "float8_e4m3fnuz": 11, "float8_e5m2": 12, "float8_e5m2fnuz": 13,
                 "float8_e8m0fnu": 14, "bfloat16": 4}
        arrays = {name: np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, name))
                  for name in codes}
        tessera.save(self.folder / "c",
                     {name: Producer(array, codes[name]) for name, array in arrays.items()})
        self.assert_same_arrays(tessera.load(self.folder / "c"), arrays)

    def test_memory_is_looked_at_and_given_back(self):
        array = np.arange(12, dtype=np.int16).reshape(3, 4)
        producer = Producer(array, 0)
        view = _core.from_dlpack(producer)
        self.assertEqual(view.ctypes.data, array.ctypes.data)
        self.assertEqual(producer.deleted, 0)
        del view
        self.assertEqual(producer.deleted, 1)

    def test_what_is_not_in_host_memory_or_of_another_kind(self):
        with self.assertRaisesRegex(TypeError, "x: the memory of a Producer"):
            tessera.save(self.folder / "c", {"x": Producer(np.ones(3), 2, device=2)})
        with self.assertRaisesRegex(TypeError, "x: the memory of a Producer.*type 3"):
            tessera.save(self.folder / "c", {"x": Producer(np.ones(3), 3)})

    def test_tensors_of_torch(self):
        done = self.program(
            """
            import sys
            import torch, tessera
            tree = {
                "transposed": torch.arange(6, dtype=torch.float32).reshape(2, 3).t(),
                "bfloat16": torch.ones(3, dtype=torch.bfloat16, requires_grad=True),
                "half": torch.full((2, 2), 0.5, dtype=torch.float16),
                "conjugate": torch.tensor([1 + 2j], dtype=torch.complex64).conj(),
                "bool": torch.tensor([True, False]), "int64": torch.tensor(3),
                "wide": torch.arange(8).expand(2, 8),
            }
            tessera.save(sys.argv[1], tree)
            try:
                tessera.save(sys.argv[1], {"s": torch.eye(3).to_sparse()})
            except TypeError as error:
                print(error)
            """, self.folder / "c", interpreter="/usr/bin/python3")
        self.assertIn("s: a torch.sparse_coo tensor", done.stdout)
        self.assert_same_arrays(tessera.load(self.folder / "c"), {
            "transposed": np.arange(6, dtype=np.float32).reshape(2, 3).T,
            "bfloat16": np.ones(3, ml_dtypes.bfloat16), "half": np.full((2, 2), 0.5, np.float16),
            "conjugate": np.array([1 - 2j], np.complex64), "bool": np.array([True, False]),
            "int64": np.array(3), "wide": np.tile(np.arange(8), (2, 1)),
        })


if __name__ == "__main__":
    unittest.main()
