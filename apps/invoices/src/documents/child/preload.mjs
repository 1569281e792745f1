// Loads the heavy libraries before the TypeScript loader is there, which would rewrite their megabytes at every start:
// this takes a second off the start of a child. pdf.js finds its worker part already loaded, and runs it in place.
import "fast-xml-parser";
import "file-type";
import "ibantools";
import "pdfjs-dist/legacy/build/pdf.mjs";
import "pdfjs-dist/legacy/build/pdf.worker.mjs";
import "postal-mime";
