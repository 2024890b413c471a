package podenv

import "strings"

// Expand replaces $(NAME) by its value. $$(NAME) represents the text $(NAME), and a name without a value stays as it is
// written: this is what the Pod API promises.
func Expand(text string, value func(name string) (string, bool)) string {
	if !strings.Contains(text, "$") {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		switch text[i+1] {
		case '$':
			out.WriteByte('$')
			i++
		case '(':
			name, _, closed := strings.Cut(text[i+2:], ")")
			if !closed {
				out.WriteString("$(")
				i++
				continue
			}
			if v, ok := value(name); ok {
				out.WriteString(v)
			} else {
				out.WriteString("$(" + name + ")")
			}
			i += len("$()") + len(name) - 1
		default:
			out.WriteByte('$')
		}
	}
	return out.String()
}
