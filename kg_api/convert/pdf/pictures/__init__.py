"""Pages without text: drawn as pictures, read by OCR, and put where PDFium's text would have been."""
