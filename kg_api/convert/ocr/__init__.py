"""Reading pictures of pages: by tesseract where it is installed, else by rapidocr."""
