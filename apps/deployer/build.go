package deployer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/pods/attemptsecret"
	"github.com/flyte-binary/flyte-binary/pods/podsecret"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

const mergePatch = types.MergePatchType

// defaultPort is where apps listen that declare no port.
const defaultPort = 8080

// build returns the Deployment of a revision, without replicas and without the secrets that its pods refer to.
func (s *session) build(ctx context.Context, t *target) (*appsv1.Deployment, error) {
	own := joined(identity(t.app, s.installation), selector(t.app, t.revision.GetRevision()))
	pod, err := s.builder.BuildService(ctx, s.subject(t, own))
	if err != nil {
		return nil, err
	}
	s.listen(t, pod)
	digest, err := digestOf(pod)
	if err != nil {
		return nil, err
	}
	history := int32(1)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: t.namespace, Name: t.name(), Labels: own,
			Annotations: map[string]string{annotationID: idText(t.app.GetId()), annotationBuild: digest},
		},
		Spec: appsv1.DeploymentSpec{
			Selector:             &metav1.LabelSelector{MatchLabels: selector(t.app, t.revision.GetRevision())},
			Template:             *pod,
			Strategy:             s.strategy(t),
			RevisionHistoryLimit: &history,
		},
	}, nil
}

// strategy replaces pods without a gap, except where the new one could not have the port of the old one.
func (s *session) strategy(t *target) appsv1.DeploymentStrategy {
	if s.config.sharesPorts(t.revision) {
		return appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	none, some := intstr.FromInt32(0), intstr.FromString("25%")
	return appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &none, MaxSurge: &some},
	}
}

// subject is what the pods of a revision are built from.
func (s *session) subject(t *target, own map[string]string) *podspec.Subject {
	spec, id := t.revision.GetSpec(), t.app.GetId()
	env := s.builder.ServiceEnv(id.GetProject(), id.GetDomain())
	return &podspec.Subject{
		Declared: declared(spec), Primary: primary, Namespace: t.namespace, Secrets: s.holder(t).SecretName(),
		Labels: joined(labelsOf(t.revision.GetLabels()), own), Platform: env,
		Env: []corev1.EnvVar{{Name: "PORT", Value: strconv.Itoa(int(portOf(t)))}},
		Values: map[string]string{
			"rawoutputdataprefix": blobpath.AppData(s.root, id.GetProject(), id.GetDomain(), t.app.GetUid()),
		},
		ServiceAccount: spec.GetSecurityContext().GetRunAs().GetK8SServiceAccount(),
	}
}

// declared puts what an app declares into the form of tasks, which is that of the fields too.
func declared(spec *app.Spec) *core.TaskTemplate {
	result := &core.TaskTemplate{
		Type: "app", ExtendedResources: spec.GetExtendedResources(),
		SecurityContext: &core.SecurityContext{RunAs: spec.GetSecurityContext().GetRunAs(), Secrets: spec.GetSecurityContext().GetSecrets()},
	}
	switch payload := spec.GetAppPayload().(type) {
	case *app.Spec_Container:
		result.Target = &core.TaskTemplate_Container{Container: payload.Container}
	case *app.Spec_Pod:
		result.Target = &core.TaskTemplate_K8SPod{K8SPod: payload.Pod}
	}
	return result
}

// labelsOf are the labels of an app as far as Kubernetes can have them. Labels with our prefix are reserved.
func labelsOf(given map[string]string) map[string]string {
	result := map[string]string{}
	for name, value := range given {
		reserved := strings.HasPrefix(name, v1.Group+"/")
		if !reserved && len(validation.IsQualifiedName(name)) == 0 && len(validation.IsValidLabelValue(value)) == 0 {
			result[name] = value
		}
	}
	return result
}

func portOf(t *target) int32 {
	if port := t.revision.GetPort(); port > 0 && port < 1<<16 {
		return int32(port)
	}
	return defaultPort
}

