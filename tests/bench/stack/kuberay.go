package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"github.com/flyte-binary/flyte-binary/internal/work/supervise"
)

// KubeRay is the real operator of RayJobs with the definitions of its kinds, as `make operators` builds it. What else a cluster has
// is played: the controller of the Jobs that submit, the garbage collector, and the dashboards of the heads.
type KubeRay struct {
	cluster    *cluster
	node       *node
	operator   *supervise.Process
	dashboards *dashboards
	stop       context.CancelFunc
	working    sync.WaitGroup
}

// kuberayConcurrency is how many objects of a kind KubeRay acts for at a time. By default it is one, so on a busy machine KubeRay looks at
// some of many jobs that end together more than 30 s later, and gives those up.
const kuberayConcurrency = "16"

// StartKubeRay starts the operator that is in the folder `operators` next to kube-apiserver.
func (s *Stack) StartKubeRay(ctx context.Context) (k *KubeRay, err error) {
	program, err := ApiserverProgram(s.programs)
	if err != nil {
		return nil, err
	}
	built := filepath.Join(filepath.Dir(program), "operators")
	if _, err := os.Stat(filepath.Join(built, "kuberay")); err != nil {
		return nil, fmt.Errorf("%w; build it with make operators", err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	k = &KubeRay{cluster: s.Cluster, node: s.Node, stop: stop}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.Close())
		}
	}()
	objects, err := dynamic.NewForConfig(s.Cluster.config)
	if err != nil {
		return k, err
	}
	for _, kind := range []string{"rayjobs", "rayclusters"} {
		text, err := os.ReadFile(filepath.Join(built, "crds", "ray.io_"+kind+".yaml"))
		if err != nil {
			return k, err
		}
		if err := define(ctx, objects, text, schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: kind}); err != nil {
			return k, err
		}
	}
	s.Node.TellReady(true)
	if k.dashboards, err = startDashboards(ctx); err != nil {
		return k, err
	}
	if err := k.play(ctx, running, objects); err != nil {
		return k, err
	}
	// Its probes and the init container of workers would need a kubelet.
	env := []string{
		"KUBECONFIG=" + s.Cluster.kubeconfig, "POD_NAMESPACE=default", "ENABLE_PROBES_INJECTION=false", "ENABLE_INIT_CONTAINER_INJECTION=false",
	}
	k.operator, err = Spawn(s.Dir, "kuberay", filepath.Join(built, "kuberay"), env, "--reconcile-concurrency="+kuberayConcurrency)
	return k, err
}

// Close stops all of it. The error is always nil.
func (k *KubeRay) Close() error {
	k.stop()
	StopProcess(k.operator)
	if k.dashboards != nil {
		k.dashboards.close()
	}
	k.working.Wait()
	k.node.TellReady(false)
	return nil
}

// define creates a definition, and waits until its kind is served.
func define(ctx context.Context, objects dynamic.Interface, text []byte, kind schema.GroupVersionResource) error {
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &definition.Object); err != nil {
		return err
	}
	definitions := objects.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := definitions.Create(ctx, definition, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("define %s: %w", kind.Resource, err)
	}
	for {
		_, err := objects.Resource(kind).List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil {
			return nil
		}
		if Pause(ctx, 100*time.Millisecond) != nil {
			return fmt.Errorf("%s are not served: %w", kind.Resource, err)
		}
	}
}
