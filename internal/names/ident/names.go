package ident

import "strings"

// MaxName is the length of the name of a run or an action in characters.
const MaxName = 30

// NameRule, PlaceRule and ProjectRule say in an error what IsName, IsPlace and IsProject accept.
const (
	NameRule    = "has up to 30 letters, digits, dashes and underscores and begins with a letter or digit"
	PlaceRule   = "has up to 63 letters, digits, dashes, underscores and dots and begins with a letter or digit"
	ProjectRule = "has up to 63 lower-case letters, digits and dashes and begins and ends with a letter or digit"
)

// IsName reports whether a text can name a run or an action. Such names are parts of paths and of Kubernetes names.
func IsName(text string) bool { return len(text) <= MaxName && allowed(text, "-_") }

// IsPlace reports whether a text can name a project or a domain.
func IsPlace(text string) bool { return len(text) <= 63 && allowed(text, "-_.") }

// IsProject reports whether a text can be the id of a new project: it becomes part of namespaces, labels and paths. Requests
// about a project that exists are not held to it, but to IsPlace.
func IsProject(text string) bool {
	return IsPlace(text) && !strings.ContainsAny(text, "_.") && text == strings.ToLower(text) && !strings.HasSuffix(text, "-")
}

// SecretNameRule says in an error what IsSecretName accepts.
const SecretNameRule = "has up to 253 letters, digits, dashes and underscores"

// IsSecretName reports whether a text can name a secret. Such names are keys of Kubernetes Secrets and parts of paths.
func IsSecretName(text string) bool { return text != "" && len(text) <= 253 && only(text, "-_") }

// ArtifactRule says in an error what IsArtifact accepts.
const ArtifactRule = "must have 1 to 255 letters, digits, dots, dashes and underscores"

// IsArtifact reports whether a text can name an artifact: the format of the contract. Such names, unlike those of runs, may
// begin with any of their characters.
func IsArtifact(text string) bool { return text != "" && len(text) <= 255 && only(text, "-_.") }

// allowed reports whether a text begins with an ASCII letter or digit and has only these and some other characters.
func allowed(text, others string) bool {
	return text != "" && strings.IndexByte(others, text[0]) < 0 && only(text, others)
}

// only reports whether a text has only ASCII letters and digits and some other ASCII characters.
func only(text, others string) bool {
	for i := range len(text) {
		c := text[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(others, c) >= 0 {
			continue
		}
		return false
	}
	return true
}
