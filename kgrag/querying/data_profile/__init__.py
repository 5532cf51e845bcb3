"""The data profile: what the facts of a store have, for whoever writes a query, and for whoever checks one.

Classes with their counts, properties with the classes and datatypes that they are used with, samples, labels, and the
classes that no thing has. It is worked out once and then follows the changes; ``keep`` writes it to a graph of its own
in the terms of VoID.

=====================  =================================================================================================
module                 contents
=====================  =================================================================================================
``profile_values``     ``DataProfile``: values, JSON, text
``profile_counts``     the figures: of all facts, and of what a change touches
``profile_graph``      the profile as a graph, and back
``profile_keeping``    the profile of a store, as it is now
=====================  =================================================================================================
"""

from __future__ import annotations

from kgrag.querying.data_profile.profile_counts import UNTYPED
from kgrag.querying.data_profile.profile_graph import as_turtle
from kgrag.querying.data_profile.profile_keeping import keep, profile_of, profile_of_graph, settle, withdrawn
from kgrag.querying.data_profile.profile_values import ClassProfile, DataProfile, PropertyProfile, one_line

__all__ = [
    "UNTYPED",
    "ClassProfile",
    "DataProfile",
    "PropertyProfile",
    "as_turtle",
    "keep",
    "one_line",
    "profile_of",
    "profile_of_graph",
    "settle",
    "withdrawn",
]
