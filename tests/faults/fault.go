package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/faults/sink"
)

// fault is one thing that breaks during a storm.
type fault struct {
	kind   string
	at     time.Duration // after the start of the storm
	length time.Duration // until it heals
	point  string        // for kindPoint and kindJobPoint: where the server dies
	turn   int           // at its nth passage
	number int           // how many, how much
}

func (f fault) String() string {
	text := fmt.Sprintf("%s%s at %s", f.kind, f.whose(), f.at)
	if f.point != "" {
		return fmt.Sprintf("%s %s (passage %d)", text, f.point, f.turn)
	}
	if f.length > 0 {
		text += fmt.Sprintf(" for %s", f.length)
	}
	return text
}

// The kinds of faults.
const (
	kindKill          = "server-kill"
	kindStop          = "server-stopped"
	kindReplicaKill   = "replica-kill"
	kindReplicaStop   = "replica-stopped"
	kindFreeze        = "server-frozen"
	kindReplicaFreeze = "replica-frozen"
	kindPoint         = "server-dies-at"
	kindPostgresFast  = "postgres-fast-restart"
	kindPostgresCrash = "postgres-crash"
	kindPostgresCut   = "postgres-connections-cut"
	kindPostgresHang  = "postgres-connections-frozen"
	kindPostgresStop  = "postgres-stopped"
	kindAPIKill       = "apiserver-kill"
	kindAPIStop       = "apiserver-stopped"
	kindEtcd          = "etcd-kill"
	kindCompact       = "etcd-compacted"
	kindAPISlow       = "apiserver-slow"
	kindThrottle      = "apiserver-429"
	kindConflict      = "apiserver-409"
	kindHalfOpen      = "streams-half-open"
	kindCut           = "streams-cut"
	kindSlow          = "streams-slow"
	kindHang          = "streams-hang"
	kindDisk          = "store-full"
	kindClock         = "clock-step"
	kindReplay        = "events-replayed"
	kindPods          = "pods-deleted"
	kindTaskActions   = "taskactions-deleted"
	kindNode          = "node-kill"
	kindSinksSlow     = "sinks-slow"
	kindSinksRefuse   = "sinks-refuse"
	kindSinksCut      = "sinks-cut"
	kindSinksForget   = "sinks-answers-lost"
	kindSinksStammer  = "sinks-answer-twice"
	kindVault         = "vault-sealed"
	kindWorkers       = "workers-killed"
	kindWorkersFreeze = "workers-frozen"
	kindOperators     = "operators-away"
	kindObjects       = "objects-deleted"
	kindKubelet       = "kubelet-hangs"
	kindJobPoint      = "server-dies-with-job"
	kindConnectorAway = "connector-away"
	kindConnectorHang = "connector-connections-frozen"
	kindConnectorOdd  = "connector-confused"
	kindConnectorLost = "connector-answers-lost"
	kindJobsLost      = "jobs-lost"
)

// sinkModes is how the receivers of notifications and events behave in each kind of fault.
var sinkModes = map[string]sink.Mode{
	kindSinksSlow: sink.Slow, kindSinksRefuse: sink.Refusing, kindSinksCut: sink.Cutting, kindSinksForget: sink.Forgetful,
	kindSinksStammer: sink.Stammer,
}

func allKinds() []string {
	return []string{
		kindKill, kindStop, kindReplicaKill, kindReplicaStop, kindEtcd, kindPoint, kindPoint, kindPoint, kindPoint, kindPoint, kindPostgresFast, kindPostgresCrash, kindPostgresCut, kindPostgresHang,
		kindPostgresStop, kindAPIKill, kindAPIStop, kindAPISlow, kindCompact, kindThrottle, kindConflict, kindHalfOpen, kindCut, kindSlow, kindDisk, kindClock, kindClock, kindReplay,
		kindPods, kindTaskActions, kindNode, kindSinksSlow, kindSinksRefuse, kindSinksCut, kindSinksForget, kindSinksStammer, kindVault, kindVault,
		kindFreeze, kindReplicaFreeze, kindHang,
	}
}

// poolKinds are those of a storm over reusable environments: half of its faults strike workers, or what starts them
// and gives them work.
func poolKinds() []string {
	kinds := allKinds()
	for range len(kinds) / 5 {
		kinds = append(kinds, kindWorkers, kindWorkersFreeze, kindPods, kindKill, kindHang)
	}
	return kinds
}

