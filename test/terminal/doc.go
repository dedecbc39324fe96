// Package terminal is a terminal for tests: a pseudo terminal of the kernel whose other end is an emulator, so that a
// program is really raw or not, and what is on the screen is what its escape sequences do and not what they say.
package terminal
