package configuration

import (
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// hidden represents a secret that is set.
const hidden = "(secret)"

// Redacted is the configuration as it may be logged or printed: a tree by key, with fields tagged sensitive
// masked, and the password of every URL.
func Redacted(config any) map[string]any {
	out := map[string]any{}
	value := reflect.ValueOf(config)
	for i := range value.NumField() {
		field := value.Type().Field(i)
		name := field.Tag.Get("config")
		if name == "" || !field.IsExported() {
			continue
		}
		switch field.Tag.Get("sensitive") {
		case "whole":
			out[name] = "" // a URL whose path is a secret too
			if value.Field(i).Kind() == reflect.Slice {
				out[name] = slices.Repeat([]string{hidden}, value.Field(i).Len())
			} else if !value.Field(i).IsZero() {
				out[name] = hidden
			}
		case "true":
			out[name] = RedactedValue(value.Field(i), true)
		default:
			out[name] = RedactedValue(value.Field(i), false)
		}
	}
	return out
}

// RedactedValue is one value as it may be shown. A sensitive one is hidden; of a URL, only the password and the query are. The
// fields of other structs are judged one by one.
func RedactedValue(value reflect.Value, sensitive bool) any {
	if sensitive {
		if value.IsZero() {
			return ""
		}
		if text, ok := WithoutPassword(value.String()); ok {
			return text
		}
		return hidden
	}
	if duration, ok := value.Interface().(time.Duration); ok {
		return duration.String()
	}
	if list, ok := value.Interface().([]string); ok {
		return redactedList(list)
	}
	if value.Kind() == reflect.Struct {
		return Redacted(value.Interface())
	}
	if value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Struct {
		list := make([]map[string]any, value.Len())
		for i := range list {
			list[i] = Redacted(value.Index(i).Interface())
		}
		return list
	}
	return value.Interface()
}

// WithoutPassword is a URL without its password and its query, which may hold one too.
func WithoutPassword(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" && u.Path == "" {
		return "", false
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), "xxxxx")
	}
	u.RawQuery = ""
	return u.String(), true
}

// secretName matches the names of variables that hold secrets.
var secretName = regexp.MustCompile(`(?i)^[a-z0-9_.-]*(secret|token|passw|credential|key)[a-z0-9_.-]*=.`)

// redactedList masks values in a list of NAME=value where the name is that of a secret.
func redactedList(list []string) []string {
	out := slices.Clone(list)
	for i, item := range out {
		if secretName.MatchString(item) {
			name, _, _ := strings.Cut(item, "=")
			out[i] = name + "=" + hidden
		}
	}
	return out
}
