package deployer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/pods/namespaces"
)

// errWait says that something has to go before an object can be created.
var errWait = errors.New("waiting")

// problems are why revisions cannot be deployed as they are, by revision.
type problems map[uint64]*enginev1.AppProblem

// sync makes the objects of one app what they should be, and reports what there is. again is when to look again although
// nothing changes; 0 means never.
func (s *session) sync(ctx context.Context, uid string) (again time.Duration, err error) {
	wanted, known := s.desired.get(uid)
	if !known {
		return 0, nil // the snapshot comes
	}
	have, err := s.find(ctx, uid)
	if err != nil {
		return 0, err
	}
	s.keeper.watch(uid, have.pods)
	if wanted == nil {
		err := s.remove(ctx, uid, have)
		s.report(uid, nil, have, nil)
		return 0, err
	}
	found, err := s.apply(ctx, wanted, have)
	recheck := s.report(uid, wanted, have, found)
	if len(found) > 0 {
		recheck = s.config.Recheck
	}
	return recheck, err
}

// apply creates, changes and deletes objects until they are those of the app. The problems are those that do not go away by
// a retry alone; the error is everything else.
func (s *session) apply(ctx context.Context, wanted *enginev1.DesiredApp, have *found) (problems, error) {
	id := wanted.GetId()
	run := ident.Run{Project: id.GetProject(), Domain: id.GetDomain()}
	place, err := s.namespace.Place(run)
	if err == nil && len(wanted.GetRevisions()) > 0 {
		err = s.namespaces.Ensure(ctx, place)
	}
	found := problems{}
	var unusable *namespaces.Error
	switch {
	case errors.As(err, &unusable), place.Namespace == "":
		for _, revision := range wanted.GetRevisions() {
			found[revision.GetRevision()] = problem(app.Status_SUBSTATE_UNSPECIFIED, true, "%v", err)
		}
		return found, nil
	case err != nil:
		return nil, err
	}
	// What should not run ends first: on a shared network it may hold the port.
	keep := map[uint64]bool{}
	for _, revision := range wanted.GetRevisions() {
		keep[revision.GetRevision()] = true
	}
	var failures []error
	for i := range have.deployments {
		if one := &have.deployments[i]; !keep[revisionOf(one.Labels)] || one.Namespace != place.Namespace {
			failures = append(failures, s.removeRevision(ctx, one))
		}
	}
	if err := s.expose(ctx, wanted, place.Namespace, have); err != nil {
		if words := permanent(err); words != "" {
			found[wanted.GetServing()] = problem(app.Status_SUBSTATE_UNSPECIFIED, false, "%s", words)
		} else {
			failures = append(failures, err)
		}
	}
	for _, revision := range wanted.GetRevisions() {
		err := s.deploy(ctx, &target{app: wanted, revision: revision, namespace: place.Namespace, have: have})
		if apierrors.IsNotFound(err) {
			s.namespaces.Forget(place.Namespace)
		}
		switch words := permanent(err); {
		case words != "":
			found[revision.GetRevision()] = problem(substateOf(failure.Of(err)), true, "%s", words)
		case apierrors.IsForbidden(err): // a quota, or a right that is missing
			found[revision.GetRevision()] = problem(app.Status_SUBSTATE_UNSPECIFIED, false, "%v", err)
		default:
			failures = append(failures, err)
		}
	}
	return found, errors.Join(failures...)
}

// permanent explains an error that a retry does not remove; it is empty for any other.
func permanent(err error) string {
	if lost := failure.Of(err); lost != nil {
		return wordsOf(lost)
	}
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err) {
		return wordsOf(failure.New(failure.ObjectRefused, "%v", err))
	}
	var absent *noRouteKindError
	if errors.As(err, &absent) {
		return absent.Error()
	}
	return ""
}

func problem(substate app.Status_Substate, forGood bool, format string, args ...any) *enginev1.AppProblem {
	return &enginev1.AppProblem{Substate: substate, Message: fmt.Sprintf(format, args...), Permanent: forGood}
}

// target is one revision as it should be in its namespace.
type target struct {
	app       *enginev1.DesiredApp
	revision  *enginev1.DesiredRevision
	namespace string
	have      *found
}

func (t *target) name() string { return deploymentName(t.app, t.revision.GetRevision()) }

// deploy makes the Deployment of a revision what it should be. Its pods are built when it starts from nothing, and once in
// each term: a new configuration of the installation reaches running apps, as a rolling update.
func (s *session) deploy(ctx context.Context, t *target) error {
	have := t.have.deployment(t.revision.GetRevision())
	replicas := int32(t.revision.GetReplicas()) //nolint:gosec // the apps service bounds it
	if replicas > 0 && s.blocked(t) {
		replicas = 0
	}
	switch {
	case replicas == 0 && have == nil:
		return nil // it sleeps without objects
	case replicas == 0:
		return s.sleep(ctx, have)
	}
	key := t.namespace + "/" + t.name()
	running := have != nil && replicasOf(have) > 0
	if _, checked := s.checked.Load(key); running && checked {
		return s.scale(ctx, have, replicas)
	}
	made, err := s.build(ctx, t)
	if err != nil {
		return err
	}
	if running && have.Annotations[annotationBuild] == made.Annotations[annotationBuild] {
		s.checked.Store(key, nil)
		return s.scale(ctx, have, replicas)
	}
	if err := s.writeSecrets(ctx, t, made); err != nil {
		return err
	}
	made.Spec.Replicas = &replicas
	switch {
	case have != nil:
		made.ResourceVersion = have.ResourceVersion
		err = s.client.Update(ctx, made)
	case made.UID != "": // it was announced
		err = s.client.Update(ctx, made)
	default:
		err = s.create(ctx, made)
	}
	if err == nil {
		s.checked.Store(key, nil)
	}
	return err
}

