package query

import (
	"strings"
	"unicode"
)

// char is a character of a word, and whether it was within quotes.
type char struct {
	r      rune
	quoted bool
}

// word is a word of a query, or a parenthesis, or the minus before either.
type word struct {
	at    int    // from 1
	raw   string // as typed
	chars []char
	mark  rune // '(', ')' or '-'; 0 for a word
}

// text is a part of a word without its quotes.
func text(chars []char) string {
	var b strings.Builder
	for _, c := range chars {
		b.WriteRune(c.r)
	}
	return b.String()
}

// is reports whether a word is one of the three that join others.
func (w *word) is(joint string) bool {
	return w.mark == 0 && strings.EqualFold(w.raw, joint)
}

// scan cuts a query into words. Quotes keep spaces and parentheses in a word; within them, a backslash comes before a quote
// or a backslash that is meant itself.
func scan(query string) ([]word, error) {
	runes := []rune(query)
	var words []word
	for i := 0; i < len(runes); {
		switch r := runes[i]; {
		case unicode.IsSpace(r):
			i++
		case r == '(' || r == ')' || r == '-' && i+1 < len(runes) && !unicode.IsSpace(runes[i+1]):
			words = append(words, word{at: i + 1, raw: string(r), mark: r})
			i++
		default:
			w := word{at: i + 1}
			next, closed := w.read(runes, i)
			if !closed {
				return nil, problem(w.at, w.raw, "A quotation mark is missing.")
			}
			words = append(words, w)
			i = next
		}
	}
	return words, nil
}

// read reads a word from position i, and returns the position after it and whether its quotes are closed.
func (w *word) read(runes []rune, i int) (next int, closed bool) {
	start, quoted := i, false
	for ; i < len(runes); i++ {
		r := runes[i]
		switch {
		case r == '"':
			quoted = !quoted
			continue
		case quoted && r == '\\' && i+1 < len(runes) && (runes[i+1] == '"' || runes[i+1] == '\\'):
			i++
			r = runes[i]
		case !quoted && (unicode.IsSpace(r) || r == '(' || r == ')'):
			w.raw = string(runes[start:i])
			return i, true
		}
		w.chars = append(w.chars, char{r: r, quoted: quoted})
	}
	w.raw = string(runes[start:i])
	return i, !quoted
}
