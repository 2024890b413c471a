// Package clip shortens texts without cutting a character in two. What it returns is valid UTF-8, which protobuf and
// Postgres require, and has no NUL, which Postgres cannot store: a sender would repeat such a message forever. Other bytes become
// question marks. It imports nothing of this repository.
package clip

import (
	"strings"
	"unicode/utf8"
)

// Gap takes the place of what Middle leaves out.
const Gap = "\n[...]\n"

// Head returns the beginning of a text, at most size bytes of it.
func Head(text string, size int) string {
	if len(text) > size {
		text = text[:Whole(text[:max(size, 0)])]
	}
	return storable(text)
}

// Tail returns the end of a text, at most size bytes of it.
func Tail(text string, size int) string {
	if len(text) > size {
		text = text[len(text)-max(size, 0):]
		for cut := 1; cut < utf8.UTFMax && text != "" && !utf8.RuneStart(text[0]); cut++ {
			text = text[1:]
		}
	}
	return storable(text)
}

// Middle returns a text of at most size bytes. Of a longer one it keeps the beginning and the end, where tracebacks have
// their cause, with Gap between them.
func Middle(text string, size int) string {
	if len(text) <= size {
		return storable(text)
	}
	half := (size - len(Gap)) / 2
	return Head(text, half) + Gap + Tail(text, half)
}

// Ellipsis returns the beginning of a text as Head does. Where something is left out, an ellipsis follows, which is not
// counted.
func Ellipsis(text string, size int) string {
	if len(text) <= size {
		return storable(text)
	}
	return Head(text, size) + "…"
}

// Characters returns the beginning of a text, at most count characters of it.
func Characters(text string, count int) string {
	for i := range text {
		if count--; count < 0 {
			text = text[:i]
			break
		}
	}
	return storable(text)
}

// storable replaces what protobuf cannot encode or Postgres cannot store.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "?")
}

// Whole returns the length of a text without the character at its end whose last bytes are missing. It is that of the
// whole text where none are.
func Whole[T string | []byte](text T) int {
	for i := len(text) - 1; i >= 0 && i > len(text)-utf8.UTFMax; i-- {
		if !utf8.RuneStart(text[i]) {
			continue
		}
		if !utf8.FullRuneInString(string(text[i:])) {
			return i
		}
		break
	}
	return len(text)
}
