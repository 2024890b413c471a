package node

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyte-binary/flyte-binary/demo/node/devices"
)

// version is what the node reports as its kubelet version.
const version = "v1.36.3-local"

// labels of the node object. Pods that select others do not fit.
func (n *Node) labels() map[string]string {
	labels := n.cfg.deviceLabels()
	for key, value := range map[string]string{
		corev1.LabelHostname: n.cfg.Name, corev1.LabelOSStable: runtime.GOOS, corev1.LabelArchStable: runtime.GOARCH,
		"flyte.org/local-node": "true",
	} {
		labels[key] = value
	}
	return labels
}

// register creates the node object or adopts that of an earlier node.
func (n *Node) register(ctx context.Context) error {
	nodes := n.client.CoreV1().Nodes()
	wanted := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.cfg.Name, Labels: n.labels()}}
	if _, err := nodes.Create(ctx, wanted, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("register the node: %w", err)
	}
	return n.reportStatus(ctx, true)
}

// reportStatus writes the node's status. first also sets the labels, which may be of another version.
func (n *Node) reportStatus(ctx context.Context, first bool) error {
	nodes := n.client.CoreV1().Nodes()
	if first {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": n.patchedLabels()}})
		if err != nil {
			return fmt.Errorf("encode the node's labels: %w", err)
		}
		if _, err := nodes.Patch(ctx, n.cfg.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("label the node: %w", err)
		}
	}
	patch, err := n.statusPatch()
	if err != nil {
		return fmt.Errorf("encode the node's status: %w", err)
	}
	if _, err := nodes.Patch(ctx, n.cfg.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("report the node's status: %w", err)
	}
	return nil
}

// patchedLabels are the labels, with null for those of devices that an earlier node had.
func (n *Node) patchedLabels() map[string]any {
	labels := map[string]any{n.cfg.AcceleratorLabel: nil, n.cfg.PartitionLabel: nil}
	for key, value := range n.labels() {
		labels[key] = value
	}
	delete(labels, "")
	return labels
}

// statusPatch is the status, with null for devices that an earlier node had.
func (n *Node) statusPatch() ([]byte, error) {
	raw, err := json.Marshal(n.status())
	if err != nil {
		return nil, err
	}
	var status map[string]any
	if err := json.Unmarshal(raw, &status); err != nil {
		return nil, err
	}
	for _, field := range []string{"capacity", "allocatable"} {
		list, _ := status[field].(map[string]any)
		for _, maker := range devices.Makers() {
			if name := string(maker.Resource()); list[name] == nil {
				list[name] = nil
			}
		}
	}
	return json.Marshal(map[string]any{"status": status})
}

func (n *Node) status() corev1.NodeStatus {
	now := metav1.NewTime(n.clk.Now())
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now,
		}
	}
	return corev1.NodeStatus{
		Capacity: n.capacity, Allocatable: n.capacity,
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: n.cfg.Address}, {Type: corev1.NodeHostName, Address: n.cfg.Name},
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: n.server.port}},
		Conditions: []corev1.NodeCondition{
			condition(corev1.NodeReady, corev1.ConditionTrue, "NodeReady", "pods run as processes of this machine"),
			condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "NotWatched", ""),
			condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "NotWatched", ""),
			condition(corev1.NodePIDPressure, corev1.ConditionFalse, "NotWatched", ""),
		},
		NodeInfo: corev1.NodeSystemInfo{
			KubeletVersion: version, OperatingSystem: runtime.GOOS, Architecture: runtime.GOARCH,
			ContainerRuntimeVersion: "process://" + version,
		},
	}
}

// statusEvery is the number of heartbeats for each report of the whole status.
const statusEvery = 30

// heartbeat renews the node's lease until the node ends.
func (n *Node) heartbeat() {
	for beat := 1; ; beat++ {
		if err := n.renew(n.ctx); err != nil && n.ctx.Err() == nil {
			n.log.Warn().Err(err).Msg("cannot renew the node's lease")
		}
		if beat%statusEvery == 0 {
			if err := n.reportStatus(n.ctx, false); err != nil && n.ctx.Err() == nil {
				n.log.Warn().Err(err).Msg("cannot report the node's status")
			}
		}
		if !n.after(n.cfg.Heartbeat) {
			return
		}
	}
}

// renew creates or renews the lease.
func (n *Node) renew(ctx context.Context) error {
	leases := n.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now := metav1.NewMicroTime(n.clk.Now())
	seconds := int32(max(1, 4*n.cfg.Heartbeat/time.Second)) //nolint:gosec // some seconds
	spec := coordinationv1.LeaseSpec{HolderIdentity: &n.cfg.Name, LeaseDurationSeconds: &seconds, RenewTime: &now}
	patch, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return fmt.Errorf("encode the lease: %w", err)
	}
	_, err = leases.Patch(ctx, n.cfg.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: n.cfg.Name}, Spec: spec}
	_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) {
		// The API server creates the namespace by itself, but not at once.
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: corev1.NamespaceNodeLease}}
		if _, err := n.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return err
		}
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	}
	return err
}
