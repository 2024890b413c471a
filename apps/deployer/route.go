package deployer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// httpRouteKind is the route of the Gateway API. It is handled without types: three of its fields are set.
var httpRouteKind = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}

// noRouteKindError is that the cluster does not know HTTPRoutes.
type noRouteKindError struct{ err error }

func (e *noRouteKindError) Error() string {
	return "the cluster has no HTTPRoutes, which deployer.route.kind=gateway needs; the operator of this installation must install the Gateway API: " + e.err.Error()
}

func (e *noRouteKindError) Unwrap() error { return e.err }

// route makes the route of an app lead to its Service. It is read and written only when it changes, and once in each term:
// routes are not watched, so one that someone deleted comes back with the next term or change.
func (s *session) route(ctx context.Context, wanted *enginev1.DesiredApp, namespace string) error {
	if s.config.Route.Kind == RouteNone {
		return nil
	}
	made := s.buildRoute(wanted, namespace)
	encoded, err := json.Marshal(made)
	if err != nil {
		return fmt.Errorf("encode the route: %w", err)
	}
	key := made.GetLabels()[labelUID]
	if last, known := s.routed.Load(key); known && last == string(encoded) {
		return nil
	}
	if err := s.writeRoute(ctx, made); err != nil {
		return err
	}
	s.routed.Store(key, string(encoded))
	return nil
}

func (s *session) writeRoute(ctx context.Context, made client.Object) error {
	err := s.client.Create(ctx, made)
	if absent(err) {
		return &noRouteKindError{err}
	}
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	existing := s.blankRoute()
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(made), existing); err != nil {
		return fmt.Errorf("read the route %s: %w", made.GetName(), err)
	}
	if existing.GetLabels()[labelUID] != made.GetLabels()[labelUID] {
		return s.checkOwn(ctx, made, existing)
	}
	made.SetResourceVersion(existing.GetResourceVersion())
	return s.client.Update(ctx, made)
}

// absent reports whether the cluster does not know the kind of an object.
func absent(err error) bool {
	if meta.IsNoMatchError(err) {
		return true
	}
	return apierrors.IsNotFound(err) && !strings.Contains(err.Error(), "namespaces ")
}

// removeRoute deletes the route of an app, by the label of its uid, and no route of someone else.
func (s *session) removeRoute(ctx context.Context, namespace, name, uid string) error {
	s.routed.Delete(uid)
	if s.config.Route.Kind == RouteNone {
		return nil
	}
	route := s.blankRoute()
	switch err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, route); {
	case absent(err):
		return nil
	case err != nil:
		return client.IgnoreNotFound(err)
	case route.GetLabels()[labelUID] != uid:
		return nil
	}
	have := route.GetUID()
	if err := s.client.Delete(ctx, route, client.Preconditions{UID: &have}); err != nil && !absent(err) {
		return client.IgnoreNotFound(err)
	}
	return nil
}

func (s *session) blankRoute() client.Object {
	if s.config.Route.Kind == RouteIngress {
		return &networkingv1.Ingress{}
	}
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(httpRouteKind)
	return route
}

// hostsOf are the hosts of an app: its own one, if it has one, and that below the domain.
func (s *session) hostsOf(wanted *enginev1.DesiredApp) []string {
	subdomain, cname := "", ""
	for _, revision := range wanted.GetRevisions() {
		if len(wanted.GetRevisions()) == 1 || revision.GetRevision() == wanted.GetServing() {
			subdomain, cname = revision.GetSpec().GetIngress().GetSubdomain(), revision.GetSpec().GetIngress().GetCname()
		}
	}
	if subdomain == "" { // as the SDK derives it
		id := wanted.GetId()
		sum := sha256.Sum256([]byte(id.GetProject() + "-" + id.GetDomain()))
		subdomain = id.GetName() + "-" + hex.EncodeToString(sum[:])[:hashSize]
	}
	hosts := []string{subdomain + "." + s.config.Route.Domain}
	if cname != "" {
		hosts = append(hosts, cname)
	}
	return hosts
}

func (s *session) buildRoute(wanted *enginev1.DesiredApp, namespace string) client.Object {
	head := metav1.ObjectMeta{
		Namespace: namespace, Name: serviceName(wanted), Labels: identity(wanted, s.installation),
		Annotations: joined(s.config.Route.Annotations, map[string]string{annotationID: idText(wanted.GetId())}),
	}
	if s.config.Route.Kind == RouteIngress {
		return s.ingress(head, s.hostsOf(wanted))
	}
	return s.httpRoute(head, s.hostsOf(wanted))
}

func (s *session) ingress(head metav1.ObjectMeta, hosts []string) *networkingv1.Ingress {
	prefix := networkingv1.PathTypePrefix
	made := &networkingv1.Ingress{ObjectMeta: head}
	if class := s.config.Route.IngressClass; class != "" {
		made.Spec.IngressClassName = &class
	}
	for _, host := range hosts {
		made.Spec.Rules = append(made.Spec.Rules, networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
				Path: "/", PathType: &prefix, Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
					Name: head.Name, Port: networkingv1.ServiceBackendPort{Number: servicePort},
				}},
			}}},
		}})
	}
	if secret := s.config.Route.TLSSecret; secret != "" {
		made.Spec.TLS = []networkingv1.IngressTLS{{Hosts: hosts, SecretName: secret}}
	}
	return made
}

func (s *session) httpRoute(head metav1.ObjectMeta, hosts []string) *unstructured.Unstructured {
	namespace, name := s.config.Route.gateway()
	names := make([]any, 0, len(hosts))
	for _, host := range hosts {
		names = append(names, host)
	}
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"parentRefs": []any{map[string]any{"namespace": namespace, "name": name}},
		"hostnames":  names,
		"rules": []any{map[string]any{
			"backendRefs": []any{map[string]any{"name": head.Name, "port": int64(servicePort)}},
		}},
	}}}
	made.SetGroupVersionKind(httpRouteKind)
	made.SetNamespace(head.Namespace)
	made.SetName(head.Name)
	made.SetLabels(head.Labels)
	made.SetAnnotations(head.Annotations)
	return made
}

// gateway splits the name of the Gateway; both are empty when it is not namespace/name.
func (r Route) gateway() (namespace, name string) {
	namespace, name, found := strings.Cut(r.Gateway, "/")
	if !found || strings.Contains(name, "/") {
		return "", ""
	}
	return namespace, name
}
