package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/demo/node/capacity"
	"github.com/flyte-binary/flyte-binary/demo/node/devices"
	"github.com/flyte-binary/flyte-binary/demo/node/podenv"
)

// wishes are what a pod wants of the machine's devices, one for each maker of whose devices it requests any.
func (c Config) wishes(pod *corev1.Pod, request corev1.ResourceList) (wishes []devices.Wish) {
	for _, maker := range devices.Makers() {
		if wanted, some := request[maker.Resource()]; some && !wanted.IsZero() {
			wishes = append(wishes, devices.Wish{
				Maker: maker, Count: int(wanted.Value()), Accelerator: pod.Spec.NodeSelector[c.AcceleratorLabel],
				Partition: pod.Spec.NodeSelector[c.PartitionLabel], Whole: c.whole(pod),
			})
		}
	}
	return wishes
}

// whole reports whether a pod wants a node whose devices are not divided.
func (c Config) whole(pod *corev1.Pod) bool {
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	return slices.ContainsFunc(affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		return slices.ContainsFunc(term.MatchExpressions, func(one corev1.NodeSelectorRequirement) bool {
			return one.Key == c.PartitionLabel && one.Operator == corev1.NodeSelectorOpDoesNotExist
		})
	})
}

// deviceLabels are labels about the devices, where all are the same. Each pod's own wishes are compared with each device.
func (c Config) deviceLabels() map[string]string {
	labels := map[string]string{}
	same := func(key string, of func(devices.Device) string) {
		for i, d := range c.Devices {
			if value := of(d); key != "" && value != "" && (i == 0 || labels[key] == value) {
				labels[key] = value
				continue
			}
			delete(labels, key)
			return
		}
	}
	same(c.AcceleratorLabel, devices.Device.Label)
	same(c.PartitionLabel, func(d devices.Device) string { return d.Partition })
	return labels
}

// shares are the devices of a container among those of its pod. Sidecars come first, then the other containers. Init containers run
// before these and share theirs, as capacity.Request counts.
func shares(pod *corev1.Pod, container string, maker devices.Maker, of []devices.Device) []devices.Device {
	first := 0
	cut := func(c *corev1.Container) []devices.Device {
		wanted := c.Resources.Requests[maker.Resource()]
		return of[min(first, len(of)):min(first+int(wanted.Value()), len(of))]
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		own := cut(c)
		if c.Name == container {
			return own
		}
		if capacity.IsSidecar(c) {
			first += len(own)
		}
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		own := cut(c)
		if c.Name == container {
			return own
		}
		first += len(own)
	}
	return nil
}

// devicesFile is where a pod's directory says which devices its processes may use, from before the first one starts.
const devicesFile = "devices.json"

// deviceRecord is the content of that file.
type deviceRecord struct {
	Holder string   `json:"holder"`
	IDs    []string `json:"ids"`
}

// holdDevices makes sure that a pod has its devices, which the binder took unless something else has bound the pod, and notes them
// for the next node. Containers of a pod start side by side, and the note is of all of them.
func (w *worker) holdDevices() error {
	w.prepare.Lock()
	defer w.prepare.Unlock()
	pod := w.pod()
	wishes := w.n.cfg.wishes(pod, capacity.Request(pod))
	if len(wishes) == 0 || len(w.n.devices.All()) == 0 {
		return nil
	}
	if !w.n.devices.Take(string(w.uid), ownerOf(pod), wishes...) {
		return &waitError{reason: "ContainerCreating", event: "DevicesInUse", err: errors.New("the GPUs of this machine are in use by other pods")}
	}
	record := deviceRecord{Holder: ownerOf(pod)}
	for _, wish := range wishes {
		for _, d := range w.n.devices.Of(string(w.uid), wish.Maker) {
			record.IDs = append(record.IDs, d.ID)
		}
	}
	body, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("encode the devices of a pod: %w", err)
	}
	next := filepath.Join(w.dir, devicesFile+".next")
	if err := os.WriteFile(next, body, 0o600); err != nil {
		return fmt.Errorf("note the devices of a pod: %w", err)
	}
	if err := os.Rename(next, filepath.Join(w.dir, devicesFile)); err != nil {
		return fmt.Errorf("note the devices of a pod: %w", err)
	}
	return nil
}

// freeDevices frees the devices of a pod of which no process runs.
func (n *Node) freeDevices(uid string) {
	if n.devices.Release(uid) {
		if err := os.Remove(filepath.Join(n.podsDir(), uid, devicesFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			n.log.Warn().Err(err).Msg("cannot remove the note of a pod's devices")
		}
		n.binder.signal()
	}
}

// restoreDevices gives devices back to the pods of an earlier node, whose processes may still use them.
func (n *Node) restoreDevices() error {
	files, err := filepath.Glob(filepath.Join(n.podsDir(), "*", devicesFile))
	if err != nil {
		return fmt.Errorf("list the devices of earlier pods: %w", err)
	}
	for _, file := range files {
		record, err := readDevices(file)
		if err != nil {
			return err
		}
		n.devices.Restore(filepath.Base(filepath.Dir(file)), record.Holder, record.IDs)
	}
	return nil
}

func readDevices(file string) (record deviceRecord, err error) {
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, &record)
	}
	if err != nil {
		return record, fmt.Errorf("read which devices a pod has: %w", err)
	}
	return record, nil
}

// showDevices shows a process the devices of its container, and no others: programs take any device that they see. Without devices
// on this machine the variables stay as they are.
func (l *launch) showDevices(env *podenv.Environment) {
	table := l.w.n.devices
	for _, maker := range devices.Makers() {
		if !table.Has(maker) {
			continue
		}
		var ids, places []string
		for i, d := range shares(l.pod, l.c.Name, maker, table.Of(string(l.w.uid), maker)) {
			ids, places = append(ids, d.ID), append(places, strconv.Itoa(i))
		}
		env.Set(maker.Variable(), strings.Join(ids, ","))
		if maker == devices.AMD && table.Has(devices.NVIDIA) {
			// AMD's runtime would also hide what the variable of the other maker hides.
			env.Set("HIP_VISIBLE_DEVICES", strings.Join(places, ","))
		}
	}
}

// DeviceState is a device, who holds it and how busy it is.
type DeviceState struct {
	devices.Device
	Holder string
	Busy   string
}

// Devices are the GPUs of the machine, and who has them.
func (n *Node) Devices(ctx context.Context) []DeviceState {
	return statesOf(ctx, n.devices.All(), n.devices.Holder, n.cfg.DeviceTools)
}

// DevicesOf are devices, and who has them according to the data directory of a node, which may run in another process.
func DevicesOf(ctx context.Context, dataDir string, all []devices.Device, run devices.Run) []DeviceState {
	table := devices.NewTable(all)
	n := &Node{cfg: Config{DataDir: dataDir}, devices: table}
	_ = n.restoreDevices() // what cannot be read is shown without a holder
	return statesOf(ctx, all, table.Holder, run)
}

func statesOf(ctx context.Context, all []devices.Device, holder func(string) string, run devices.Run) []DeviceState {
	use := map[string]devices.Use{}
	if run != nil {
		for _, maker := range devices.Makers() {
			if slices.ContainsFunc(all, func(d devices.Device) bool { return d.Maker == maker }) {
				for id, one := range devices.Measure(ctx, run, maker) {
					use[id] = one
				}
			}
		}
	}
	states := make([]DeviceState, 0, len(all))
	for _, d := range all {
		one, known := use[d.ID]
		states = append(states, DeviceState{Device: d, Holder: holder(d.ID), Busy: d.Busy(one, known)})
	}
	return states
}
