package manager

import (
	"context"
	"errors"
	"fmt"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/apps/deployer"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// resolver looks up the addresses of a host.
type resolver interface {
	LookupHost(ctx context.Context, host string) ([]string, error)
}

// examineHosts checks that the hosts of apps resolve, of those domains that are configured: the one of the gateway with the
// API, the one of routes with a controller.
func examineHosts(ctx context.Context, c configuration.Config, names resolver) []Finding {
	var findings []Finding
	if c.Target.API() && c.Gateway.Domain != "" {
		findings = append(findings, examineDomain(ctx, names, "gateway.domain", c.Gateway.Domain))
	}
	if c.Target.Controller() && c.Deployer.Route.Kind != deployer.RouteNone {
		findings = append(findings, examineDomain(ctx, names, "deployer.route.domain", c.Deployer.Route.Domain))
	}
	return findings
}

// examineDomain looks up the host that an app named doctor would have.
func examineDomain(ctx context.Context, names resolver, field, domain string) Finding {
	f := Finding{What: "hosts of apps"}
	if domain == "localhost" || strings.HasSuffix(domain, ".localhost") {
		f.Detail = fmt.Sprintf("*.%s is this machine (browsers and curl know without a name server)", domain)
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	addresses, err := names.LookupHost(ctx, "doctor."+domain)
	if err != nil {
		f.Err = err
		f.Fix = fmt.Sprintf("add the record *.%s to your name server, or correct %s", domain, field)
		return f
	}
	f.Detail = fmt.Sprintf("*.%s resolves to %s", domain, strings.Join(addresses, ", "))
	return f
}

// examineRoutes checks that the cluster has what routes of the configured kind need. There is no finding without routes.
func examineRoutes(ctx context.Context, cluster *rest.Config, route deployer.Route) []Finding {
	if route.Kind == deployer.RouteNone {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	objects, err := kubeclient.New(cluster, kubeclient.Options{})
	if err != nil {
		return []Finding{{What: "app routes", Err: err, Fix: fixClusterFirst}}
	}
	if route.Kind == deployer.RouteIngress {
		return []Finding{examineIngressClass(ctx, objects, route.IngressClass)}
	}
	return []Finding{examineGateway(ctx, objects, route.Gateway)}
}

func examineIngressClass(ctx context.Context, objects kubeclient.Reader, name string) Finding {
	f := Finding{What: "app routes", Fix: "install an ingress controller, or correct deployer.route.ingressClass"}
	classes := &networkingv1.IngressClassList{}
	err := objects.List(ctx, classes)
	if apierrors.IsForbidden(err) {
		f.Err, f.Fix = err, "allow this account to list ingressclasses"
		return f
	}
	if err != nil {
		f.Err, f.Fix = err, fixClusterFirst
		return f
	}
	known := make([]string, 0, len(classes.Items))
	for i := range classes.Items {
		class := &classes.Items[i]
		if class.Name == name || name == "" && class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
			f.Detail = fmt.Sprintf("Ingresses of class %s, served by %s", class.Name, class.Spec.Controller)
			return f
		}
		known = append(known, class.Name)
	}
	has := "it has none"
	if len(known) > 0 {
		has = "it has " + strings.Join(known, ", ")
	}
	if name == "" {
		f.Err = fmt.Errorf("the cluster has no default IngressClass; %s", has)
		f.Fix = "set deployer.route.ingressClass, or mark a class as the default"
		return f
	}
	f.Err = fmt.Errorf("the cluster has no IngressClass %q; %s", name, has)
	return f
}

// gatewayKind is the Gateway that HTTPRoutes belong to.
var gatewayKind = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "Gateway"}

// examineGateway checks the Gateway, and that a controller serves it.
func examineGateway(ctx context.Context, objects kubeclient.Reader, reference string) Finding {
	f := Finding{What: "app routes", Fix: fixClusterFirst}
	namespace, name, _ := strings.Cut(reference, "/")
	gateway := &unstructured.Unstructured{}
	gateway.SetGroupVersionKind(gatewayKind)
	err := objects.Get(ctx, kubeclient.ObjectKey{Namespace: namespace, Name: name}, gateway)
	switch {
	case meta.IsNoMatchError(err):
		f.Err, f.Fix = errors.New("the cluster does not have the Gateway API"), "install the Gateway API, v1, and one of its controllers"
	case apierrors.IsNotFound(err):
		f.Err, f.Fix = fmt.Errorf("there is no Gateway %s", reference), "create the Gateway, or correct deployer.route.gateway"
	case apierrors.IsForbidden(err):
		f.Err, f.Fix = err, "allow this account to get gateways.gateway.networking.k8s.io"
	case err != nil:
		f.Err = err
	default:
		f.Detail = "HTTPRoutes of the Gateway " + reference
		if f.Err = unprogrammed(gateway); f.Err != nil {
			f.Fix = fmt.Sprintf("see `kubectl -n %s describe gateway %s`, and check that its controller runs", namespace, name)
		}
	}
	return f
}

// unprogrammed is why no controller has set up a Gateway; nil if one has.
func unprogrammed(gateway *unstructured.Unstructured) error {
	var status struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(gateway.Object, &status); err != nil {
		return fmt.Errorf("read the status of the Gateway: %w", err)
	}
	programmed := meta.FindStatusCondition(status.Status.Conditions, "Programmed")
	switch {
	case programmed == nil:
		return errors.New("no controller has reported on this Gateway")
	case programmed.Status != metav1.ConditionTrue:
		return fmt.Errorf("the Gateway is not programmed: %s: %s", programmed.Reason, programmed.Message)
	default:
		return nil
	}
}
