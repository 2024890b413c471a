package deployer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
)

const words = "2026-01-02T03:04:05.000000006Z hello\n2026-01-02T03:04:06Z bye\n"

// logging is a cluster whose pods run until they are asked to stop, and go only when the test says so.
type logging struct {
	*fixture

	asked   chan string   // has the pods whose log is read
	release chan struct{} // closed when logs end
	end     chan int32    // has how a pod ends
}

func newLogging(t *testing.T) *logging {
	l := &logging{fixture: newFixture(t), asked: make(chan string, 100), release: make(chan struct{}), end: make(chan int32)}
	kubetest.StartNode(t, l.Cluster, kubetest.NodeOptions{
		Program: func(ctx context.Context, _ *corev1.Pod) kubetest.Result {
			select {
			case code := <-l.end:
				return kubetest.Result{ExitCode: code}
			case <-ctx.Done():
				return kubetest.Result{Leave: true}
			}
		},
		Log: func(pod, container string) string {
			if container != "app" {
				return "2026-01-02T03:04:05Z of " + container + "\n"
			}
			l.asked <- pod
			<-l.release
			return words
		},
		Previous: func(pod, container string) string {
			return "2026-01-02T03:04:00Z " + pod + "/" + container + " breaks\n"
		},
		StopDelay: time.Hour, // until the test deletes it for good
	})
	t.Cleanup(l.letGo) // before the node ends
	return l
}

// letGo ends all logs.
func (l *logging) letGo() {
	select {
	case <-l.release:
	default:
		close(l.release)
	}
}

// runs creates a pod of revision 1 as its ReplicaSet would, and waits until it runs.
func (l *logging) runs(uid, name string) *corev1.Pod {
	l.t.Helper()
	l.awaitDeployments("1×1")
	template := l.deployment(1).Spec.Template
	pod, err := l.Clientset.CoreV1().Pods(l.Namespace).Create(context.Background(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: template.Labels, Annotations: template.Annotations}, Spec: template.Spec,
	}, metav1.CreateOptions{})
	require.NoError(l.t, err)
	l.awaitReport(uid, 1, "runs", func(r *enginev1.ObservedRevision) bool {
		return len(r.GetReplicas()) == 1 && r.GetReplicas()[0].GetReady()
	})
	return pod
}

func (l *logging) delete(pod *corev1.Pod, grace int64) {
	l.t.Helper()
	require.NoError(l.t, l.Clientset.CoreV1().Pods(l.Namespace).Delete(context.Background(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &grace}))
}

