package node

import "strings"

// environmentFor is the directory that replaces an image, empty for none.
func (c Config) environmentFor(image string) string {
	best := Image{Environment: c.Environment}
	for _, candidate := range c.Images {
		if len(candidate.Pattern) > len(best.Pattern) && matches(candidate.Pattern, image) {
			best = candidate
		}
	}
	return best.Environment
}

// matches compares the whole text with a pattern in which * matches any text.
func matches(pattern, text string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	for {
		middle, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, middle)
		}
		at := strings.Index(text, middle)
		if at < 0 {
			return false
		}
		text, rest = text[at+len(middle):], after
	}
}
