// There is one ring of keys.
CREATE CONSTRAINT key_ring IF NOT EXISTS FOR (r:KeyRing) REQUIRE r.ring IS UNIQUE
