"""A session of ONNX Runtime for the tests: ONNX's reference evaluator, and the C API that libattn_ort.so is given.

ONNX Runtime itself is asked by test/frameworks/test_onnx_session.py, where it is installed.
"""

import ctypes
import functools
import threading
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from paths import ATTNC

LIBRARY = ATTNC.parents[1] / "lib" / "libattn_ort.so"
NUM_PLACES = 275
# Places in OrtCustomOp, of 8 bytes each.
DESTROY, CREATE, COMPUTE = 9, 17, 18


class Host:
    """What a session gives the library: OrtApi, whose handles are numbers from 1 on.

    Attributes:
      loops: how many parallel loops have run on its threads.
    """

    def __init__(self, version=17):
        """Registers the library, as SessionOptions.register_custom_ops_library does."""
        self.version, self.loops, self.messages, self.tensors, self.kept = version, 0, [], [], []
        self.op = None
        self.table = (c_void_p * NUM_PLACES)()
        self._define(0, c_void_p, self._create_status, c_int, c_char_p)
        self._define(26, c_void_p, lambda name, into: self._store(into, 1), c_char_p, POINTER(c_void_p))
        self._define(27, c_void_p, self._add_to_domain, c_void_p, c_void_p)
        self._define(28, c_void_p, lambda options, domain: None, c_void_p, c_void_p)
        self._define(51, c_void_p, self._get_data, c_size_t, POINTER(c_void_p))
        self._define(60, c_void_p, self._get_type, c_size_t, POINTER(c_int))
        self._define(61, c_void_p, lambda x, into: self._store(into, self._find(x).ndim), c_size_t, POINTER(c_size_t))
        self._define(62, c_void_p, self._get_shape, c_size_t, POINTER(c_int64), c_size_t)
        self._define(65, c_void_p, lambda x, into: self._store(into, x), c_size_t, POINTER(c_size_t))
        self._define(87, c_void_p, self._get_source, c_void_p, c_char_p, c_void_p, POINTER(c_size_t))
        self._define(88, c_void_p, lambda _, into: self._store(into, self.num_inputs), c_void_p, POINTER(c_size_t))
        self._define(89, c_void_p, lambda _, into: self._store(into, self.num_outputs), c_void_p, POINTER(c_size_t))
        self._define(90, c_void_p, lambda _, i, into: self._store(into, i + 1), c_void_p, c_size_t, POINTER(c_size_t))
        self._define(91, c_void_p, self._make_output, c_void_p, c_size_t, POINTER(c_int64), c_size_t, POINTER(c_size_t))
        self._define(93, None, lambda status: None, c_void_p)
        self._define(99, None, lambda info: None, c_void_p)
        self._define(274, c_void_p, self._run_loop, c_void_p, c_void_p, c_size_t, c_size_t, c_void_p)
        get_api = CFUNCTYPE(c_void_p, ctypes.c_uint32)(
            lambda wanted: ctypes.addressof(self.table) if wanted <= self.version else None
        )
        base = (c_void_p * 2)(ctypes.cast(get_api, c_void_p), None)
        register = ctypes.CDLL(str(LIBRARY)).RegisterCustomOps
        register.restype, register.argtypes = c_void_p, [c_void_p, c_void_p]
        self._check(register(1, base))

    def _define(self, place, result, function, *arguments):
        self.kept.append(CFUNCTYPE(result, *arguments)(function))
        self.table[place] = ctypes.cast(self.kept[-1], c_void_p)

    def _store(self, into, value):
        into[0] = value

    def _create_status(self, code, message):
        self.messages.append(message.decode())
        return len(self.messages)

    def _check(self, status):
        if status:
            raise RuntimeError(self.messages[status - 1])

    def _add_to_domain(self, domain, op):
        self.op = ctypes.cast(op, POINTER(c_void_p))

    def _find(self, handle):
        return self.tensors[handle - 1]

    def _get_data(self, handle, into):
        into[0] = self._find(handle).ctypes.data

    def _get_type(self, handle, into):
        into[0] = helper.np_dtype_to_tensor_dtype(self._find(handle).dtype)

    def _get_shape(self, handle, into, rank):
        for i in range(rank):
            into[i] = self._find(handle).shape[i]

    def _get_source(self, info, name, into, size):
        text = self.source.encode() + b"\0"
        assert name == b"source"
        if into:
            ctypes.memmove(into, text, len(text))
        size[0] = len(text)

    def _make_output(self, context, index, shape, rank, into):
        assert self.num_inputs + index == len(self.tensors)
        self.tensors.append(np.full([shape[i] for i in range(rank)], 7, self.tensors[0].dtype))
        into[0] = len(self.tensors)

    def _run_loop(self, context, function, total, batches, data):
        self.loops += 1
        call = CFUNCTYPE(None, c_void_p, c_size_t)(function)
        threads = [threading.Thread(target=call, args=(data, i)) for i in range(total)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _get(self, place, result, *arguments):
        return CFUNCTYPE(result, *arguments)(self.op[place])

    def run(self, source, num_outputs, *inputs):
        """The outputs of a node; each call creates its kernel, as a session does."""
        self.source, self.num_outputs, self.num_inputs = source, num_outputs, len(inputs)
        self.tensors = [np.ascontiguousarray(x) for x in inputs]
        kernel = c_void_p()
        create = self._get(CREATE, c_void_p, c_void_p, c_void_p, c_void_p, POINTER(c_void_p))
        self._check(create(None, ctypes.addressof(self.table), None, byref(kernel)))
        status = self._get(COMPUTE, c_void_p, c_void_p, c_void_p)(kernel, 1)
        self._get(DESTROY, None, c_void_p)(kernel)
        self._check(status)
        return tuple(self.tensors[len(inputs) :])


@functools.cache
def get_host():
    """The one of this process: the library has one domain, and tells its operator once."""
    return Host()


class Kernel(OpRun):
    """The operator, for ReferenceEvaluator."""

    op_domain = "attn"

    def _run(self, *inputs, source=None):
        return get_host().run(source, len(self.onnx_node.output), *inputs)


def run(model, arrays):
    """The outputs of a model that `attnc --emit=ort` wrote, by name of its inputs."""
    return ReferenceEvaluator(model, new_ops=[Kernel]).run(None, arrays)
