package devices

import (
	"cmp"
	"slices"
	"sync"
)

// Wish is what a pod wants of the devices of a maker.
type Wish struct {
	Maker Maker
	Count int
	// Accelerator is the name of the model; empty for any.
	Accelerator string
	// Partition is the size of parts; empty for any.
	Partition string
	// Whole means that parts will not do.
	Whole bool
}

// fits reports whether a device is one of those that a pod wants.
func (w Wish) fits(d Device) bool {
	return d.Maker == w.Maker && (w.Accelerator == "" || d.Is(w.Accelerator)) &&
		(w.Partition == "" || d.Partition == w.Partition) && (!w.Whole || d.Partition == "")
}

// Table says which pod has which device. It gives no device to two pods. Pods are keys of the caller.
type Table struct {
	all []Device

	mu   sync.Mutex
	held map[string]holder // GUARDED_BY(mu): by ID
}

type holder struct{ pod, name string }

// NewTable returns a table of devices, none of which is held.
func NewTable(all []Device) *Table { return &Table{all: slices.Clone(all), held: map[string]holder{}} }

// All are the devices of the machine.
func (t *Table) All() []Device { return t.all }

// Has reports whether the machine has devices of a maker.
func (t *Table) Has(maker Maker) bool {
	return slices.ContainsFunc(t.all, func(d Device) bool { return d.Maker == maker })
}

// Makers are those of whose devices the machine has any.
func (t *Table) Makers() []Maker {
	return slices.DeleteFunc(Makers(), func(m Maker) bool { return !t.Has(m) })
}

// Used reports whether any pod has a device.
func (t *Table) Used() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.held) > 0
}

// Fitting are the devices that could satisfy a wish if no one held any, whole ones first.
func (t *Table) Fitting(w Wish) []Device {
	fitting := slices.DeleteFunc(slices.Clone(t.all), func(d Device) bool { return !w.fits(d) })
	slices.SortStableFunc(fitting, func(a, b Device) int { return cmp.Compare(min(len(a.Partition), 1), min(len(b.Partition), 1)) })
	return fitting
}

// Free is how many devices a wish could get now.
func (t *Table) Free(w Wish) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.free(w))
}

// free is called with the lock held.
func (t *Table) free(w Wish) []Device {
	return slices.DeleteFunc(t.Fitting(w), func(d Device) bool { return t.held[d.ID].pod != "" })
}

// Take gives devices to a pod, and returns false without a change if not enough are free. What the pod has counts: asking again
// changes nothing. name says in words who holds them.
func (t *Table) Take(pod, name string, wishes ...Wish) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	var taken []Device
	for _, w := range wishes {
		missing := w.Count - len(t.of(pod, w.Maker))
		if missing <= 0 {
			continue
		}
		free := t.free(w)
		if len(free) < missing {
			return false
		}
		taken = append(taken, free[:missing]...)
	}
	for _, d := range taken {
		t.held[d.ID] = holder{pod, name}
	}
	return true
}

// Restore notes the devices that a pod got from an earlier process. Those that are gone, or that another pod has, are left out.
func (t *Table) Restore(pod, name string, ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range t.all {
		if slices.Contains(ids, d.ID) && t.held[d.ID].pod == "" {
			t.held[d.ID] = holder{pod, name}
		}
	}
}

// Of are the devices of a maker that a pod has, in the order of the machine.
func (t *Table) Of(pod string, maker Maker) []Device {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of(pod, maker)
}

func (t *Table) of(pod string, maker Maker) (found []Device) {
	for _, d := range t.all {
		if d.Maker == maker && t.held[d.ID].pod == pod {
			found = append(found, d)
		}
	}
	return found
}

// Release frees the devices of a pod, and reports whether it had any.
func (t *Table) Release(pod string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := len(t.held)
	for id, one := range t.held {
		if one.pod == pod {
			delete(t.held, id)
		}
	}
	return len(t.held) < before
}

// Holder says in words who holds a device; empty if no one does.
func (t *Table) Holder(id string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held[id].name
}
