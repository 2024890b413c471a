package podvolume

import "strings"

// Rewrite replaces a path by another one in text.
type Rewrite struct {
	From, To string
}

// Apply replaces the path where it stands alone or begins a longer path, and leaves /data2 and /x/data alone when the
// path is /data.
func (r Rewrite) Apply(text string) string {
	var out strings.Builder
	for {
		at := strings.Index(text, r.From)
		if at < 0 {
			out.WriteString(text)
			return out.String()
		}
		end := at + len(r.From)
		before := at > 0 && partOfPath(text[at-1], true)
		if at == 0 && out.Len() > 0 {
			before = partOfPath(r.From[len(r.From)-1], true)
		}
		after := end < len(text) && partOfPath(text[end], false)
		if before || after {
			out.WriteString(text[:end])
		} else {
			out.WriteString(text[:at] + r.To)
		}
		text = text[end:]
	}
}

// partOfPath reports whether a character next to a path makes it another path.
func partOfPath(c byte, before bool) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-', c == '.':
		return true
	}
	return before && c == '/'
}