// mixedKinds are those of a storm over all plugins: most of its faults strike what attempts of several pods, or jobs of a connector,
// depend on.
func mixedKinds() []string {
	kinds := allKinds()
	for range len(kinds) / 8 {
		kinds = append(kinds, kindOperators, kindObjects, kindPods, kindKill, kindAPIKill, kindEtcd, kindPostgresCrash, kindNode)
	}
	for range 2 {
		kinds = append(kinds, kindKubelet, kindJobPoint, kindJobPoint, kindConnectorAway, kindConnectorHang, kindConnectorOdd, kindConnectorLost, kindJobsLost)
	}
	return append(kinds, kindWorkers, kindWorkersFreeze)
}

// points are the places in the code where the server may die.
func points() []string { return append(busyPoints(), rarePoints()...) }

// busyPoints are passed many times in every storm.
func busyPoints() []string {
	return []string{
		"create-run.after-inputs", "writer.before-commit", "writer.after-commit", "taskactions.before-create", "taskactions.after-create",
		"taskactions.before-delete", "taskactions.after-delete", "attempt.after-create", "reconciler.after-report", "reconciler.before-status", "reconciler.after-status",
		"seal.before-write", "seal.after-write", "record.after-publish", "events.after-publish",
		"audit.before-chain", "audit.after-chain",
	}
}

// rarePoints are passed a few times.
func rarePoints() []string {
	return []string{
		"trigger.after-take", "trigger.before-run", "trigger.after-run", "trigger.backfill",
		"trigger.before-versions", "trigger.after-versions",
		"notifications.after-expand", "notifications.after-send",
		"artifacts.after-register", "artifacts.before-uses",
		"change.before-record", "change.before-commit", "change.after-commit", "audit.after-begin", "audit.before-end",
	}
}

// jobPoints are passed with each job of a connector.
func jobPoints() []string {
	return []string{
		"connectors.before-intent", "connectors.after-intent", "connectors.after-create", "connectors.after-meta", "connectors.after-phase",
		"connectors.after-outputs", "connectors.after-end", "connectors.after-delete",
	}
}

// newFaults picks three to six faults of the given kinds.
func newFaults(r *rand.Rand, kinds []string) []fault {
	var faults []fault
	for range 3 + r.IntN(4) {
		f := fault{
			kind: kinds[r.IntN(len(kinds))], at: time.Duration(100+r.IntN(3000)) * time.Millisecond,
			length: time.Duration(200+r.IntN(2000)) * time.Millisecond, number: 1 + r.IntN(5),
		}
		switch f.kind {
		case kindPoint:
			f.point, f.turn = points()[r.IntN(len(points()))], 1+r.IntN(8)
			f.at = time.Duration(r.IntN(2000)) * time.Millisecond
			if slices.Contains(rarePoints(), f.point) {
				f.turn = 1
			}
		case kindJobPoint:
			f.point, f.turn = jobPoints()[r.IntN(len(jobPoints()))], 1+r.IntN(3)
			f.at = time.Duration(r.IntN(2000)) * time.Millisecond
		case kindClock:
			f.number = []int{-15, 15, 60, 120, 5 * 3600}[r.IntN(5)] // seconds
		case kindWorkersFreeze: // some longer than their lease
			f.length *= 2
		case kindHang: // long enough for every stream to have something to send, since they have a heartbeat each second
			f.length += time.Second
		case kindAPIStop:
			f.length += 2 * time.Second
		case kindAPISlow: // long enough for many calls to run into their deadlines
			f.length += 12 * time.Second
		case kindFreeze, kindReplicaFreeze: // longer than every lease, and than the database waits for an open transaction
			f.length += 12 * time.Second
		}
		faults = append(faults, f)
	}
	slices.SortStableFunc(faults, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	return faults
}

// chooseKinds takes the kinds that are named, separated by commas; nil means all that the storm has.
func chooseKinds(names string) ([]string, error) {
	if names == "" {
		return nil, nil
	}
	chosen := strings.Split(names, ",")
	for _, name := range chosen {
		if all := append(mixedKinds(), clusterKinds()...); !slices.Contains(all, name) {
			known := slices.Compact(slices.Sorted(slices.Values(all)))
			return nil, fmt.Errorf("-kinds: unknown kind %q, want one of %s", name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}
