package rpc

import (
	"strings"

	"google.golang.org/protobuf/proto"
)

// RuleOf is the rule of a procedure such as /flyteidl2.workflow.RunService/CreateRun, and whether there is one.
func RuleOf(name string) (Rule, bool) {
	row, ok := procedureOf(name)
	return row.rule(), ok
}

func procedureOf(name string) (procedure, bool) {
	service, method, ok := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	if !ok {
		return procedure{}, false
	}
	row, ok := procedures[service][method]
	return row, ok
}

// ResourcesOf is what a request of a procedure is about, each resource once. It fails for a procedure without a rule,
// and when the table names fields that the request does not have.
func ResourcesOf(name string, request proto.Message) ([]Resource, error) {
	row, ok := procedureOf(name)
	if !ok {
		return nil, PermissionDenied("no rule allows %s", name)
	}
	return new(extractors).of(name, row.on, request)
}
