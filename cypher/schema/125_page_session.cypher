// A session of the page is looked up by the hash of what its browser has.
CREATE CONSTRAINT page_session IF NOT EXISTS FOR (s:PageSession) REQUIRE s.session_hash IS UNIQUE
