package apps

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/apps/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// runsOn reports whether a cluster is to have objects of an app.
func runsOn(a *store.App, cluster string) bool {
	return a.Cluster == cluster || slices.Contains(a.Others, cluster) || slices.Contains(a.Leaving, cluster)
}

// single reports whether only one cluster has ever had the app, as is usual. Then reports about it name no cluster.
func single(before *enginev1.ObservedApp, a *store.App) bool {
	return len(a.Others) == 0 && len(a.Leaving) == 0 && len(before.GetAppliedBy()) == 0
}

// appliedBy is the version that a cluster has applied, as it said last.
func appliedBy(before *enginev1.ObservedApp, a *store.App, cluster string) int64 {
	if len(before.GetAppliedBy()) > 0 {
		return before.GetAppliedBy()[cluster]
	}
	if cluster == a.Cluster {
		return before.GetApplied()
	}
	return 0
}

// merged is what all clusters of an app have, after one of them has reported. Clusters that no longer run the app are left out.
func merged(before, report *enginev1.ObservedApp, a *store.App, cluster string) *enginev1.ObservedApp {
	if single(before, a) {
		return report
	}
	all := attributed(before, a, a.Cluster)
	keep(all, func(of string) bool { return of != cluster && runsOn(a, of) })
	all.Uid, all.Namespace = report.GetUid(), cmp.Or(report.GetNamespace(), all.GetNamespace())
	all.AppliedBy[cluster] = report.GetApplied()
	all.Applied = all.GetAppliedBy()[a.Cluster]
	for _, r := range attributed(report, a, cluster).GetRevisions() {
		at := slices.IndexFunc(all.GetRevisions(), func(have *enginev1.ObservedRevision) bool { return have.GetRevision() == r.GetRevision() })
		if at < 0 {
			all.Revisions = append(all.Revisions, r)
			continue
		}
		have := all.GetRevisions()[at]
		have.Wanted += r.GetWanted()
		have.Replicas = append(have.Replicas, r.GetReplicas()...)
		if have.GetProblem() == nil {
			have.Problem = r.GetProblem()
		}
	}
	slices.SortFunc(all.GetRevisions(), func(a, b *enginev1.ObservedRevision) int { return cmp.Compare(a.GetRevision(), b.GetRevision()) })
	return all
}

// attributed is a report in which each replica and each problem names its cluster; those that name none are of the given one.
func attributed(report *enginev1.ObservedApp, a *store.App, cluster string) *enginev1.ObservedApp {
	all := proto.CloneOf(report)
	if all.GetAppliedBy() == nil {
		all.AppliedBy = map[string]int64{}
		if a.ObservedAt != nil && cluster != "" {
			all.AppliedBy[cluster] = all.GetApplied()
		}
	}
	for _, r := range all.GetRevisions() {
		for _, replica := range r.GetReplicas() {
			replica.Cluster = cmp.Or(replica.GetCluster(), cluster)
		}
		if r.GetProblem() != nil {
			r.Problem.Cluster = cmp.Or(r.GetProblem().GetCluster(), cluster)
		}
	}
	return all
}

// keep leaves out what is of other clusters.
func keep(report *enginev1.ObservedApp, of func(cluster string) bool) {
	for cluster := range report.GetAppliedBy() {
		if !of(cluster) {
			delete(report.GetAppliedBy(), cluster)
		}
	}
	for _, r := range report.GetRevisions() {
		r.Replicas = slices.DeleteFunc(r.GetReplicas(), func(replica *enginev1.ObservedReplica) bool { return !of(replica.GetCluster()) })
		if r.GetProblem() != nil && !of(r.GetProblem().GetCluster()) {
			r.Problem = nil
		}
		r.Wanted = 0
	}
	report.Revisions = slices.DeleteFunc(report.GetRevisions(), func(r *enginev1.ObservedRevision) bool { return len(r.GetReplicas()) == 0 && r.GetProblem() == nil })
}
