package authz

// target says where the requests of a procedure name what they are about.
type target struct {
	// paths lead to the messages of shapes, through lists too. All that are there count.
	paths []path
	// none is why a request names nothing, for readers of the table.
	none string
	// lists means that the answer can be narrowed to a Scope.
	lists bool
	// members means that any member may call.
	members bool
	// nameless is why any member may make a request that names nothing, for readers of the table; empty if not.
	nameless string
	// cluster leads to the texts that name the cluster for which a controller acts, which must be its own; empty if none do.
	cluster string
	// kept is how the handler keeps a controller to what is on its cluster, for readers of the table; empty if cluster says enough.
	kept string
	// large is what makes the messages large, for readers of the table; empty for all that are small.
	large string
}

// path leads to the messages that name one kind of resource.
type path struct {
	fields string
	// permission is what callers need on these resources; empty for that of the row.
	permission string
}

// self is the path of the request itself.
const self = ""

// on is a target at paths of the request, such as run_id or events.id.
func on(paths ...string) target {
	var t target
	for _, fields := range paths {
		t.paths = append(t.paths, path{fields: fields})
	}
	return t
}

// also adds a resource on which another permission is needed than on those that the call is about.
func (t target) also(permission, fields string) target {
	t.paths = append(t.paths, path{fields, permission})
	return t
}

// nothing is the target of requests that name no resource, with the reason.
func nothing(reason string) target { return target{none: reason} }

// listing marks a procedure whose handler narrows its answer to the Scope of the call.
func listing(t target) target {
	t.lists = true
	return t
}

// members marks a procedure that any member of the installation may call.
func members(t target) target {
	t.members = true
	return t
}

// orMembers marks a procedure that any member may call with a request that names nothing, with the reason.
func orMembers(reason string, t target) target {
	t.nameless = reason
	return t
}

// ofCluster says where a request names the cluster for which it is made. A controller may name no other than its own, and must name it.
func ofCluster(fields string, t target) target {
	t.cluster = fields
	return t
}

// kept says how a handler keeps a controller to what is on its cluster.
func kept(how string, t target) target {
	t.kept = how
	return t
}

// large marks a procedure whose messages may have as many bytes as rpc.Limits.MessageBytes says, because of what they carry.
func large(carried string, t target) target {
	t.large = carried
	return t
}

// Row is a row of the table of procedures.
type Row struct {
	by     Kinds
	action string
	on     target
}

// Rule is the rule of the procedure.
func (r Row) Rule() Rule {
	return Rule{By: r.by, Action: r.action, Lists: r.on.lists, Members: r.on.members, Nameless: r.on.nameless != ""}
}

// Large reports whether the messages of the procedure may be large.
func (r Row) Large() bool { return r.on.large != "" }
