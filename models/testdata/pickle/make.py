"""Writes state_N.pkl: what torch.save puts into data.pkl, by Python's own pickler, protocol N.

The names of torch are stubs, so that torch itself isn't needed: a pickle holds names, not code.
usage: python3 make.py
"""
import collections, io, pickle, sys, types

torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
sys.modules.update({"torch": torch, "torch._utils": utils})


def _rebuild_tensor_v2(*args): ...
def _rebuild_parameter(*args): ...


for function in (_rebuild_tensor_v2, _rebuild_parameter):
    function.__module__, function.__qualname__ = "torch._utils", function.__name__
    setattr(utils, function.__name__, function)
for name in ("FloatStorage", "HalfStorage", "LongStorage"):
    setattr(torch, name, type(name, (), {"__module__": "torch"}))


class Storage:
    def __init__(self, kind, key, n):
        self.id = ("storage", getattr(torch, kind), key, "cpu", n)


class Tensor:
    def __init__(self, *args):
        self.args = args + (False, collections.OrderedDict())

    def __reduce__(self):
        return _rebuild_tensor_v2, self.args


class Parameter:
    def __init__(self, tensor):
        self.tensor = tensor

    def __reduce__(self):
        return _rebuild_parameter, (self.tensor, True, collections.OrderedDict())


class Pickler(pickle.Pickler):
    def persistent_id(self, obj):
        return obj.id if isinstance(obj, Storage) else None


shared = Storage("FloatStorage", "0", 70000)
state = collections.OrderedDict()
state["embed.weight"] = Tensor(shared, 0, (7, 10), (10, 1))
state["embed.part"] = Tensor(shared, 300, (10, 7), (1, 10))  # the same storage, transposed
state["norm.weight"] = Parameter(Tensor(Storage("HalfStorage", "1", 4), 0, (4,), (1,)))
state["norm.num_batches_tracked"] = Tensor(Storage("LongStorage", "2", 1), 0, (), ())
state._metadata = collections.OrderedDict({"": {"version": 1}, "norm": {"version": 2}})
for protocol in (2, 3, 4, 5):
    out = io.BytesIO()
    Pickler(out, protocol).dump(state)
    open(f"state_{protocol}.pkl", "wb").write(out.getvalue())
