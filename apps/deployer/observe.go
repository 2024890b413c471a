package deployer

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
)

// report hands what the cluster has of an app to the reporter. It returns when to look again although nothing changes.
func (s *session) report(uid string, wanted *enginev1.DesiredApp, have *found, refused problems) (recheck time.Duration) {
	seen := &enginev1.ObservedApp{Uid: uid, Applied: wanted.GetVersion()}
	if wanted != nil {
		seen.Uid = wanted.GetUid()
	}
	revisions := map[uint64]*enginev1.ObservedRevision{}
	of := func(number uint64) *enginev1.ObservedRevision {
		if revisions[number] == nil {
			revisions[number] = &enginev1.ObservedRevision{Revision: number}
		}
		return revisions[number]
	}
	for _, revision := range wanted.GetRevisions() {
		of(revision.GetRevision())
	}
	worst := map[uint64]*enginev1.AppProblem{}
	for i := range have.deployments {
		one := &have.deployments[i]
		seen.Namespace = one.Namespace
		revision := of(revisionOf(one.Labels))
		revision.Wanted = uint32(max(0, replicasOf(one)))
		worst[revision.GetRevision()] = ofDeployment(one)
	}
	for i := range have.pods {
		pod := &have.pods[i]
		seen.Namespace = pod.Namespace
		revision := of(revisionOf(pod.Labels))
		replica, trouble, again := s.replica(pod)
		revision.Replicas = append(revision.Replicas, replica)
		if again > 0 && (recheck == 0 || again < recheck) {
			recheck = again
		}
		if last := worst[revision.GetRevision()]; trouble != nil && (last == nil || !last.GetPermanent()) {
			worst[revision.GetRevision()] = trouble
		}
	}
	for number, trouble := range worst {
		of(number).Problem = trouble
	}
	for number, trouble := range refused {
		if number != 0 || revisions[0] != nil {
			of(number).Problem = trouble
		}
	}
	for _, gone := range s.keeper.kept(uid) {
		revision := of(gone.revision)
		if !slices.ContainsFunc(revision.GetReplicas(), func(r *enginev1.ObservedReplica) bool { return r.GetName() == gone.replica.GetName() }) {
			revision.Replicas = append(revision.Replicas, gone.replica)
		}
	}
	for _, number := range slices.Sorted(maps.Keys(revisions)) {
		revision := revisions[number]
		slices.SortFunc(revision.GetReplicas(), func(a, b *enginev1.ObservedReplica) int { return cmp.Compare(a.GetName(), b.GetName()) })
		seen.Revisions = append(seen.Revisions, revision)
	}
	s.reports.put(seen)
	return recheck
}

// replica reads one pod, and what is wrong with it.
func (s *session) replica(pod *corev1.Pod) (*enginev1.ObservedReplica, *enginev1.AppProblem, time.Duration) {
	state := s.states.ObserveRunning(pod, primary)
	result := &enginev1.ObservedReplica{
		Name: pod.Name, Address: s.address(pod), Ready: state.Ready, Draining: pod.DeletionTimestamp != nil,
		Restarts: uint32(max(0, state.Restarts)), Phase: state.Word, Container: primary, Node: pod.Spec.NodeName,
		LogUri: s.keeper.uri(pod.Labels[labelUID], pod.Name),
	}
	result.StartedAt = timeOf(metav1.NewTime(state.StartedAt))
	if state.Why == nil {
		return result, nil, state.Recheck
	}
	result.Reason = wordsOf(state.Why)
	return result, problem(substateOf(state.Why), state.ForGood, "%s", result.GetReason()), state.Recheck
}

// address is where a replica listens; empty until it is known, or when its process has ended.
func (s *session) address(pod *corev1.Pod) string {
	port := pod.Annotations[annotationPort]
	if given := pod.Annotations[annotationNodePort]; s.config.SharedNetwork && (given != "" || pod.Annotations[annotationTakesPort] != "") {
		port = given // the node writes it together with the status Running
	}
	if pod.Status.PodIP == "" || port == "" || !alive(pod) {
		return ""
	}
	for i := range pod.Status.ContainerStatuses {
		if status := &pod.Status.ContainerStatuses[i]; status.Name == primary && status.State.Running != nil {
			return net.JoinHostPort(pod.Status.PodIP, port)
		}
	}
	return ""
}

// ofDeployment is why a Deployment cannot create pods; nil when it can.
func ofDeployment(deployment *appsv1.Deployment) *enginev1.AppProblem {
	for _, condition := range deployment.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			return problem(app.Status_SUBSTATE_UNSPECIFIED, false, "the cluster creates no pods: %s", condition.Message)
		}
	}
	return nil
}

// wordsOf explains a failure to the owner of an app: the table of failures speaks of tasks.
func wordsOf(why *failure.Failure) string {
	words := failure.Table()[why.Reason].Words
	detail, found := strings.CutPrefix(why.Message, words)
	if !found {
		return why.Message
	}
	return strings.ReplaceAll(words, "the task", "the app") + detail
}

// substateOf is the contract's word for a failure, where it has one.
func substateOf(why *failure.Failure) app.Status_Substate {
	if why == nil {
		return app.Status_SUBSTATE_UNSPECIFIED
	}
	switch why.Reason {
	case failure.ImagePullBackOff, failure.ImageRegistryBusy, failure.InvalidImageName, failure.ImageNeverPull:
		return app.Status_IMAGE_PULL_ERROR
	case failure.SecretMissing, failure.SecretUnusable, failure.CreateContainerConfig:
		return app.Status_SECRET_MOUNT_ERROR
	case failure.OOMKilled:
		return app.Status_OOM_KILLED
	case failure.NotListening:
		return app.Status_INITIALIZING
	case failure.ContainerFailed, failure.StartError, failure.SegmentationFault, failure.Signalled, failure.Killed, failure.Terminated:
		return app.Status_CRASH_LOOP
	default:
		return app.Status_SUBSTATE_UNSPECIFIED
	}
}

// phaseEnded is the phase of a replica of which only the log is left.
const phaseEnded = "Ended"

// ended is what is reported of a replica whose pod is gone, so that its log is found.
func ended(pod *corev1.Pod, uri string) *enginev1.ObservedReplica {
	return &enginev1.ObservedReplica{
		Name: pod.Name, Draining: true, Phase: phaseEnded, Container: primary, Node: pod.Spec.NodeName, LogUri: uri,
	}
}

// timeOf is a time of the cluster in a report; nil if it is not known.
func timeOf(t metav1.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t.Time)
}
