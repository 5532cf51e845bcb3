# Record what the last build of a method could not do
#
# param catalogue: IRI        the catalogue graph
# param build: IRI            the building of the method
# param name: literal         the method
# param lines: literal list   a line for each part, with the reason
# writes  the catalogue

PREFIX kg: <https://w3id.org/kgrag/ns#>

DELETE {
  GRAPH {{ catalogue }} { {{ build }} kg:undone ?before }
}
INSERT {
  GRAPH {{ catalogue }} {
    {{ build }} a kg:Build ;
                kg:method {{ name }} .
    {% for line in lines %}
    {{ build }} kg:undone {{ line }} .
    {% endfor %}
  }
}
WHERE {
  OPTIONAL { GRAPH {{ catalogue }} { {{ build }} kg:undone ?before } }
}
