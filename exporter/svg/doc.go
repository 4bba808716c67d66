// Package svg draws a call graph as one self-contained, interactive SVG flame
// graph.
//
// The file has two layers. The static one is ordinary shapes with titles: all
// frames at least a pixel wide, readable where scripts do not run (an image in
// a page, a strict content security policy). The other is the whole graph,
// unpruned, as a compressed payload that the script in the file unpacks to draw
// what is visible at any zoom and to search exactly. Frames too narrow to draw
// are merged into bars that say so, in both layers.
//
// Looks come from presentation attributes, not from CSS, and there is no id, no
// class and no external resource, so several copies can stand inside one HTML
// page. Names are data everywhere: escaped text in the static layer, bytes in
// the payload, text nodes in what the script draws. None ever is inside script.
//
// The bytes are a function of the graph and the options.
package svg
