package authz

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// OwnCluster returns a PermissionDenied error if the caller is the controller of a cluster and a message of the procedure names
// another cluster, or none where the table says that it must name its own.
func (d *Decider) OwnCluster(ctx context.Context, name string, row Row, message any) error {
	identity := IdentityFrom(ctx)
	if identity.Kind != Cluster || row.on.cluster == "" {
		return nil
	}
	request, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%s takes a %T, which authorisation cannot read", name, message)
	}
	path, err := d.clusters.of(name, row.on.cluster, request.ProtoReflect().Descriptor())
	if err != nil {
		return err
	}
	return path.each(request.ProtoReflect(), func(named string) error {
		if named != identity.Cluster {
			return Denied("the controller of cluster %q may not act for cluster %q", identity.Cluster, named)
		}
		return nil
	})
}

// each calls do for the texts at the end of the path, through lists too, until it fails.
func (p fieldPath) each(message protoreflect.Message, do func(text string) error) error {
	field, rest := p[0], p[1:]
	if len(rest) == 0 {
		return do(message.Get(field).String())
	}
	if !field.IsList() {
		return rest.each(message.Get(field).Message(), do) // of one that is not set, all texts are empty
	}
	list := message.Get(field).List()
	for i := range list.Len() {
		if err := rest.each(list.Get(i).Message(), do); err != nil {
			return err
		}
	}
	return nil
}

// ClusterOf is the cluster to which the caller of a request is kept; empty for callers that act for no cluster, who see them all.
func ClusterOf(ctx context.Context) string {
	if identity := IdentityFrom(ctx); identity.Kind == Cluster {
		return identity.Cluster
	}
	return ""
}
