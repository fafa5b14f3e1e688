package rawjson

import "bytes"

// Deeper reports whether a document is nested deeper than most levels. It scans
// without a parser, so that depth costs no stack, and takes what is no JSON too;
// documents with few brackets are not looked at further.
func Deeper(doc []byte, most int) bool {
	if bytes.Count(doc, []byte("["))+bytes.Count(doc, []byte("{")) <= most {
		return false
	}
	depth, inString := 0, false
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > most {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
