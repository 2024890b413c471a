package authz

import "strings"

// Kinds says which kinds of callers may call a procedure or a route at all. The zero value is none, so that a forgotten one
// denies.
type Kinds uint16

// unidentified marks what takes callers whose identity does not matter.
const unidentified Kinds = 1 << 15

// by is the set of some kinds.
func by(kinds ...Kind) (set Kinds) {
	for _, kind := range kinds {
		set |= 1 << kind
	}
	return set
}

// Who may call, from open to closed. Without authentication everybody is anonymous; with it the authoriser decides what an
// anonymous caller may do.
var (
	// public needs no authentication: sign-in metadata, health, the files of the console.
	public = unidentified | programs | machines
	// signed is for holders of an address: the handler checks a signature or a token in it.
	signed = public
	// people is for people and their programs.
	people = by(Anonymous, User, Key, Service)
	// programs is for the processes of tasks too.
	programs = people | by(Task)
	// machines is for the parts of this installation.
	machines = controllers | by(Worker)
	// controllers is for the controllers of clusters, and services.
	controllers = services | by(Cluster)
	// services is for services: in the same process, or with the internal credential.
	services = by(Service)
	// workers is for workers of pools.
	workers = by(Worker)
)

// Has reports whether a kind may call.
func (k Kinds) Has(kind Kind) bool { return k&(1<<kind) != 0 }

// Open reports whether the identity of callers does not matter. They are not authenticated, and the authoriser is not asked.
func (k Kinds) Open() bool { return k&unidentified != 0 }

// Internal reports whether only services and controllers may call. Their requests are trusted with what they name.
func (k Kinds) Internal() bool { return k != 0 && k&^controllers == 0 }

// String is the set in words, such as "user, key".
func (k Kinds) String() string {
	if k.Open() {
		return "everybody"
	}
	var names []string
	for kind, name := range kindNames {
		if k.Has(Kind(kind)) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
