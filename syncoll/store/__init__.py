"""The results of searches in one file: answers and bounds."""

from syncoll.store.answers import *
from syncoll.store.cache import *
from syncoll.store.schema import delete_damaged as delete_damaged
from syncoll.store.store import *
