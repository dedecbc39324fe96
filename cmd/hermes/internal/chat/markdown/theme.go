package markdown

// Theme says how parts of a text look.
type Theme struct {
	// Heading and the others are parameters of SGR sequences, such as "1;36"; "" is plain.
	Heading, Strong, Emphasis, Strike, Code, Quote, Marker, Link string
	// ASCII uses no other characters for what is not text.
	ASCII bool
}

// Colors is the theme of terminals with colours. It uses only the palette that a person has chosen, so that it can be
// read on light and on dark ground.
func Colors(ascii bool) Theme {
	return Theme{
		Heading: "1;36", Strong: "1", Emphasis: "3", Strike: "9", Code: "36", Quote: "2", Marker: "36", Link: "4;34",
		ASCII: ascii,
	}
}

// Plain is the theme without colours, which marks what is marked in other ways.
func Plain(ascii bool) Theme { return Theme{Heading: "1", Strong: "1", Emphasis: "4", ASCII: ascii} }

func (t Theme) pick(fine, ascii string) string {
	if t.ASCII {
		return ascii
	}
	return fine
}

// style puts a text into SGR sequences.
func style(sgr, text string) string {
	if sgr == "" || text == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[m"
}
