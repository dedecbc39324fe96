// Package screen is hermes chat on a terminal: it shows a conversation while it happens and reads what a person says. It
// owns the terminal between Run and its end and gives it back as it was, however it ends.
//
// The conversation itself stays in chat.Loop, which runs as one goroutine of the program and knows nothing of screens: a
// bridge turns what it shows, asks and reads into messages. All state of the screen belongs to the model, and only its
// Update changes it.
//
// There is no alternate screen. What is finished is printed once, above a live region at the bottom, and is the
// terminal's from then on: it scrolls, it can be searched and copied, and it is there after the end. The live region holds
// only what may change: the block that is being written, tools that run, a question, and the input.
//
// Text that is not ours goes through safetext or markdown before it gets here, or on its way in.
// Implements hermes chat of design §9.
package screen
