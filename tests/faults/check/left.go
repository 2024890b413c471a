package check

import (
	"strings"
)

// cacheServes: every entry points to outputs that exist, a key has one entry, and only one of its serialized tasks
// computed it.
func cacheServes(e *Evidence, f *findings) {
	keys := map[string]bool{}
	for _, entry := range e.Cached {
		if keys[entry.Key] {
			f.add("the key %s has two entries", entry.Key)
		}
		keys[entry.Key] = true
		if !entry.Exists {
			f.add("the key %s points to %s, which does not exist", entry.Key, entry.URI)
		}
	}
	writers := map[string][]string{}
	for i := range e.Runs {
		nodes := nodesOf(&e.Runs[i])
		for _, row := range e.Runs[i].Rows {
			if node := nodes[row.Name]; node.Serialized && row.CacheStatus == Populated {
				key := e.Runs[i].Script.Tenant.Mark + node.Cache
				writers[key] = append(writers[key], e.Runs[i].Name+"/"+row.Name)
			}
			if row.Phase == Succeeded && !row.OutputExists {
				f.add("%s/%s succeeded and its outputs do not exist", e.Runs[i].Name, row.Name)
			}
		}
	}
	for key, names := range writers {
		if len(names) > 1 {
			f.add("%d actions computed for the serialised key %s: %s", len(names), key, some(names))
		}
	}
}

// outputsAreOwn: no action got outputs of another tenant, such as from the cache.
func outputsAreOwn(e *Evidence, f *findings) {
	for i := range e.Runs {
		for _, row := range e.Runs[i].Rows {
			if row.Foreign {
				f.add("%s/%s has outputs of another tenant", e.Runs[i].Name, row.Name)
			}
		}
	}
}

// noOrphans: nothing is left in the cluster, and no process.
func noOrphans(e *Evidence, f *findings) {
	if len(e.TaskActions) > 0 {
		f.add("%d TaskActions are left: %s", len(e.TaskActions), some(e.TaskActions))
	}
	if len(e.Pods) > 0 {
		f.add("%d pods are left: %s", len(e.Pods), some(e.Pods))
	}
	if len(e.Processes) > 0 {
		f.add("%d processes are left: %v", len(e.Processes), e.Processes)
	}
	for i := range e.Runs {
		for _, row := range e.Runs[i].Rows {
			if row.PausedChildren != 0 {
				f.add("run %s counts %d paused actions", e.Runs[i].Name, row.PausedChildren)
			}
		}
	}
}

func some(names []string) string {
	if len(names) > 10 {
		return strings.Join(names[:10], " ") + " ..."
	}
	return strings.Join(names, " ")
}

// bounded: the server's memory does not grow with the work done.
func bounded(e *Evidence, f *findings) {
	if e.MemoryLimit > 0 && e.Memory > e.MemoryLimit {
		f.add("the server has %d MiB of memory, more than %d MiB", e.Memory>>20, e.MemoryLimit>>20)
	}
}
