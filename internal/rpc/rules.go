package rpc

import "strings"

// RuleOf is the rule of a procedure such as /flyteidl2.workflow.RunService/CreateRun, and whether there is one.
func RuleOf(procedure string) (Rule, bool) {
	service, method, ok := strings.Cut(strings.TrimPrefix(procedure, "/"), "/")
	if !ok {
		return Rule{}, false
	}
	rule, ok := rules[service][method]
	return rule, ok
}
