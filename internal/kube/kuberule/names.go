package kuberule

import (
	"regexp"
	"strings"
)

// The rules in words, for errors.
const (
	VariableRule = "has visible ASCII characters and spaces, and no ="
	KeyRule      = "is an optional domain name and a slash, then up to 63 letters, digits, dashes, underscores and dots, with a letter or digit at both ends"
	ValueRule    = "has up to 63 letters, digits, dashes, underscores and dots, with a letter or digit at both ends"
	LabelRule    = "has up to 63 lower-case letters, digits and dashes, with a letter or digit at both ends"
	NameRule     = "has up to 253 lower-case letters, digits, dashes and dots, with a letter or digit at both ends of each part"
	PortRule     = "has up to 15 lower-case letters, digits and single dashes, with a letter or digit at both ends and at least one letter"
)

const (
	maxName = 253 // a DNS subdomain: validation.DNS1123SubdomainMaxLength
	maxPort = 15  // validation.IsValidPortName
)

var (
	labelLike = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	dnsLabel  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	portName  = regexp.MustCompile(`^[-a-z0-9]*[a-z][-a-z0-9]*$`)
)

// IsVariable reports whether a pod can have an environment variable of this name: validation.IsRelaxedEnvVarName, the rule of
// Kubernetes 1.34 and later.
func IsVariable(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool { return r < ' ' || r > '~' || r == '=' }) < 0
}

// IsKey reports whether a label or an annotation can have this key: validation.IsQualifiedName.
func IsKey(key string) bool {
	domain, name, found := strings.Cut(key, "/")
	if !found {
		return labelLike.MatchString(key)
	}
	return IsName(domain) && labelLike.MatchString(name)
}

// IsValue reports whether a label can have this value: validation.IsValidLabelValue.
func IsValue(value string) bool { return value == "" || labelLike.MatchString(value) }

// IsLabel reports whether a container or a volume can have this name: validation.IsDNS1123Label.
func IsLabel(name string) bool { return dnsLabel.MatchString(name) }

// IsName reports whether most objects can have this name: validation.IsDNS1123Subdomain.
func IsName(name string) bool { return len(name) <= maxName && subdomain.MatchString(name) }

// IsPort reports whether a port of a container can have this name: validation.IsValidPortName.
func IsPort(name string) bool {
	return len(name) <= maxPort && portName.MatchString(name) &&
		!strings.Contains(name, "--") && !strings.HasPrefix(name, "-") && !strings.HasSuffix(name, "-")
}
