package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// plannedApp is an app of a storm over two clusters.
type plannedApp struct {
	tenant   script.Tenant
	name     string
	clusters int           // in how many it runs
	after    time.Duration // when it is created
	again    time.Duration // after that, when it gets another revision; 0 for never
	removed  time.Duration // after its creation, when it is removed; 0 for never
	tags     []string      // of its revisions
}

// planApps plans an app in one cluster, one in both, one with two revisions, and one that is removed during the storm.
func planApps(seed uint64) []plannedApp {
	r := rand.New(rand.NewPCG(seed, 0xa995))
	tenants := script.Tenants()
	apps := []plannedApp{
		{name: "one", clusters: 1},
		{name: script.BothApp, clusters: 2, again: time.Duration(2+r.IntN(12)) * time.Second},
		{name: "changes", clusters: 1, again: time.Duration(2+r.IntN(12)) * time.Second},
		{name: "leaves", clusters: 1, removed: time.Duration(3+r.IntN(12)) * time.Second},
	}
	for i := range apps {
		one := &apps[i]
		one.tenant, one.after = tenants[r.IntN(len(tenants))], time.Duration(r.IntN(1500))*time.Millisecond
		one.tags = []string{fmt.Sprintf("s%d-1", seed)}
		if one.again > 0 {
			one.tags = append(one.tags, fmt.Sprintf("s%d-2", seed))
		}
	}
	return apps
}
