// Package markdown shows markdown on a terminal: it lays text out in lines of a width and cuts text that still grows
// into blocks that nothing can change any more.
//
// The text is a model's, so every piece of it goes through safetext after references such as &#27; were resolved: the only
// escape sequences in a line are the colours of the Theme, and a line ends with none of them open. Nothing here
// writes to a terminal.
//
// Goldmark parses, but glamour does not render: its highlighter costs every start of this program more than 100 ms and
// 3 MB, the gateway included, which is the same program; it passes control characters on that are written as references;
// and its lines are padded to the width, which makes them useless in scrollback. Links by reference are left as they are
// written, because a definition that comes later would change what is on the screen already.
// Implements hermes chat of design §9.
package markdown