func (l *logging) pod(pod *corev1.Pod) *corev1.Pod {
	l.t.Helper()
	found, err := l.Clientset.CoreV1().Pods(l.Namespace).Get(context.Background(), pod.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(l.t, err)
	return found
}

// kept waits until the report says where the log of a pod is.
func (l *logging) kept(pod *corev1.Pod) *enginev1.ObservedReplica {
	l.t.Helper()
	var found *enginev1.ObservedReplica
	require.Eventually(l.t, func() bool {
		l.fleet.mu.Lock()
		defer l.fleet.mu.Unlock()
		found = l.fleet.ended[pod.Name]
		return found != nil
	}, waitLimit, look)
	return found
}

// notKept waits until no replica is reported and checks that no log of the pod ever was.
func (l *logging) notKept(uid string, pod *corev1.Pod) {
	l.t.Helper()
	l.awaitReport(uid, 1, "has no replica", func(r *enginev1.ObservedRevision) bool { return len(r.GetReplicas()) == 0 })
	l.fleet.mu.Lock()
	defer l.fleet.mu.Unlock()
	require.Nil(l.t, l.fleet.ended[pod.Name])
}

// The log of a replica that is stopped is read until its container has ended, although its pod is gone by then.
func TestTheLogOfAReplicaThatIsStoppedIsKept(t *testing.T) {
	l := newLogging(t)
	l.fleet.want(hello("uid-l1", revision(1, 1)), false)
	l.start()
	pod := l.runs("uid-l1", "replica-l1")
	l.delete(pod, 30)
	require.Equal(t, pod.Name, <-l.asked)
	l.awaitReport("uid-l1", 1, "is being stopped", func(r *enginev1.ObservedRevision) bool {
		return len(r.GetReplicas()) == 1 && r.GetReplicas()[0].GetDraining() && r.GetReplicas()[0].GetLogUri() == ""
	})
	l.delete(pod, 0) // its node says that it has ended
	l.awaitReport("uid-l1", 1, "is gone", func(r *enginev1.ObservedRevision) bool { return len(r.GetReplicas()) == 0 })
	l.letGo()
	replica := l.kept(pod)
	const uri = "/store/p/d/_apps/uid-l1/logs/replica-l1.log"
	require.Equal(t, uri, replica.GetLogUri())
	require.Equal(t, words, l.store.read(uri))
	require.Equal(t, []string{"app", "Ended"}, []string{replica.GetContainer(), replica.GetPhase()})
	require.True(t, replica.GetDraining())
	require.Empty(t, replica.GetAddress())
	// It is reported until the apps service has it.
	l.awaitReport("uid-l1", 1, "is forgotten", func(r *enginev1.ObservedRevision) bool { return len(r.GetReplicas()) == 0 })
}

// A pod that has ended by itself stays until its log is kept.
func TestAPodThatHasEndedIsDeletedOnceItsLogIsKept(t *testing.T) {
	l := newLogging(t)
	l.fleet.want(hello("uid-l2", revision(1, 1)), false)
	l.start()
	pod := l.runs("uid-l2", "replica-l2")
	l.end <- 1
	require.Equal(t, pod.Name, <-l.asked)
	require.Nil(t, l.pod(pod).DeletionTimestamp)
	l.letGo()
	replica := l.kept(pod)
	require.Equal(t, words, l.store.read(replica.GetLogUri()))
	require.Eventually(t, func() bool { return l.pod(pod) == nil }, waitLimit, look)
}

// The report waits for the apps service.
func TestAnOutageOfTheAppsServiceLosesNoLog(t *testing.T) {
	l := newLogging(t)
	l.fleet.want(hello("uid-l3", revision(1, 1)), false)
	l.start()
	pod := l.runs("uid-l3", "replica-l3")
	l.fleet.breakStreams(true)
	l.delete(pod, 30)
	<-l.asked
	l.delete(pod, 0)
	l.letGo()
	require.Eventually(t, func() bool { return l.store.read("/store/p/d/_apps/uid-l3/logs/replica-l3.log") == words }, waitLimit, look)
	l.fleet.breakStreams(false)
	require.NotEmpty(t, l.kept(pod).GetLogUri())
}

func TestTheLogOfADeletedAppIsKept(t *testing.T) {
	l := newLogging(t)
	l.fleet.want(hello("uid-l4", revision(1, 1)), false)
	l.start()
	pod := l.runs("uid-l4", "replica-l4")
	l.fleet.drop("uid-l4", true)
	l.awaitDeployments("")
	l.delete(pod, 30) // as the garbage collector does
	<-l.asked
	l.delete(pod, 0)
	l.letGo()
	require.Eventually(t, func() bool { return l.store.read("/store/p/d/_apps/uid-l4/logs/replica-l4.log") == words }, waitLimit, look)
}

func TestAnObjectStoreThatIsAwayForAMoment(t *testing.T) {
	for name, fails := range map[string][2]int{"at the beginning": {2, 0}, "at the end": {0, 2}} {
		t.Run(name, func(t *testing.T) {
			l := newLogging(t)
			l.fleet.want(hello("uid-l5", revision(1, 1)), false)
			l.start()
			pod := l.runs("uid-l5", "replica-l5")
			l.store.fail(fails[0], fails[1])
			l.letGo()
			l.end <- 1
			require.Equal(t, words, l.store.read(l.kept(pod).GetLogUri()))
		})
	}
}

// A log that the object store does not take is lost, and the server says so. The pod does not stay for it.
func TestAnObjectStoreThatIsAway(t *testing.T) {
	l := newLogging(t)
	l.fleet.want(hello("uid-l6", revision(1, 1)), false)
	l.start()
	pod := l.runs("uid-l6", "replica-l6")
	l.store.fail(1000, 0)
	l.letGo()
	l.end <- 1
	require.Eventually(t, func() bool { return l.pod(pod) == nil }, waitLimit, look)
	require.Contains(t, l.log.String(), "cannot store the log of an ended replica; log lost")
	require.Contains(t, l.log.String(), errStore.Error())
	l.notKept("uid-l6", pod)
}

// Of a pod that vanishes before its log can be read, nothing is kept, and nothing is claimed.
func TestTheLogOfAPodThatVanishesIsNotKept(t *testing.T) {
	l := newLogging(t)
	l.config.KeepLogs = 1
	l.fleet.want(hello("uid-l7", revision(1, 1)), false)
	l.start()
	busy := l.runs("uid-l7", "busy-l7")
	l.delete(busy, 30)
	require.Equal(t, busy.Name, <-l.asked) // the one worker is busy
	template := l.deployment(1).Spec.Template
	pod, err := l.Clientset.CoreV1().Pods(l.Namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "vanishes-l7", Labels: template.Labels, Annotations: template.Annotations}, Spec: template.Spec,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	draining := func(of string) func(*enginev1.ObservedRevision) bool {
		return func(r *enginev1.ObservedRevision) bool {
			for _, replica := range r.GetReplicas() {
				if replica.GetName() == of && replica.GetDraining() {
					return true
				}
			}
			return false
		}
	}
	l.awaitReport("uid-l7", 1, "runs", func(r *enginev1.ObservedRevision) bool {
		return len(r.GetReplicas()) == 2 && r.GetReplicas()[1].GetReady()
	})
	l.delete(pod, 30)
	l.awaitReport("uid-l7", 1, "waits", draining(pod.Name))
	l.delete(pod, 0)
	l.awaitReport("uid-l7", 1, "is gone", func(r *enginev1.ObservedRevision) bool { return len(r.GetReplicas()) == 1 })
	l.delete(busy, 0)
	l.letGo()
	l.kept(busy)
	require.Eventually(t, func() bool { return strings.Contains(l.log.String(), "was deleted before its log could be read") }, waitLimit, look)
	l.notKept("uid-l7", pod)
	require.Empty(t, l.store.read("/store/p/d/_apps/uid-l7/logs/vanishes-l7.log"))
}

// A replica that never ran has no log.
func TestAReplicaThatNeverRanHasNoLog(t *testing.T) {
	f := newFixture(t)
	f.fleet.want(hello("uid-l8", revision(1, 1)), false)
	f.start()
	f.awaitDeployments("1×1")
	pod := f.replica(1, "replica-l8", func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodFailed
		pod.Status.ContainerStatuses[0] = corev1.ContainerStatus{
			Name: "app", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
		}
	})
	require.Eventually(t, func() bool {
		_, err := f.Clientset.CoreV1().Pods(f.Namespace).Get(context.Background(), pod.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, waitLimit, look)
	f.fleet.mu.Lock()
	defer f.fleet.mu.Unlock()
	require.Empty(t, f.fleet.ended)
}

func TestNoLogsAreKeptWithoutWorkers(t *testing.T) {
	l := newLogging(t)
	l.config.KeepLogs = 0
	l.fleet.want(hello("uid-l9", revision(1, 1)), false)
	l.start()
	pod := l.runs("uid-l9", "replica-l9")
	l.end <- 0
	require.Eventually(t, func() bool { return l.pod(pod) == nil }, waitLimit, look, "the ended pod is deleted nevertheless")
	require.Empty(t, l.asked)
	l.notKept("uid-l9", pod)
}

// startedAgain makes the status of a pod that of one whose container was started again that often.
func (l *logging) startedAgain(pod *corev1.Pod, restarts int32, now corev1.ContainerState) {
	l.t.Helper()
	found := l.pod(pod)
	found.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", RestartCount: restarts, State: now,
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 3, Reason: "Error", StartedAt: metav1.NewTime(time.Unix(1_800_000_000+int64(restarts), 0)),
		}},
	}}
	_, err := l.Clientset.CoreV1().Pods(l.Namespace).UpdateStatus(l.t.Context(), found, metav1.UpdateOptions{})
	require.NoError(l.t, err)
}

