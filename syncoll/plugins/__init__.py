"""The plugin host: the records of plugins, and the manager that finds them."""

from syncoll.plugins.exporters import *
from syncoll.plugins.importers import *
from syncoll.plugins.manager import *
from syncoll.plugins.options import *
from syncoll.plugins.records import *
from syncoll.plugins.registry import *
