"""The page that people use in a browser: the same services as REST, shown."""
