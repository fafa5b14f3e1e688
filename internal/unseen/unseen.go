// Package unseen tells the characters that a reader would not see, or would
// take for others: control, format, bidi and zero-width characters, blanks that
// are no space, fillers and variation selectors.
package unseen

import "unicode"

// blanks are letters, marks and symbols that show nothing.
var blanks = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034F, Hi: 0x034F, Stride: 1}, // joins marks
		{Lo: 0x115F, Hi: 0x1160, Stride: 1}, // fillers
		{Lo: 0x17B4, Hi: 0x17B5, Stride: 1},
		{Lo: 0x180B, Hi: 0x180F, Stride: 1},
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // a Braille pattern without dots
		{Lo: 0x3164, Hi: 0x3164, Stride: 1},
		{Lo: 0xFE00, Hi: 0xFE0F, Stride: 1}, // variation selectors
		{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0xE0100, Hi: 0xE01EF, Stride: 1}},
}

// Rune reports whether r has to be shown escaped.
func Rune(r rune) bool {
	return r != ' ' && (!unicode.IsGraphic(r) || unicode.In(r, unicode.Zs, blanks))
}
