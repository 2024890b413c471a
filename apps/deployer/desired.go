package deployer

import (
	"sync"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// desired is what should run, as the stream said last. During an outage of the apps service it stays in force.
type desired struct {
	mu       sync.Mutex
	apps     map[string]*enginev1.DesiredApp // GUARDED_BY(mu): by label of the uid
	complete bool                            // GUARDED_BY(mu): apps has everything that should run
}

func newDesired() *desired { return &desired{apps: map[string]*enginev1.DesiredApp{}} }

// get returns an app; nil for one of which nothing should be left. Before the first snapshot is complete, unknown apps are
// not known to be unwanted.
func (d *desired) get(uid string) (wanted *enginev1.DesiredApp, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	wanted = d.apps[uid]
	return wanted, wanted != nil || d.complete
}

// set replaces an app. A version that is older than the known one is not taken.
func (d *desired) set(uid string, wanted *enginev1.DesiredApp) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if last := d.apps[uid]; last == nil || last.GetVersion() <= wanted.GetVersion() {
		d.apps[uid] = wanted
	}
}

func (d *desired) remove(uid string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.apps, uid)
}

// finish ends a snapshot: what it did not have should not be there. It returns the apps that should.
func (d *desired) finish(snapshot map[string]bool) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.complete = true
	var left []string
	for uid := range d.apps {
		if snapshot[uid] {
			left = append(left, uid)
		} else {
			delete(d.apps, uid)
		}
	}
	return left
}