// blocked reports whether a revision must wait until the pods of others are gone: on a shared network they have its port.
func (s *session) blocked(t *target) bool {
	if !s.config.sharesPorts(t.revision) {
		return false
	}
	for i := range t.have.pods {
		if revisionOf(t.have.pods[i].Labels) != t.revision.GetRevision() && alive(&t.have.pods[i]) {
			return true
		}
	}
	return false
}

// alive reports whether a pod may have processes.
func alive(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

func replicasOf(deployment *appsv1.Deployment) int32 {
	if deployment.Spec.Replicas == nil {
		return 1
	}
	return *deployment.Spec.Replicas
}

// create creates a Deployment. If one of the same name is managed by this deployer, it is in the cache soon.
func (s *session) create(ctx context.Context, made *appsv1.Deployment) error {
	err := s.client.Create(ctx, made)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	return s.checkOwn(ctx, made, &appsv1.Deployment{})
}

// checkOwn explains why an object exists that is not in the cache: it is new, or someone else's, which is left alone.
func (s *session) checkOwn(ctx context.Context, wanted, into client.Object) error {
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(wanted), into); err != nil {
		return fmt.Errorf("read the existing object %s: %w", wanted.GetName(), err)
	}
	for name, value := range wanted.GetLabels() {
		if strings.HasPrefix(name, labelApp) && into.GetLabels()[name] != value {
			return failure.New(failure.ObjectRefused, "%s/%s exists and is not managed by flyte-binary; delete or rename it", wanted.GetNamespace(), wanted.GetName())
		}
	}
	return fmt.Errorf("%w: %s/%s exists", errWait, wanted.GetNamespace(), wanted.GetName())
}

// scale sets the number of replicas.
func (s *session) scale(ctx context.Context, have *appsv1.Deployment, replicas int32) error {
	if replicasOf(have) == replicas {
		return nil
	}
	patch := client.RawPatch(mergePatch, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	return client.IgnoreNotFound(s.client.Patch(ctx, blank(have), patch))
}

// sleep stops all replicas and then deletes the secrets of the revision, which are written again when it starts. In this order a Deployment
// with replicas never lacks its secrets, wherever this is interrupted, and the annotation shows that some may be left.
func (s *session) sleep(ctx context.Context, have *appsv1.Deployment) error {
	s.checked.Delete(have.Namespace + "/" + have.Name)
	if err := s.scale(ctx, have, 0); err != nil || have.Annotations[annotationSecrets] == "" {
		return err
	}
	if err := s.deleteSecrets(ctx, have); err != nil {
		return err
	}
	patch := client.RawPatch(mergePatch, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, annotationSecrets))
	return client.IgnoreNotFound(s.client.Patch(ctx, blank(have), patch))
}

// remove deletes everything that an app has. Deployments come last: they show what is left to do.
func (s *session) remove(ctx context.Context, uid string, have *found) error {
	s.routed.Delete(uid)
	var failures []error
	for i := range have.services {
		if err := s.removeService(ctx, &have.services[i]); err != nil {
			failures = append(failures, err)
		}
	}
	for i := range have.deployments {
		failures = append(failures, s.removeRevision(ctx, &have.deployments[i]))
	}
	return errors.Join(failures...)
}

// removeRevision deletes a Deployment with its pods and secrets.
func (s *session) removeRevision(ctx context.Context, have *appsv1.Deployment) error {
	s.checked.Delete(have.Namespace + "/" + have.Name)
	if have.DeletionTimestamp != nil {
		return nil
	}
	if have.Annotations[annotationSecrets] != "" { // if it is wanted again before it is gone, it must not run without them
		if err := s.scale(ctx, have, 0); err != nil {
			return err
		}
		if err := s.deleteSecrets(ctx, have); err != nil {
			return err
		}
	}
	return s.delete(ctx, have)
}

// delete deletes exactly this object, and what it owns, not another of the same name.
func (s *session) delete(ctx context.Context, object client.Object) error {
	uid := object.GetUID()
	err := s.client.Delete(ctx, blank(object), client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	return client.IgnoreNotFound(err)
}

// blank is an object of the same kind and name, since cached ones must not be changed.
func blank(object client.Object) client.Object {
	var result client.Object
	switch object.(type) {
	case *appsv1.Deployment:
		result = &appsv1.Deployment{}
	case *corev1.Service:
		result = &corev1.Service{}
	default:
		result = &corev1.Pod{}
	}
	result.SetNamespace(object.GetNamespace())
	result.SetName(object.GetName())
	return result
}

// joined returns the entries of all maps; later ones win.
func joined(all ...map[string]string) map[string]string {
	result := map[string]string{}
	for _, one := range all {
		maps.Copy(result, one)
	}
	return result
}
