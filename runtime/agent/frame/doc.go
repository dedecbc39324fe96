// Package frame keeps text that is not the user's from posing as a control frame: the marked texts by which the runtime
// tells the model what something is (a steering message, a summary, a message of another session).
//
// It owns the list of openers and the one function that relabels them. It must never change the words of a text, only
// the shape in front of them, and it must not decide whose text something is.
//
// Implements the peer messaging specification, P-26 to P-28.
package frame