// listen settles where a replica accepts requests, and how that is known. Programs that the SDK serves listen on 127.0.0.1
// only, where nothing outside of their pod reaches them, neither gateways nor probes. So a forwarder alongside the app listens
// for it, wherever pods have networks of their own; it knows whether the app listens.
func (s *session) listen(t *target, pod *corev1.PodTemplateSpec) {
	port := portOf(t)
	accepts := port
	if s.image != "" {
		accepts = podspec.ForwarderPort
		podspec.AddForwarder(pod, podspec.Forwarder{
			Image: s.image, Primary: primary, Port: port, CPU: s.config.Forwarder.CPU, Memory: s.config.Forwarder.Memory,
		})
	} else {
		declare(pod, port)
		probeTCP(pod, port)
	}
	for _, name := range []string{annotationTakesPort, annotationNodePort} {
		delete(pod.Annotations, name)
	}
	pod.Annotations[annotationID] = idText(t.app.GetId())
	pod.Annotations[annotationPort] = strconv.Itoa(int(accepts))
	if s.config.SharedNetwork && t.revision.GetTakesPort() {
		pod.Annotations[annotationTakesPort] = primary
	}
}

// declare makes the container that serves declare its port, by which a local node knows it.
func declare(pod *corev1.PodTemplateSpec, port int32) {
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if container.Name == primary && !slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.ContainerPort == port }) {
			container.Ports = append(container.Ports, corev1.ContainerPort{ContainerPort: port})
		}
	}
}

// probeTCP makes a replica ready when it accepts connections, unless its author says how it is to be probed.
func probeTCP(pod *corev1.PodTemplateSpec, port int32) {
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if container.Name == primary && container.ReadinessProbe == nil {
			container.ReadinessProbe = &corev1.Probe{
				ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(port)}},
				PeriodSeconds: 2, TimeoutSeconds: 2, FailureThreshold: 3,
			}
		}
	}
}

func digestOf(pod *corev1.PodTemplateSpec) (string, error) {
	encoded, err := json.Marshal(pod)
	if err != nil {
		return "", fmt.Errorf("encode the pod: %w", err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:16]), nil
}

// holder is whose Kubernetes Secrets a revision's are. They have no owner: they end when the revision sleeps.
func (s *session) holder(t *target) *attemptsecret.Holder {
	id := t.app.GetId()
	return &attemptsecret.Holder{
		Project: id.GetProject(), Domain: id.GetDomain(), Namespace: t.namespace, Name: t.name(),
		Asked: t.revision.GetSpec().GetSecurityContext().GetSecrets(), Labels: selector(t.app, t.revision.GetRevision()),
		Token: &enginev1.IssueTaskTokenRequest{Holder: &enginev1.IssueTaskTokenRequest_App{App: &enginev1.AppRevisionRef{
			Project: id.GetProject(), Domain: id.GetDomain(), Name: id.GetName(), Uid: t.app.GetUid(), Revision: t.revision.GetRevision(),
		}}},
	}
}

// writeSecrets writes what the pods refer to. The values are those of the moment when the revision starts. A Deployment without replicas
// comes first: it shows that there are Secrets, should this process end before it has made the Deployment.
func (s *session) writeSecrets(ctx context.Context, t *target, made *appsv1.Deployment) error {
	holder := s.holder(t)
	if t.have.deployment(t.revision.GetRevision()) == nil {
		holder.Before = func(ctx context.Context) error { return s.announce(ctx, made) }
	}
	if err := s.secrets.PrepareFor(ctx, holder, &made.Spec.Template); err != nil {
		return err
	}
	written := slices.Contains(podsecret.Names(&made.Spec.Template.Spec), holder.SecretName())
	for _, reference := range made.Spec.Template.Spec.ImagePullSecrets {
		written = written || strings.HasPrefix(reference.Name, holder.Name+"-")
	}
	if written {
		made.Annotations[annotationSecrets] = "true"
	}
	return nil
}

// announce creates a Deployment without replicas, once.
func (s *session) announce(ctx context.Context, made *appsv1.Deployment) error {
	if made.UID != "" {
		return nil
	}
	bare, none := made.DeepCopy(), int32(0)
	bare.Spec.Replicas = &none
	bare.Annotations[annotationSecrets] = "true"
	if err := s.create(ctx, bare); err != nil {
		return err
	}
	made.UID = bare.UID
	return nil
}

// deleteSecrets deletes those of a revision.
func (s *session) deleteSecrets(ctx context.Context, have *appsv1.Deployment) error {
	of := client.MatchingLabels{labelUID: have.Labels[labelUID], labelRevision: have.Labels[labelRevision], v1.LabelManaged: v1.ManagedValue}
	if err := s.client.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(have.Namespace), of); err != nil {
		return fmt.Errorf("delete the secrets of %s: %w", have.Name, err)
	}
	return nil
}
