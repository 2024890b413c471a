package node

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/demo/node/devices"
	"github.com/flyte-binary/flyte-binary/demo/node/process"
	"github.com/flyte-binary/flyte-binary/pods/nodestats"
)

// meter keeps what is costly to measure for some seconds.
type meter struct {
	mu     sync.Mutex
	disks  map[string]diskUse     // GUARDED_BY(mu): by directory
	gpus   map[string]devices.Use // GUARDED_BY(mu): by ID
	gpusAt time.Time              // GUARDED_BY(mu)
}

type diskUse struct {
	bytes uint64
	at    time.Time
}

const (
	// costly is for how long disks and GPUs are not measured again.
	costly = 10 * time.Second
	// mostFiles bounds the files of a container that are looked at for one measurement of its disk.
	mostFiles = 20_000
)

// summary answers with what the pods use, as a kubelet does.
func (s *server) summary(w http.ResponseWriter, r *http.Request) {
	summary, err := s.n.Summary(r.Context(), s.n.cfg.Name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(summary)
}

// Summary measures the processes of the pods that run here.
func (n *Node) Summary(ctx context.Context, name string) (nodestats.Summary, error) {
	if name != n.cfg.Name {
		return nodestats.Summary{}, fmt.Errorf("node %q is not this one, %q", name, n.cfg.Name)
	}
	n.mu.Lock()
	workers := make([]*worker, 0, len(n.workers))
	for _, w := range n.workers {
		workers = append(workers, w)
	}
	n.mu.Unlock()
	table, busy := process.Snapshot(), n.busyDevices(ctx)
	summary := nodestats.Summary{Pods: make([]nodestats.Pod, 0, len(workers))}
	for _, w := range workers {
		if one, runs := w.stats(table, busy); runs {
			summary.Pods = append(summary.Pods, one)
		}
	}
	return summary, nil
}

// stats is what the pod uses; false when nothing of it runs.
func (w *worker) stats(table process.Table, busy map[string]devices.Use) (stats nodestats.Pod, runs bool) {
	w.mu.Lock()
	pod := w.latest
	procs := make([]*process.Process, len(w.containers))
	for i, c := range w.containers {
		procs[i] = c.proc
	}
	w.mu.Unlock()
	now := w.n.clk.Now().UTC()
	stats.Pod = nodestats.Reference{Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID)}
	var written uint64
	for i, c := range w.containers {
		if procs[i] == nil {
			continue
		}
		use, known := table.Use(procs[i])
		if !known {
			continue
		}
		one := nodestats.Container{
			Name: c.spec.Name, Started: procs[i].State().StartedAt.UTC(), CPU: cpuStats(now, use, procs[i]), Memory: &nodestats.Memory{Time: now},
		}
		held := uint64(max(0, use.Memory))
		one.Memory.WorkingSet = &held
		one.Accelerators = w.accelerators(pod, c.spec.Name, busy)
		stats.Containers = append(stats.Containers, one)
		written += w.n.usage.disk(now, filepath.Join(w.n.podWork(pod, c.spec), c.spec.Name)) + w.n.usage.disk(now, procs[i].Dir())
	}
	stats.Disk = &nodestats.Disk{Time: now, Used: &written}
	return stats, len(stats.Containers) > 0
}

func cpuStats(now time.Time, use process.Use, p *process.Process) *nodestats.CPU {
	total := uint64(max(0, use.CPU))
	stats := &nodestats.CPU{Time: now, Total: &total}
	if age := now.Sub(p.State().StartedAt); age > 0 {
		rate := uint64(float64(total) / age.Seconds())
		stats.Nanos = &rate
	}
	return stats
}

// accelerators is what the GPUs of a container do.
func (w *worker) accelerators(pod *corev1.Pod, container string, busy map[string]devices.Use) (all []nodestats.Accelerator) {
	for _, maker := range devices.Makers() {
		for _, d := range shares(pod, container, maker, w.n.devices.Of(string(w.uid), maker)) {
			use, known := busy[d.ID]
			if known && use.Percent >= 0 {
				all = append(all, nodestats.Accelerator{
					Make: string(d.Maker), Model: d.Model, ID: d.ID,
					DutyCycle: uint64(use.Percent), MemoryUsed: uint64(max(0, use.Bytes)),
				})
			}
		}
	}
	return all
}

// busyDevices is how busy the devices are that pods have. The tools are not called while no pod has any.
func (n *Node) busyDevices(ctx context.Context) map[string]devices.Use {
	if n.cfg.DeviceTools == nil || !n.devices.Used() {
		return nil
	}
	n.usage.mu.Lock()
	defer n.usage.mu.Unlock()
	if now := n.clk.Now(); n.usage.gpus == nil || now.Sub(n.usage.gpusAt) >= costly/2 {
		n.usage.gpus, n.usage.gpusAt = devices.Measure(ctx, n.cfg.DeviceTools, n.devices.Makers()...), now
	}
	return n.usage.gpus
}

// disk is how many bytes the files below a directory have, as it was at most some seconds ago.
func (m *meter) disk(now time.Time, dir string) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, found := m.disks[dir]; found && now.Sub(known.at) < costly {
		return known.bytes
	}
	if m.disks == nil || len(m.disks) > 4096 { // of pods that have ended
		m.disks = map[string]diskUse{}
	}
	use := diskUse{at: now}
	files := 0
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if files++; files > mostFiles {
			return fs.SkipAll
		}
		if err != nil {
			return nil //nolint:nilerr // it was removed meanwhile
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			use.bytes += uint64(info.Size()) //nolint:gosec // not negative
		}
		return nil
	})
	m.disks[dir] = use
	return use.bytes
}
