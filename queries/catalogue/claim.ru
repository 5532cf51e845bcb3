# Claim the next publication of a store for one writer
#
# Source  own: whoever writes a claim, and then reads it and no other, is the only one. Of two at one moment the later
#         one to write sees both, and so does maybe the other: whoever sees both steps back.
# Problem An engine may run two updates at one moment on one state, so that a condition keeps neither of them out.
# param catalogue: IRI      the catalogue graph
# param publication: IRI    what is about to be written
# param writer: literal     the lineage of the writer
# writes  the catalogue

INSERT DATA { GRAPH {{ catalogue }} { {{ publication }} <urn:kgrag:claim> {{ writer }} } }
