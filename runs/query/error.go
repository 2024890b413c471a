package query

import "fmt"

// SyntaxError is what is wrong with a query, where, and what to write instead.
type SyntaxError struct {
	// At is the position of the word, from 1, in characters. Word is as typed.
	At   int
	Word string
	// Message is a sentence.
	Message string
	// Nearest is the known word that was probably meant; empty when there is none.
	Nearest string
}

// Error implements error.
func (p *SyntaxError) Error() string {
	text := fmt.Sprintf("at %d, %q: %s", p.At, p.Word, p.Message)
	if p.Nearest != "" {
		text += fmt.Sprintf(" Did you mean %q?", p.Nearest)
	}
	return text
}

func problem(at int, word, format string, args ...any) *SyntaxError {
	return &SyntaxError{At: at, Word: word, Message: fmt.Sprintf(format, args...)}
}
