package worker

// shortage reports whether the kernel has killed processes because memory ran out (OOM kills).
type shortage int

const (
	none     shortage = iota
	ours              // a process of this container
	machines          // one of the machine, or that is not known
)

// kills counts OOM kills; -1 if unknown.
type kills struct{ container, machine int64 }

// since compares with the counts of before. The count of the container decides if there is one. That of the machine
// includes other containers, so it only makes a shortage possible.
func (k kills) since(before kills) shortage {
	switch {
	case k.container > before.container && before.container >= 0:
		return ours
	case k.container < 0 && k.machine < 0, k.container < 0 && k.machine > before.machine:
		return machines
	}
	return none
}
