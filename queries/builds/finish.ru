# Record that the build of a method came to its end
#
# param catalogue: IRI     the catalogue graph
# param build: IRI         the building of the method
# param ended: literal     now
# writes  the catalogue

PREFIX kg: <https://w3id.org/kgrag/ns#>
PREFIX prov: <http://www.w3.org/ns/prov#>

DELETE {
  GRAPH {{ catalogue }} {
    {{ build }} kg:unfinishedSince ?begun ;
                prov:startedAtTime ?started_before ;
                prov:endedAtTime ?ended_before .
  }
}
INSERT {
  GRAPH {{ catalogue }} {
    {{ build }} prov:startedAtTime ?begun ;
                prov:endedAtTime {{ ended }} .
  }
}
WHERE {
  GRAPH {{ catalogue }} {
    {{ build }} kg:unfinishedSince ?begun .
    OPTIONAL { {{ build }} prov:startedAtTime ?started_before }
    OPTIONAL { {{ build }} prov:endedAtTime ?ended_before }
  }
}
