// The same quote of the same source for the same concept is one node, however often it is extracted.
CREATE CONSTRAINT instance_id IF NOT EXISTS FOR (i:Instance) REQUIRE i.instance_id IS UNIQUE
