package authz

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
)

// RuleOf is the rule of a procedure such as /flyteidl2.workflow.RunService/CreateRun, and whether there is one.
func RuleOf(name string) (Rule, bool) {
	row, ok := RowOf(name)
	return row.Rule(), ok
}

// RowOf is the row of a procedure, and whether there is one.
func RowOf(name string) (Row, bool) {
	service, method, ok := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	if !ok {
		return Row{}, false
	}
	row, ok := procedures[service][method]
	return row, ok
}

// ResourcesOf is what a request of a procedure is about, each resource once. It fails for a procedure without a rule,
// and when the table names fields that the request does not have.
func ResourcesOf(name string, request proto.Message) ([]Resource, error) {
	row, ok := RowOf(name)
	if !ok {
		return nil, Denied("no rule allows %s", name)
	}
	return new(extractors).of(name, row.on, request)
}

// Permissions are all that the tables of procedures and routes name, except those that only parts of the installation take and
// those of what is open, in alphabetical order. Each is a noun and a verb, such as run.view.
func Permissions() []string {
	known := map[string]bool{}
	add := func(rule Rule) {
		if rule.Asks(User) {
			known[rule.Action] = true
		}
	}
	for _, service := range procedures {
		for _, row := range service {
			add(row.Rule())
			for _, path := range row.on.paths {
				if path.permission != "" {
					add(Rule{By: row.by, Action: path.permission})
				}
			}
		}
	}
	for _, rule := range routes {
		add(rule)
	}
	return slices.Sorted(maps.Keys(known))
}

// HasService reports whether the table has rules for a service.
func HasService(service string) bool { return procedures[service] != nil }
