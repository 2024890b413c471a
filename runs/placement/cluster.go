package placement

import (
	"slices"
	"strings"
	"unicode"

	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

// Cluster is a cluster, as it reported itself.
type Cluster struct {
	Name string
	// Closed says why the cluster takes no new work, as in "is cordoned"; empty if it does.
	Closed string
	// Away says that it is closed because it has not been heard from. If it is the only cluster, work waits there for its return.
	Away bool
	// Unseen says that its controller never reported. Only queues and rules that name it choose it.
	Unseen bool
	// Weight multiplies the share of the cluster in new work. With 0 it gets only what names it or one of its pools.
	Weight int
	// Pools are the names by which requests choose among clusters.
	Pools  []string
	Labels map[string]string
	// TaskTypes are those that it runs; nil means that it did not say, and that it is taken to run all.
	TaskTypes []string
	// Accelerators are the devices that it has; nil means that it did not say.
	Accelerators []string
	// Capacity is what it has in total, and Free what no pod has asked for. Without a capacity it is taken to hold everything.
	Capacity, Free Amounts
	// Largest is the most that one machine has, by resource; nil means that it did not say.
	Largest Amounts
	// PodPolicy is the policy of its pods, as it reported it; empty means that it did not.
	PodPolicy string
}

func (c *Cluster) weight() float64 { return float64(max(c.Weight, 1)) }

// lacks says what the cluster can never give to a request; empty if it can run it, now or later.
func (c *Cluster) lacks(r *Request) string {
	switch {
	case r.Type != "" && c.TaskTypes != nil && !slices.Contains(c.TaskTypes, r.Type):
		return sentence.Say("tasks of type %s", r.Type)
	case r.Accelerator != "" && c.Accelerators != nil && !slices.ContainsFunc(c.Accelerators, func(one string) bool { return sameModel(one, r.Accelerator) }):
		return sentence.Say("accelerator %s", r.Accelerator)
	}
	return ""
}

// sameModel compares the names of two devices. Clusters and programs write them in several ways: nvidia-tesla-a100, nvidia-a100-80gb and
// NVIDIA-A100-SXM4-80GB have the same model.
func sameModel(a, b string) bool {
	return strings.EqualFold(a, b) || model(a) != "" && model(a) == model(b)
}

// model is the first part of a name that has both letters and digits, and is not an amount of memory.
func model(name string) string {
	for part := range strings.FieldsFuncSeq(strings.ToLower(name), func(c rune) bool { return c == '-' || c == '_' || c == ' ' }) {
		if strings.ContainsAny(part, "0123456789") && strings.ContainsFunc(part, unicode.IsLetter) && !strings.HasSuffix(part, "gb") {
			return part
		}
	}
	return ""
}

// holds reports whether the cluster could run the request if it were empty.
func (c *Cluster) holds(r *Request) bool {
	if len(c.Capacity) == 0 {
		return true
	}
	for name, amount := range r.Resources {
		if amount > c.Capacity[name] {
			return false
		}
	}
	if c.Largest == nil {
		return true
	}
	for name, amount := range r.Pod {
		if amount > c.Largest[name] {
			return false
		}
	}
	return true
}

// Seat is a cluster with what was admitted to it since it reported.
type Seat struct {
	*Cluster
	// Booked is what these actions ask for.
	Booked Amounts
	// Count is how many they are, and Beyond how many of them it had no room for.
	Count, Beyond int
}

// free is what is left of a resource.
func (s *Seat) free(name string) int64 { return sum(s.Free[name], -s.Booked[name]) }

// short is the resource that the cluster has too little of for the request now, devices first; empty if it has room.
func (s *Seat) short(r *Request) string {
	if len(s.Capacity) == 0 {
		return ""
	}
	for _, name := range r.Resources.Names() {
		if r.Resources[name] > s.free(name) {
			return name
		}
	}
	return ""
}

// share is the free part of the resource of which the request leaves least, from 0 to 1. Without a capacity, it falls with the
// number of actions.
func (s *Seat) share(r *Request) (share float64, resource string) {
	if len(s.Capacity) == 0 {
		return 1 / (1 + float64(s.Count)/s.weight()), ""
	}
	asked := r.Resources
	names := asked.Names()
	if len(names) == 0 {
		names = []string{CPU, Memory}
	}
	share = 1
	for _, name := range names {
		if s.Capacity[name] <= 0 {
			continue
		}
		left := float64(s.free(name)) / float64(s.Capacity[name])
		if resource == "" || left < share {
			share, resource = left, name
		}
		if !common(name) {
			break // who asks for devices is placed by them alone
		}
	}
	return share, resource
}
