package measure

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkThousandPods measures one round over 1,000 pods on 20 nodes, with all that a kubelet says of a pod, and reports
// the processor time of this process, which is the kubelets, too, and the bytes that they send.
func BenchmarkThousandPods(b *testing.B) {
	const nodes, pods = 20, 50
	f := newFixture(b)
	for node := range nodes {
		for pod := range pods {
			f.running = append(f.running, Pod{
				Namespace: "ns", Name: fmt.Sprintf("p-%d-%d", node, pod), UID: fmt.Sprintf("u-%d-%d", node, pod), Node: fmt.Sprint(10 + node),
				Attempt: Attempt{UID: int64(node*pods + pod + 1), Number: 1},
			})
		}
	}
	sent := 0
	say := func(round int) {
		sent = 0
		for node := range nodes {
			var all []string
			for pod := range pods {
				all = append(all, wholePod(fmt.Sprintf("u-%d-%d", node, pod), f.clock.Now(), round))
			}
			answer := `{"node":{"nodeName":"n"},"pods":[` + strings.Join(all, ",") + `]}`
			sent += len(answer)
			f.change(func() { f.summaries[fmt.Sprint(10+node)] = answer })
		}
	}
	say(0)
	f.meter.round(b.Context())
	var spent time.Duration
	for i := 1; b.Loop(); i++ {
		f.clock.Step(15 * time.Second)
		say(i)
		before := processorTime(b)
		f.meter.round(b.Context())
		spent += processorTime(b) - before
	}
	require.NotEmpty(b, f.calls)
	b.ReportMetric(float64(spent.Microseconds())/1000/float64(b.N), "cpu-ms/round")
	b.ReportMetric(float64(sent), "bytes/round")
}

// wholePod is what a kubelet of 1.36 says of a pod with one container and a volume.
func wholePod(uid string, at time.Time, round int) string {
	stamp := at.Format(time.RFC3339)
	return fmt.Sprintf(`{"podRef":{"name":"p","namespace":"ns","uid":%[1]q},"startTime":%[2]q,"containers":[{"name":"main","startTime":%[2]q,
		"cpu":{"time":%[2]q,"usageNanoCores":400000000,"usageCoreNanoSeconds":%[3]d,"psi":{"full":{"total":0,"avg10":0,"avg60":0,"avg300":0}}},
		"memory":{"time":%[2]q,"usageBytes":12345678,"workingSetBytes":%[4]d,"rssBytes":1234567,"pageFaults":1234,"majorPageFaults":0},
		"io":{"time":%[2]q,"psi":{"full":{"total":0,"avg10":0,"avg60":0,"avg300":0}}},
		"rootfs":{"time":%[2]q,"availableBytes":1,"capacityBytes":2,"usedBytes":3,"inodesFree":4,"inodes":5,"inodesUsed":6},
		"logs":{"time":%[2]q,"availableBytes":1,"capacityBytes":2,"usedBytes":3,"inodesFree":4,"inodes":5,"inodesUsed":6},
		"swap":{"time":%[2]q,"swapUsageBytes":0}}],
		"cpu":{"time":%[2]q,"usageNanoCores":400000000,"usageCoreNanoSeconds":%[3]d},
		"memory":{"time":%[2]q,"usageBytes":12345678,"workingSetBytes":%[4]d,"rssBytes":1234567,"pageFaults":1234,"majorPageFaults":0},
		"network":{"time":%[2]q,"name":"eth0","rxBytes":1,"rxErrors":0,"txBytes":2,"txErrors":0,"interfaces":[{"name":"eth0","rxBytes":1,"rxErrors":0,"txBytes":2,"txErrors":0}]},
		"volume":[{"time":%[2]q,"availableBytes":1,"capacityBytes":2,"usedBytes":3,"inodesFree":4,"inodes":5,"inodesUsed":6,"name":"kube-api-access"}],
		"ephemeral-storage":{"time":%[2]q,"availableBytes":1,"capacityBytes":2,"usedBytes":4096,"inodesFree":4,"inodes":5,"inodesUsed":6},
		"process_stats":{"process_count":0},"swap":{"time":%[2]q,"swapUsageBytes":0}}`, uid, stamp, uint64(round)*6e9, 100<<20+round<<20)
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
