// Package sentence makes sentences for people that clients can say in other languages: in English, and in parts.
//
// Formats are literals, because a test collects them for the catalogue of the console.
package sentence

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
)

// Sentence is one sentence.
type Sentence struct {
	english string
	parts   *insightv1.Sentence
}

// String is the sentence in English.
func (s Sentence) String() string { return s.english }

// Parts is the sentence in parts.
func (s Sentence) Parts() *insightv1.Sentence { return s.parts }

// New makes a sentence with the verbs of package fmt.
func New(format string, args ...any) Sentence {
	text, values := Split(format, args)
	return Sentence{fmt.Sprintf(format, args...), &insightv1.Sentence{Text: text, Values: values}}
}

// Free is a text that has no translation, such as what a cluster or a task says.
func Free(text string) Sentence { return New("%s", text) }

// IsFree reports whether a sentence is only a placeholder.
func IsFree(parts *insightv1.Sentence) bool { return parts.GetText() == "{1}" }

// Count makes a sentence about n things, which is {n} in the format of many.
func Count(n int, one, many string, args ...any) Sentence {
	format := many
	if n == 1 {
		format = one
	}
	text, values := Split(many, args)
	number := int64(n)
	english := strings.ReplaceAll(fmt.Sprintf(format, args...), "{n}", strconv.Itoa(n))
	return Sentence{english, &insightv1.Sentence{Text: text, Values: values, N: &number}}
}

// English joins sentences to one line.
func English(all ...Sentence) string {
	words := make([]string, len(all))
	for i, one := range all {
		words[i] = one.english
	}
	return strings.Join(words, "; ")
}

// Parts are sentences in parts.
func Parts(all ...Sentence) []*insightv1.Sentence {
	parts := make([]*insightv1.Sentence, len(all))
	for i, one := range all {
		parts[i] = one.parts
	}
	return parts
}

// Split turns the verbs of a format into numbered placeholders, and formats each argument with its own verb.
func Split(format string, args []any) (text string, values []string) {
	values = make([]string, len(args))
	var out strings.Builder
	next := 0
	for at := 0; at < len(format); {
		if format[at] != '%' {
			_, size := utf8.DecodeRuneInString(format[at:])
			out.WriteString(format[at : at+size])
			at += size
			continue
		}
		end := at + 1
		for end < len(format) && strings.IndexByte("+-# 0123456789.[]", format[end]) >= 0 {
			end++
		}
		if end == len(format) {
			break
		}
		verb := format[at : end+1]
		at = end + 1
		if verb == "%%" {
			out.WriteByte('%')
			continue
		}
		if open, until := strings.IndexByte(verb, '['), strings.IndexByte(verb, ']'); open >= 0 && until > open {
			if n, err := strconv.Atoi(verb[open+1 : until]); err == nil {
				next = n - 1
			}
			verb = verb[:open] + verb[until+1:]
		}
		fmt.Fprintf(&out, "{%d}", next+1)
		if next < len(args) {
			values[next] = fmt.Sprintf(verb, args[next])
		}
		next++
	}
	return out.String(), values
}

// Say is a sentence in English for a message of the contract, which has no room for its parts: the console knows it by its words.
func Say(format string, args ...any) string { return fmt.Sprintf(format, args...) }
