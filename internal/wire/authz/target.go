package authz

// target says where the requests of a procedure name what they are about.
type target struct {
	// paths lead to the messages of shapes, through lists too. All that are there count.
	paths []string
	// none is why a request names nothing, for readers of the table.
	none string
	// lists means that the answer can be narrowed to a Scope.
	lists bool
	// large is what makes the messages large, for readers of the table; empty for all that are small.
	large string
}

// self is the path of the request itself.
const self = ""

// on is a target at paths of the request, such as run_id or events.id.
func on(paths ...string) target { return target{paths: paths} }

// nothing is the target of requests that name no resource, with the reason.
func nothing(reason string) target { return target{none: reason} }

// listing marks a procedure whose handler narrows its answer to the Scope of the call.
func listing(t target) target {
	t.lists = true
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
func (r Row) Rule() Rule { return Rule{By: r.by, Action: r.action, Lists: r.on.lists} }

// Large reports whether the messages of the procedure may be large.
func (r Row) Large() bool { return r.on.large != "" }
