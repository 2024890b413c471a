// Kuberay runs the controllers of KubeRay. Its own program has webhooks too, which do not compile with the Kubernetes libraries of
// the demo. There is one difference: where the demo's node gives services no names, the dashboard of a Ray cluster is asked at
// the address of its head.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	configapi "github.com/ray-project/kuberay/ray-operator/apis/config/v1alpha1"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/batchscheduler"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils/dashboardclient"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	concurrency := flag.Int("reconcile-concurrency", configapi.DefaultReconcileConcurrency, "as of KubeRay")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.SetupSignalHandler(), *concurrency); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, concurrency int) error {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(rayv1.AddToScheme(scheme))
	cluster, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	cluster.QPS, cluster.Burst = float32(configapi.DefaultQPS), configapi.DefaultBurst
	mgr, err := ctrl.NewManager(cluster, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	config := configapi.Configuration{}
	schedulers, err := batchscheduler.NewSchedulerManager(ctx, config, cluster, mgr.GetClient())
	if err != nil {
		return err
	}
	clusters := ray.NewReconciler(ctx, mgr, ray.RayClusterReconcilerOptions{BatchSchedulerManager: schedulers})
	if err := clusters.SetupWithManager(mgr, concurrency); err != nil {
		return err
	}
	jobs := ray.NewRayJobReconciler(ctx, mgr, ray.RayJobReconcilerOptions{BatchSchedulerManager: schedulers}, provider{config})
	if err := jobs.SetupWithManager(mgr, concurrency); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// provider asks dashboards at the addresses of heads.
type provider struct{ configapi.Configuration }

func (p provider) GetDashboardClient(
	_ context.Context, mgr manager.Manager,
) func(*rayv1.RayCluster, string) (dashboardclient.RayDashboardClientInterface, error) {
	return func(cluster *rayv1.RayCluster, url string) (dashboardclient.RayDashboardClientInterface, error) {
		dial := func(ctx context.Context, network, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			if found := head(ctx, mgr.GetClient(), host); found != "" {
				host = found
			}
			return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(host, port))
		}
		result := &dashboardclient.RayDashboardClient{}
		result.InitClient(&http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: dial}}, "http://"+url, "")
		return result, nil
	}
}

// head is the address of the pod behind the service of a head; empty if there is none.
func head(ctx context.Context, from client.Client, host string) string {
	name, rest, _ := strings.Cut(host, ".")
	namespace, _, _ := strings.Cut(rest, ".")
	service := &corev1.Service{}
	if err := from.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, service); err != nil {
		return ""
	}
	pods := &corev1.PodList{}
	if err := from.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels(service.Spec.Selector)); err != nil {
		return ""
	}
	for _, pod := range pods.Items {
		if pod.Status.PodIP != "" && pod.DeletionTimestamp == nil {
			return pod.Status.PodIP
		}
	}
	return ""
}

var _ utils.ClientProvider = provider{}
