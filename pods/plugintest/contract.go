package plugintest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// contractWait is how long the suite waits for a cache or the API server.
const contractWait = 30 * time.Second

// Contract is the suite that every plugin with objects in the cluster passes: an attempt's main object is created once,
// whatever process asks and wherever it stops; it is found again, waited for and removed. The API server is a real one, which
// must serve the plugin's types. The template is that of a task which the plugin runs.
func Contract(t *testing.T, definition plugin.Definition, template *core.TaskTemplate) {
	for name, check := range map[string]func(*contract){
		"declares what it uses":                 (*contract).declares,
		"creates once":                          (*contract).createsOnce,
		"gives each attempt an object":          (*contract).separatesAttempts,
		"creates nothing without permission":    (*contract).asksFirst,
		"adopts after a restart":                (*contract).adopts,
		"adopts after a restart in the middle":  (*contract).adoptsUnanswered,
		"loses an attempt whose object is gone": (*contract).loses,
		"waits for quota":                       (*contract).waitsForQuota,
		"loses nothing in an outage":            (*contract).survivesOutage,
		"explains what the cluster forbids":     (*contract).explainsRefusal,
		"removes its objects, and no others":    (*contract).removes,
	} {
		t.Run(name, func(t *testing.T) {
			check(&contract{t: t, definition: definition, template: template, cluster: kubetest.New(t)})
		})
	}
}

// contract is one check of the suite, in a namespace of its own.
type contract struct {
	t          *testing.T
	definition plugin.Definition
	template   *core.TaskTemplate
	cluster    *kubetest.Cluster
}

func (c *contract) start() *process { return startProcess(c.t, c.cluster, c.definition, nil) }

// attempt creates a TaskAction and returns its first attempt.
func (c *contract) attempt() *plugin.Attempt {
	c.t.Helper()
	attempt := AttemptOf(c.template)
	attempt.Task.Namespace, attempt.Task.UID = c.cluster.Namespace, ""
	encoded, err := proto.Marshal(c.template)
	require.NoError(c.t, err)
	attempt.Task.Spec.TaskTemplate = encoded
	require.NoError(c.t, c.cluster.Client.Create(c.t.Context(), attempt.Task))
	return attempt
}

// launch advances an attempt until its object exists, and returns its uid.
func (c *contract) launch(p *process, attempt *plugin.Attempt) types.UID {
	c.t.Helper()
	var state plugin.State
	require.Eventually(c.t, func() bool {
		var err error
		state, err = p.Advance(c.t.Context(), attempt)
		require.NoError(c.t, err)
		require.Nil(c.t, state.Failure)
		return state.Object != ""
	}, contractWait, 10*time.Millisecond, "the attempt never has an object")
	return state.Object
}

// main are the created objects that TaskActions control: the main object of each attempt.
func (c *contract) main(processes ...*process) []client.Object {
	var result []client.Object
	for _, p := range processes {
		for _, object := range p.writer.made() {
			if _, secret := object.(*corev1.Secret); !secret && metav1.GetControllerOfNoCopy(object) != nil && metav1.GetControllerOfNoCopy(object).Kind == v1.Kind {
				result = append(result, object)
			}
		}
	}
	return result
}

func (c *contract) createsOnce() {
	attempt, replicas := c.attempt(), []*process{c.start(), c.start()}
	uids := make([]types.UID, 2*len(replicas))
	var asking sync.WaitGroup
	for i := range uids {
		asking.Go(func() {
			state, err := replicas[i%len(replicas)].Advance(c.t.Context(), attempt)
			if err == nil && state.Failure == nil {
				uids[i] = state.Object
			}
		})
	}
	asking.Wait()
	for range 3 {
		for _, p := range replicas {
			uids = append(uids, c.launch(p, attempt)) //nolint:makezero // the first ones may have failed
		}
	}
	made := c.main(replicas...)
	require.Len(c.t, made, 1)
	for _, uid := range uids {
		if uid != "" {
			require.Equal(c.t, made[0].GetUID(), uid)
		}
	}
	require.True(c.t, metav1.IsControlledBy(made[0], attempt.Task), "the garbage collector deletes it with the TaskAction")
	for name, value := range attempt.Task.Labels {
		require.Equal(c.t, value, made[0].GetLabels()[name], "the informers see objects with the labels of the TaskAction")
	}
}

func (c *contract) separatesAttempts() {
	p, attempt := c.start(), c.attempt()
	first := c.launch(p, attempt)
	second := *attempt
	require.NotEqual(c.t, first, c.launch(p, Second(&second)))
	require.Equal(c.t, first, c.launch(p, attempt))
	require.Len(c.t, c.main(p), 2)
}

func (c *contract) asksFirst() {
	p, attempt := c.start(), c.attempt()
	attempt.MayLaunch = false
	state, err := p.Advance(c.t.Context(), attempt)
	require.NoError(c.t, err)
	require.Equal(c.t, common.ActionPhase_ACTION_PHASE_UNSPECIFIED, state.Phase)
	require.Empty(c.t, p.writer.made())
}

func (c *contract) adopts() {
	attempt := c.attempt()
	uid := c.launch(c.start(), attempt)
	next := c.start()
	attempt.MayLaunch = false // A restarted process does not know yet whether the action is live.
	require.Equal(c.t, uid, c.launch(next, attempt))
	require.Empty(c.t, next.writer.made())
}

