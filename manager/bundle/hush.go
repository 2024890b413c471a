package bundle

import (
	"bytes"
	"cmp"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// hush masks the secrets of a configuration in any text. Parts are redacted where they are made; this is for what they quote,
// such as an address in an error or a line of a log.
type hush struct {
	known    []string // longest first: one may begin with another, whose replacement would leave its rest
	patterns []*regexp.Regexp
}

const masked = "(secret)"

func newHush(config configuration.Config) *hush {
	h := &hush{patterns: []*regexp.Regexp{
		regexp.MustCompile(`(://[^\s:/@"]+:)[^\s@"]+(@)`), // the password of an address
		regexp.MustCompile(`(?i)((?:authorization|x-flyte-internal-token|cookie|api-key)["']?[ \t]*[:=][ \t]*["']?(?:bearer |basic )?)[^\s"',}]+()`),
		regexp.MustCompile(`(?i)((?:password|passwd|secret|token|secret_?access_?key|signing_?key)["']?[ \t]*[:=][ \t]*["']?)[^\s"',}]{6,}()`),
	}}
	h.collect(reflect.ValueOf(config), false)
	slices.SortFunc(h.known, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return h
}

// shortest is the length below which a value is not searched for: it would be in other words.
const shortest = 6

// collect finds the secret values: fields tagged sensitive, passwords of addresses, and values in lists of NAME=value.
func (h *hush) collect(value reflect.Value, sensitive bool) {
	switch value.Kind() { //nolint:exhaustive // the others hold no text
	case reflect.Struct:
		for i := range value.NumField() {
			if field := value.Type().Field(i); field.IsExported() {
				h.collect(value.Field(i), sensitive || field.Tag.Get("sensitive") != "")
			}
		}
	case reflect.Slice:
		for i := range value.Len() {
			h.collect(value.Index(i), sensitive)
		}
	case reflect.Map:
		for _, key := range value.MapKeys() {
			h.collect(value.MapIndex(key), sensitive)
		}
	case reflect.String:
		h.note(value.String(), sensitive)
	}
}

func (h *hush) note(text string, sensitive bool) {
	if address, err := url.Parse(text); err == nil && address.Scheme != "" && address.Host != "" {
		password, _ := address.User.Password()
		h.keep(password)
		h.keep(url.QueryEscape(password))
		if sensitive {
			for _, values := range address.Query() {
				for _, one := range values {
					h.keep(one)
				}
			}
			for _, segment := range strings.Split(address.Path, "/") {
				if len(segment) >= 16 { // a token in the path of a webhook, not the name of a database
					h.keep(segment)
				}
			}
		}
		return
	}
	if name, value, pair := strings.Cut(text, "="); pair && secretName.MatchString(name) {
		h.keep(value)
	}
	if sensitive {
		h.keep(text)
	}
}

// secretName matches names of variables that hold secrets.
var secretName = regexp.MustCompile(`(?i)(secret|token|passw|credential|key)`)

func (h *hush) keep(text string) {
	if len(text) >= shortest && !slices.Contains(h.known, text) {
		h.known = append(h.known, text)
	}
}

func (h *hush) text(body []byte) []byte {
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		return body // a compressed profile
	}
	for _, secret := range h.known {
		body = bytes.ReplaceAll(body, []byte(secret), []byte(masked))
	}
	for _, pattern := range h.patterns {
		body = pattern.ReplaceAll(body, []byte("${1}"+masked+"${2}"))
	}
	return body
}
