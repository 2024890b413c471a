package errorgroup

import "bytes"

const (
	// maxMessage bounds how much of a message is read, and maxQuoted the length of a quotation, in bytes.
	maxMessage = 600
	maxQuoted  = 200
	minHex     = 8
	masked     = '#'
)

// mask appends a message in which everything that tends to differ between failures of one cause is replaced by the
// same character: words with digits, as in numbers, addresses, identifiers and generated names; long words of
// hexadecimal digits; quotations. It collapses white space.
func mask(out, message []byte) []byte {
	message = message[:min(len(message), maxMessage)]
	for len(message) > 0 {
		c := message[0]
		switch {
		case wordly(c) || c == '-' && len(message) > 1 && digit(message[1]):
			n := word(message)
			if variable(message[:n]) {
				out = append(out, masked)
			} else {
				out = append(out, message[:n]...)
			}
			message = message[n:]
			continue
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if len(out) > 0 && out[len(out)-1] != ' ' {
				out = append(out, ' ')
			}
		case c == '\'' || c == '"' || c == '`':
			if n := quoted(message); n > 0 {
				out = append(out, c, masked, c)
				message = message[n:]
				continue
			}
			out = append(out, c)
		default:
			out = append(out, c)
		}
		message = message[1:]
	}
	return out
}

func wordly(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

// word is the length of the word that a text begins with. Inside of a word there may be an apostrophe, a hyphen, and
// what stands between digits of numbers, times and addresses.
func word(text []byte) int {
	n := 1
	for ; n < len(text); n++ {
		c := text[n]
		if wordly(c) {
			continue
		}
		if n+1 == len(text) || !wordly(text[n+1]) {
			break
		}
		between := digit(text[n-1]) && digit(text[n+1])
		if c != '-' && c != '\'' && (!between || bytes.IndexByte([]byte(".:,/+"), c) < 0) {
			break
		}
	}
	return n
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// variable reports whether a word is likely to differ in the next failure.
func variable(word []byte) bool {
	hex := len(word) >= minHex
	for _, c := range word {
		if digit(c) {
			return true
		}
		hex = hex && (c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' || c == '-')
	}
	return hex
}

// quoted is the length of a quotation with its quotes; 0 when it is not closed soon and on the same line.
func quoted(text []byte) int {
	for n := 1; n < len(text) && n <= maxQuoted && text[n] != '\n'; n++ {
		if text[n] == text[0] && (n+1 == len(text) || !wordly(text[n+1])) {
			return n + 1
		}
	}
	return 0
}
