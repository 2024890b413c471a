package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

const preamble = `# Configuration

<!-- Written by manager/cmd/configdoc from the structs. Do not edit; run ` + "`go generate ./manager/...`" + `. -->

` + "`flyte-binary serve --config FILE`" + ` reads a YAML file with the keys below. An environment variable overrides a
key: ` + "`" + configuration.EnvPrefix + "_SERVER_LISTEN`" + ` sets ` + "`server.listen`" + `. A flag overrides both: ` + "`--set server.listen=127.0.0.1:8090`" + `.
In the environment and in flags, lists are separated by commas; lists of sections and maps are JSON. Durations are written
like ` + "`1m30s`" + ` or ` + "`72h`" + `, sizes in bytes. Keys that do not exist are refused.

` + "```sh" + `
flyte-binary config check --config flyte.yaml     # every problem with its file and line
flyte-binary config show --config flyte.yaml      # the effective values and where each came from; secrets are hidden
flyte-binary config schema > flyte.schema.json    # for editors
` + "```" + `

With the schema, editors complete, explain and check keys. Those that use the YAML language server find it by the first line:

` + "```yaml" + `
# yaml-language-server: $schema=flyte.schema.json
server: {listen: "0.0.0.0:8090"}
access: {issuers: [{name: Example, url: "https://login.example.com", clientID: flyte, clientSecretFile: /etc/flyte/oidc}]}
database: {url: "postgres://flyte@db.example:5432/flyte", passwordFile: /etc/flyte/database-password}
storage: {url: "s3://acme-flyte/prod", s3: {region: us-west-2}}
logging: {format: json}
runs:
  retention: {enabled: true, maxAge: 2160h}
` + "```" + `
`

// render walks the configuration and writes a table for each struct.
func render(config any, root string) (string, error) {
	r := &renderer{comments: newComments(root)}
	r.text.WriteString(preamble)
	if err := r.section("", "", reflect.ValueOf(config)); err != nil {
		return "", err
	}
	return r.text.String(), nil
}

type renderer struct {
	comments *comments
	text     strings.Builder
}

// section writes the plain fields of a struct, then its structs as sections of their own. about is the comment on the
// field that holds the struct.
func (r *renderer) section(path, about string, value reflect.Value) error {
	docs, err := r.comments.of(value.Type())
	if err != nil {
		return err
	}
	var rows []string
	// Sections come after the table of plain keys, so that no heading interrupts the table.
	var below, lists []int
	for i := range value.NumField() {
		field := value.Type().Field(i)
		key := field.Tag.Get("config")
		if key == "" || key == "-" {
			continue
		}
		if isSection(field.Type) {
			below = append(below, i)
			continue
		}
		if isList(field.Type) {
			lists = append(lists, i)
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |",
			join(path, key), kind(field.Type), fallback(value.Field(i)), cell(named(docs.fields[field.Name], field.Name, key))))
	}
	if len(rows) > 0 {
		fmt.Fprintf(&r.text, "\n## %s\n\n%s\n\n| key | type | default | meaning |\n|---|---|---|---|\n%s\n",
			path, about, strings.Join(rows, "\n"))
	}
	for _, i := range lists {
		field := value.Type().Field(i)
		path := join(path, field.Tag.Get("config"))
		if err := r.section(path+"[]", "One item of `"+path+"`.", reflect.New(field.Type.Elem()).Elem()); err != nil {
			return err
		}
	}
	for _, i := range below {
		field := value.Type().Field(i)
		err := r.section(join(path, field.Tag.Get("config")), docs.fields[field.Name], value.Field(i))
		if err != nil {
			return err
		}
	}
	return nil
}

// isSection reports whether a struct is a section of the configuration, not a value such as a time.
func isSection(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && strings.HasPrefix(t.PkgPath(), module)
}

// isList reports whether a field is a list of sections.
func isList(t reflect.Type) bool { return t.Kind() == reflect.Slice && isSection(t.Elem()) }

// named is a comment with the key in place of the field's name that it begins with.
func named(text, field, key string) string {
	rest, found := strings.CutPrefix(text, field)
	if !found || strings.IndexFunc(rest, unicode.IsLetter) == 0 {
		return text
	}
	return "`" + key + "`" + rest
}

func join(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }

// kind is the type of a value as readers write it in YAML.
func kind(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "duration"
	case isList(t):
		return "list of sections"
	case t.Kind() == reflect.Slice:
		return "list of " + kind(t.Elem())
	case t.Kind() == reflect.Map:
		return "map"
	case t.Kind() == reflect.Struct:
		return t.Name()
	case t.Kind() == reflect.Pointer:
		return kind(t.Elem())
	case t.ConvertibleTo(reflect.TypeFor[float64]()) && t.Kind() != reflect.String:
		return "number"
	default:
		return t.Kind().String()
	}
}

// fallback is the default, written as in YAML. A zero is shown only where it says something: false, and 0 for numbers.
func fallback(value reflect.Value) string {
	switch {
	case value.IsZero() && value.Kind() != reflect.Bool && value.Kind() != reflect.Int:
		return ""
	case value.Type() == reflect.TypeFor[time.Duration]():
		return "`" + short(time.Duration(value.Int())) + "`"
	case value.Kind() == reflect.Slice:
		var items []string
		for i := range value.Len() {
			items = append(items, fmt.Sprint(value.Index(i).Interface()))
		}
		return "`[" + strings.Join(items, ", ") + "]`"
	case value.Kind() == reflect.Map:
		var items []string
		for entry := value.MapRange(); entry.Next(); {
			items = append(items, fmt.Sprintf("%v: %v", entry.Key(), entry.Value()))
		}
		slices.Sort(items)
		return "`{" + strings.Join(items, ", ") + "}`"
	default:
		return "`" + fmt.Sprint(value.Interface()) + "`"
	}
}

// short is 1m rather than 1m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// cell escapes a comment for a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
