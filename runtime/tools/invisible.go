package tools

import "unicode"

// invisible are characters that a person does not see, or that change the order in which text is shown.
func invisible(r rune) bool {
	switch {
	case r == 0xfeff, r == 0x00ad, r == 0x034f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0:
		return true
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0000 && r <= 0xe0fff:
		return r != 0xfe0f // which only asks for a coloured picture
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}
