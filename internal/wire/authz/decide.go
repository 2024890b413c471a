package authz

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"
)

// Decider asks an authoriser about calls, by the table of procedures and the messages of the call.
type Decider struct {
	Authoriser Authoriser
	extract    extractors
	clusters   clusterPaths
}

// About is what a message of a procedure is about.
func (d *Decider) About(name string, row Row, message any) ([]Resource, error) {
	request, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%s takes a %T, which authorisation cannot read", name, message)
	}
	return d.extract.of(name, row.on, request)
}

// All asks about every resource and returns what the lists of the call may show.
func (d *Decider) All(ctx context.Context, rule Rule, resources []Resource) (Scope, error) {
	all := Everything()
	for _, resource := range resources {
		scope, err := d.One(ctx, rule, resource)
		if err != nil {
			return Scope{}, err
		}
		all = all.And(scope)
	}
	return all, nil
}

// One asks about one resource. A resource with a permission of its own does not narrow the lists of the call.
func (d *Decider) One(ctx context.Context, rule Rule, resource Resource) (Scope, error) {
	rule = rule.on(resource)
	scope, err := d.Authoriser.Authorise(ctx, IdentityFrom(ctx), rule, resource)
	if err != nil {
		return Scope{}, err
	}
	if !rule.Lists && !rule.Members && !scope.All && (resource.Project == "" || !scope.Allows(resource.Project, resource.Domain)) {
		return Scope{}, Denied("%s is not allowed on %s", rule.Action, resource)
	}
	if resource.Permission != "" {
		return Everything(), nil
	}
	return scope, nil
}
