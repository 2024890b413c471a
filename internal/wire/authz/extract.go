package authz

import (
	"fmt"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// fieldPath is a path through the fields of messages, looked up once.
type fieldPath []protoreflect.FieldDescriptor

// reader reads the resources at one path of a request.
type reader struct {
	path                         fieldPath
	kind, permission             string
	org, project, domain, action fieldPath
	name                         []fieldPath // its parts
}

// extractor reads the resources of the requests of one procedure.
type extractor struct {
	readers []reader
	org     fieldPath // of the request itself, for requests that name nothing else
}

// extractors are made when a procedure is called for the first time, and kept: looking fields up by name costs more
// than reading them.
type extractors struct{ known sync.Map } // of procedure to *extractor

// clusterPaths are the paths to the clusters that requests name, made like extractors.
type clusterPaths struct{ known sync.Map } // of procedure to fieldPath

func (c *clusterPaths) of(procedure, fields string, request protoreflect.MessageDescriptor) (fieldPath, error) {
	if found, known := c.known.Load(procedure); known {
		return found.(fieldPath), nil //nolint:forcetypeassert // only paths are stored
	}
	made, err := lookUpText(request, fields)
	if err != nil {
		return nil, fmt.Errorf("the table of authorisation rules does not match %s: %w", procedure, err)
	}
	c.known.Store(procedure, made)
	return made, nil
}

// of reads what a request is about: each resource once, in the order of the table. A request that names nothing that the
// permission of its rule is for is about everything of its organization.
func (e *extractors) of(procedure string, on target, request proto.Message) ([]Resource, error) {
	message := request.ProtoReflect()
	found, known := e.known.Load(procedure)
	if !known {
		made, err := newExtractor(on, message.Descriptor())
		if err != nil {
			return nil, fmt.Errorf("the table of authorisation rules does not match %s: %w", procedure, err)
		}
		found, _ = e.known.LoadOrStore(procedure, made)
	}
	return found.(*extractor).resources(message), nil //nolint:forcetypeassert // only extractors are stored
}

func newExtractor(on target, request protoreflect.MessageDescriptor) (*extractor, error) {
	e := &extractor{}
	for _, field := range []protoreflect.Name{"org", "organization"} {
		if fd := request.Fields().ByName(field); fd != nil && fd.Kind() == protoreflect.StringKind {
			e.org = fieldPath{fd}
		}
	}
	for _, path := range on.paths {
		r, err := newReader(request, path.fields)
		if err != nil {
			return nil, err
		}
		r.permission = path.permission
		e.readers = append(e.readers, r)
	}
	return e, nil
}

func newReader(request protoreflect.MessageDescriptor, path string) (r reader, err error) {
	if r.path, err = lookUp(request, path); err != nil {
		return reader{}, err
	}
	holder := request
	if len(r.path) > 0 {
		holder = r.path[len(r.path)-1].Message()
	}
	if holder == nil {
		return reader{}, fmt.Errorf("%s of %s is not a message", path, request.FullName())
	}
	form, ok := shapes[holder.FullName()]
	if !ok {
		return reader{}, fmt.Errorf("%s at %q of %s has no shape", holder.FullName(), path, request.FullName())
	}
	r.kind = form.kind
	for _, part := range []struct {
		to   *fieldPath
		path string
	}{{&r.org, form.org}, {&r.project, form.project}, {&r.domain, form.domain}, {&r.action, form.action}} {
		if *part.to, err = lookUpText(holder, part.path); err != nil {
			return reader{}, err
		}
	}
	for path := range strings.FieldsSeq(form.name) {
		part, err := lookUpText(holder, path)
		if err != nil {
			return reader{}, err
		}
		r.name = append(r.name, part)
	}
	return r, nil
}

// lookUpText is lookUp for a path that ends at a text.
func lookUpText(message protoreflect.MessageDescriptor, path string) (fieldPath, error) {
	fields, err := lookUp(message, path)
	if n := len(fields); n > 0 && fields[n-1].Kind() != protoreflect.StringKind {
		return nil, fmt.Errorf("%s of %s is not a string", path, message.FullName())
	}
	return fields, err
}

func lookUp(message protoreflect.MessageDescriptor, path string) (fieldPath, error) {
	if path == self {
		return nil, nil
	}
	var fields fieldPath
	for name := range strings.SplitSeq(path, ".") {
		if message == nil {
			return nil, fmt.Errorf("path %q goes through a field that is not a message", path)
		}
		field := message.Fields().ByName(protoreflect.Name(name))
		if field == nil || field.IsMap() {
			return nil, fmt.Errorf("%s has no field %q, which path %q names", message.FullName(), name, path)
		}
		fields, message = append(fields, field), field.Message()
	}
	return fields, nil
}

func (e *extractor) resources(request protoreflect.Message) []Resource {
	var found []Resource
	about := false // whether one of them takes the permission of the rule
	var seen map[Resource]struct{}
	add := func(r Resource) {
		about = about || r.Permission == ""
		if len(found) > 0 && found[len(found)-1] == r {
			return // batches are mostly about one run
		}
		if len(found) == 1 && seen == nil {
			seen = map[Resource]struct{}{found[0]: {}}
		}
		if _, twice := seen[r]; twice {
			return
		}
		if seen != nil {
			seen[r] = struct{}{}
		}
		found = append(found, r)
	}
	for i := range e.readers {
		e.readers[i].walk(request, e.readers[i].path, add)
	}
	if !about {
		found = append(found, Resource{Org: e.org.text(request)})
	}
	return found
}

// walk follows the path to every message that is there.
func (r *reader) walk(message protoreflect.Message, path fieldPath, add func(Resource)) {
	if len(path) == 0 {
		add(Resource{
			Kind: r.kind, Org: r.org.text(message), Project: r.project.text(message), Domain: r.domain.text(message),
			Name: r.nameIn(message), Action: r.action.text(message), Permission: r.permission,
		})
		return
	}
	field := path[0]
	if !message.Has(field) {
		return
	}
	if !field.IsList() {
		r.walk(message.Get(field).Message(), path[1:], add)
		return
	}
	list := message.Get(field).List()
	for i := range list.Len() {
		r.walk(list.Get(i).Message(), path[1:], add)
	}
}

// nameIn is the name in a message, with a space between its parts.
func (r *reader) nameIn(message protoreflect.Message) (name string) {
	for i, part := range r.name {
		if i > 0 {
			name += " "
		}
		name += part.text(message)
	}
	return name
}

// text is the text at the end of the path; empty when something on the way is missing.
func (p fieldPath) text(message protoreflect.Message) string {
	if len(p) == 0 {
		return ""
	}
	for _, field := range p[:len(p)-1] {
		if !message.Has(field) {
			return ""
		}
		message = message.Get(field).Message()
	}
	return message.Get(p[len(p)-1]).String()
}