// TestTheLogsOfACrashLoopAreKept: the cluster has the log of an earlier run only until the next one ends.
func TestTheLogsOfACrashLoopAreKept(t *testing.T) {
	l := newLogging(t)
	l.fleet.want(hello("uid-l9", revision(1, 1)), false)
	l.start()
	pod := l.runs("uid-l9", "replica-l9")
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	for attempt := int32(1); attempt <= 3; attempt++ {
		if attempt == 3 { // in between, the current run is the one that has ended, and the one before is kept already
			l.startedAgain(pod, 2, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}})
		}
		l.startedAgain(pod, attempt, running)
		name := fmt.Sprintf("replica-l9.attempt-%d", attempt)
		replica := l.kept(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}})
		uri := "/store/p/d/_apps/uid-l9/logs/" + name + ".log"
		require.Equal(t, uri, replica.GetLogUri())
		require.Equal(t, "2026-01-02T03:04:00Z replica-l9/app breaks\n", l.store.read(uri))
		require.Equal(t, "Ended", replica.GetPhase())
		require.Equal(t, fmt.Sprintf("attempt %d of replica-l9 ended with exit code 3", attempt), replica.GetReason())
		require.EqualValues(t, attempt-1, replica.GetRestarts())
		require.Equal(t, 1_800_000_000+int64(attempt), replica.GetStartedAt().GetSeconds())
	}
	l.awaitReport("uid-l9", 1, "has its replica alone", func(r *enginev1.ObservedRevision) bool {
		return len(r.GetReplicas()) == 1 && r.GetReplicas()[0].GetName() == "replica-l9" && r.GetReplicas()[0].GetLogUri() == ""
	})
	require.NotNil(t, l.pod(pod), "the pod goes on")
}
