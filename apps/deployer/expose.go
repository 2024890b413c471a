package deployer

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// servicePort is the port of the Service of every app.
const servicePort = 80

// expose makes the Service and the route of an app lead to the revision that serves. Gateways do not need them: they dial
// replicas. On a shared network there is neither.
func (s *session) expose(ctx context.Context, wanted *enginev1.DesiredApp, namespace string, have *found) error {
	if s.config.SharedNetwork {
		return nil
	}
	if len(wanted.GetRevisions()) == 0 {
		for i := range have.services {
			if err := s.removeService(ctx, &have.services[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.exposeService(ctx, s.service(wanted, namespace), have); err != nil {
		return err
	}
	return s.route(ctx, wanted, namespace)
}

// service leads to the pods of the serving revision; without one, to none.
func (s *session) service(wanted *enginev1.DesiredApp, namespace string) *corev1.Service {
	port := corev1.ServicePort{Name: "http", Port: servicePort, TargetPort: intstr.FromInt32(s.accepts(wanted))}
	if speaksH2C(wanted) {
		h2c := "kubernetes.io/h2c"
		port.AppProtocol = &h2c
	}
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: serviceName(wanted), Labels: identity(wanted, s.installation),
			Annotations: map[string]string{annotationID: idText(wanted.GetId())},
		},
		Spec: corev1.ServiceSpec{Selector: selector(wanted, wanted.GetServing()), Ports: []corev1.ServicePort{port}},
	}
}

// accepts is the port on which the replicas of the serving revision accept requests.
func (s *session) accepts(wanted *enginev1.DesiredApp) int32 {
	if s.image != "" {
		return podspec.ForwarderPort
	}
	for _, revision := range wanted.GetRevisions() {
		if revision.GetRevision() == wanted.GetServing() {
			return portOf(&target{revision: revision})
		}
	}
	return defaultPort
}

// speaksH2C reports whether the serving revision expects HTTP/2 without TLS, as the name of its port says.
func speaksH2C(wanted *enginev1.DesiredApp) bool {
	for _, revision := range wanted.GetRevisions() {
		if revision.GetRevision() != wanted.GetServing() {
			continue
		}
		for _, port := range revision.GetSpec().GetContainer().GetPorts() {
			if port.GetName() == "h2c" {
				return true
			}
		}
	}
	return false
}

func (s *session) exposeService(ctx context.Context, wanted *corev1.Service, have *found) error {
	for i := range have.services {
		existing := &have.services[i]
		if existing.Name != wanted.Name || existing.Namespace != wanted.Namespace {
			if err := s.removeService(ctx, existing); err != nil {
				return err
			}
			continue
		}
		if maps.Equal(existing.Spec.Selector, wanted.Spec.Selector) && samePorts(existing.Spec.Ports, wanted.Spec.Ports) {
			return nil
		}
		body, err := json.Marshal(map[string]any{"spec": map[string]any{"selector": wanted.Spec.Selector, "ports": wanted.Spec.Ports}})
		if err != nil {
			return fmt.Errorf("encode the service: %w", err)
		}
		return client.IgnoreNotFound(s.client.Patch(ctx, blank(existing), client.RawPatch(mergePatch, body)))
	}
	err := s.client.Create(ctx, wanted)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	return s.checkOwn(ctx, wanted, &corev1.Service{})
}

func samePorts(a, b []corev1.ServicePort) bool {
	if len(a) != 1 || len(b) != 1 {
		return false
	}
	protocol := func(p corev1.ServicePort) string {
		if p.AppProtocol == nil {
			return ""
		}
		return *p.AppProtocol
	}
	return a[0].Port == b[0].Port && a[0].TargetPort == b[0].TargetPort && protocol(a[0]) == protocol(b[0])
}

// removeService deletes the Service of an app, with its route.
func (s *session) removeService(ctx context.Context, have *corev1.Service) error {
	if have.DeletionTimestamp != nil {
		return nil
	}
	if err := s.removeRoute(ctx, have.Namespace, have.Name, have.Labels[labelUID]); err != nil {
		return err
	}
	return s.delete(ctx, have)
}
