"""Keeps values that many requests share, such as studies that were read."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Shared(Generic[Key, Value]):
    """Makes the value of each key once for each of its versions. Of each key, the value of one version is kept, and of
    all keys the ``most`` that were asked for last.

    If a value is requested while another request makes it, the second request waits. Nothing is kept if making it
    fails.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._making: WeakValueDictionary[Key, Lock] = WeakValueDictionary()
        """The lock of each key while a request makes its value or waits for it."""
        self._kept: OrderedDict[Key, tuple[Hashable, Value]] = OrderedDict()

    def __call__(self, key: Key, make: Callable[[], Value], version: Hashable = None) -> Value:
        """The value of a key, made by ``make`` if there is none yet, or only that of another ``version``."""
        with self._lock:
            making = self._making.setdefault(key, Lock())
        with making:
            with self._lock:
                if key in self._kept and self._kept[key][0] == version:
                    self._kept.move_to_end(key)
                    return self._kept[key][1]
            value = make()
            with self._lock:
                self._kept[key] = version, value
                self._kept.move_to_end(key)
                while len(self._kept) > self._most:
                    self._kept.popitem(last=False)
            return value
