// Package states says what is known about each cluster of an installation: what its operators want of it, what its controller
// reports, and when it was last seen. It imports no other package of this repository.
package states

import "time"

// What operators want of a cluster.
const (
	// Ready takes new work.
	Ready = "ready"
	// Cordoned takes no new work; what runs there continues.
	Cordoned = "cordoned"
	// Draining takes no new work, and what runs there is to end.
	Draining = "draining"
	// Removed is no longer registered; what still runs there is given up.
	Removed = "removed"
)

// Silence is how long a cluster may say nothing before it counts as away. Controllers send a beat every 3 s.
const Silence = 10 * time.Second

// Resources are amounts by the name of the resource in Kubernetes: cpu in thousandths of a core, memory and storage in bytes,
// everything else in units.
type Resources map[string]int64

// State is what is known about a cluster.
type State struct {
	// Name is the id of the cluster.
	Name string
	// State is Ready, Cordoned, Draining or Removed.
	State string
	// By is who set the state, At when, and Note why; empty if no one has.
	By, Note string
	At       time.Time
	// Until is when attempts that are still on a draining cluster are ended; zero for never.
	Until time.Time
	// Weight is its share of new work among clusters that could all run it; 0 means that it gets what names it only.
	Weight int
	// Pools are the cluster pools that it belongs to.
	Pools []string
	// Labels are those that its controller reports and those that operators gave it, which win.
	Labels map[string]string
	// Given are those of Labels that operators gave it.
	Given map[string]string

	// Refused is the version of a controller that was refused within the last minute, and after any that connected, because it does not
	// work with the API; empty for none.
	Refused string

	// The rest is what its controller reports. It is empty if none ever connected.

	// Version is the version of the controller's program.
	Version string
	// Policy is a digest of its policy of pods.
	Policy string
	// PodPolicy is that policy, as podspec.ReportPolicy writes it; empty if the controller did not say.
	PodPolicy string
	// Plugins are the plugins that it runs and whose types the cluster serves.
	Plugins []string
	// TaskTypes are the types that these plugins are made for, or configured for. Types that are one container run everywhere.
	TaskTypes []string
	// Accelerators are the products of the accelerators that its nodes have.
	Accelerators []string
	// Capacity is what its nodes have for pods, Free what no pod has requested. Both are nil if the controller may not read nodes.
	Capacity, Free Resources
	// Largest has for each resource the most that one node has for pods.
	Largest Resources
	// Controllers is how many replicas of its controller were seen within Silence.
	Controllers int
	// ConnectedAt is when the latest link of a controller began; zero if there was none.
	ConnectedAt time.Time
	// SeenAt is when a controller was last heard; zero if none ever connected.
	SeenAt time.Time

	// unheard is until when a beat could not have been recorded, because the database did not answer.
	unheard time.Time
}

// Known reports whether a controller of the cluster ever connected. One that never did may be of a version without links.
func (s State) Known() bool { return !s.SeenAt.IsZero() }

// Away reports whether the cluster was seen before, but not within Silence. Silence begins again when the database answers again after
// an outage, in which no beat could be recorded.
func (s State) Away(now time.Time) bool {
	return s.Known() && now.Sub(s.SeenAt) > Silence && now.Sub(s.unheard) > Silence
}

// Takes reports whether the cluster takes new work: it is ready and not away.
func (s State) Takes(now time.Time) bool { return s.State == Ready && !s.Away(now) }