// adoptsUnanswered: the process stops, or the connection breaks, after the object was created and before the answer came.
func (c *contract) adoptsUnanswered() {
	attempt, p := c.attempt(), c.start()
	p.writer.set(nil, errors.New("the connection broke"))
	_, err := p.Advance(c.t.Context(), attempt)
	require.Error(c.t, err, "nothing is known of the attempt")
	p.writer.set(nil, nil)
	next := c.start()
	uid := c.launch(next, attempt)
	require.Equal(c.t, uid, c.launch(p, attempt), "and so does the process whose connection broke")
	require.Len(c.t, c.main(p, next), 1)
}

func (c *contract) loses() {
	attempt, p := c.attempt(), c.start()
	uid := c.launch(p, attempt)
	for _, object := range p.writer.made() {
		c.destroy(object)
	}
	lost := func(p *process) (found *failure.Failure) {
		require.Eventually(c.t, func() bool {
			state, err := p.Advance(c.t.Context(), attempt)
			require.NoError(c.t, err)
			found = state.Failure
			return found != nil
		}, contractWait, 10*time.Millisecond, "the attempt is never lost")
		return found
	}
	why := lost(p)
	require.False(c.t, why.IsUsers(), "the task had no part in it: %v", why)
	require.True(c.t, why.Recoverable)
	next := c.start()
	attempt.Known = uid // as its status says
	require.Equal(c.t, why.Reason, lost(next).Reason)
	require.Len(c.t, c.main(p, next), 1, "what was done once is not done again")
}

func (c *contract) waitsForQuota() {
	attempt, p := c.attempt(), c.start()
	p.writer.set(apierrors.NewForbidden(schema.GroupResource{}, "x", errors.New("exceeded quota: count")), nil)
	state, err := p.Advance(c.t.Context(), attempt)
	require.NoError(c.t, err)
	require.Equal(c.t, common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES, state.Phase)
	require.Contains(c.t, state.Message, "exceeded quota")
	require.Positive(c.t, state.Recheck)
	p.writer.set(nil, nil)
	c.launch(p, attempt)
}

func (c *contract) survivesOutage() {
	attempt, p := c.attempt(), c.start()
	p.writer.set(errors.New("connection refused"), nil)
	_, err := p.Advance(c.t.Context(), attempt)
	require.ErrorContains(c.t, err, "connection refused")
	require.Nil(c.t, failure.Of(err), "no attempt is lost")
	p.writer.set(nil, nil)
	c.launch(p, attempt)
}

func (c *contract) explainsRefusal() {
	attempt, p := c.attempt(), c.start()
	p.writer.set(apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "x", errors.New("no right")), nil)
	state, err := p.Advance(c.t.Context(), attempt)
	require.NoError(c.t, err)
	require.NotNil(c.t, state.Failure)
	require.Equal(c.t, failure.ObjectForbidden, state.Failure.Reason)
	require.Contains(c.t, state.Failure.Message, "no right")
}

func (c *contract) removes() {
	attempt, p := c.attempt(), c.start()
	require.NoError(c.t, p.Remove(c.t.Context(), attempt), "there is nothing yet")
	c.launch(p, attempt)
	object := c.main(p)[0]

	other := *attempt
	other.Task = attempt.Task.DeepCopy()
	other.Task.UID = "another"
	require.NoError(c.t, c.start().Remove(c.t.Context(), &other))
	require.False(c.t, c.isGone(object), "it belongs to another TaskAction")

	require.NoError(c.t, p.Remove(c.t.Context(), attempt))
	require.Eventually(c.t, func() bool { return c.isGone(object) }, contractWait, 10*time.Millisecond, "it is not deleted")
	require.NoError(c.t, p.Remove(c.t.Context(), attempt), "it is gone already")
	if remembers, ok := p.Plugin.(plugin.Rememberer); ok {
		require.Zero(c.t, remembers.Live())
	}
}

// isGone reports whether an object was deleted, or is being.
func (c *contract) isGone(object client.Object) bool {
	c.t.Helper()
	current, _ := object.DeepCopyObject().(client.Object)
	err := c.api().Get(c.t.Context(), client.ObjectKeyFromObject(object), current)
	if apierrors.IsNotFound(err) {
		return true
	}
	require.NoError(c.t, err)
	return current.GetUID() != object.GetUID() || current.GetDeletionTimestamp() != nil
}

// destroy deletes an object from outside, at once.
func (c *contract) destroy(object client.Object) {
	c.t.Helper()
	api, target := c.api(), object.DeepCopyObject().(client.Object) //nolint:forcetypeassert // it was one
	err := api.Delete(c.t.Context(), target, client.GracePeriodSeconds(0), client.PropagationPolicy(metav1.DeletePropagationBackground))
	require.NoError(c.t, client.IgnoreNotFound(err))
	require.Eventually(c.t, func() bool {
		return apierrors.IsNotFound(api.Get(context.Background(), client.ObjectKeyFromObject(object), target))
	}, contractWait, 10*time.Millisecond)
}

func (c *contract) api() client.Client {
	c.t.Helper()
	api, err := client.New(c.cluster.Config, client.Options{Scheme: schemeOf(c.t, c.definition)})
	require.NoError(c.t, err)
	return api
}
