package node

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// labelApp is on the pods of apps.
const labelApp = "flyte.org/app"

// claim is what a pod holds of the node.
type claim struct {
	what corev1.ResourceList
	by   string // who holds it, in words
}

// ownerOf says whose pod it is: that of a run or of an app. Of any other pod it is the name.
func ownerOf(pod *corev1.Pod) string {
	switch labels := pod.Labels; {
	case labels[labelRun] != "":
		return "run " + labels[labelRun]
	case labels[labelApp] != "":
		return "app " + labels[labelApp]
	}
	return "pod " + pod.Name
}

// explanation is what was written about a waiting pod.
type explanation struct {
	reasons, text string
	at            time.Time
}

// Who holds what the node lacks changes all the time, and each explanation is a write: a pod gets another one when it lacks something
// else, and the oldest that wait also when others hold it, but not often.
const (
	retoldPods  = 8
	retellAfter = 30 * time.Second
)

// retell decides whether a waiting pod needs another explanation, and sets it. ahead is how many pods wait before it. Called with the
// lock held.
func (b *binder) retell(c *candidate, why reasons, ahead int) bool {
	now, reasons := b.n.clk.Now(), why.message()
	same := reasons == c.told.reasons
	if same && (ahead >= retoldPods || now.Sub(c.told.at) < retellAfter) {
		return false
	}
	text := reasons
	if !why.never {
		text = strings.Join(append([]string{reasons}, b.holders(c, why.lacking)...), " ")
	}
	changed := text != c.told.text
	c.told = explanation{reasons: reasons, text: text, at: now}
	return changed
}

// maxHolders is how many holders an explanation names.
const maxHolders = 3

// holders says who holds what a pod lacks, the largest first, and whether its own run holds so much that both never fit together.
// Called with the lock held.
func (b *binder) holders(c *candidate, lacking []corev1.ResourceName) []string {
	var all []string
	for _, name := range lacking {
		if name == corev1.ResourcePods {
			continue
		}
		held := map[string]resource.Quantity{}
		for _, one := range b.claims {
			if amount, some := one.what[name]; some && !amount.IsZero() {
				sum := held[one.by]
				sum.Add(amount)
				held[one.by] = sum
			}
		}
		offered := b.n.capacity[name]
		if len(held) > 0 { // a process that has just ended may still have a device
			all = append(all, listed(name, offered, held))
		}
		own := held[ownerOf(c.pod)]
		together := own.DeepCopy()
		together.Add(c.request[name])
		if !own.IsZero() && c.pod.Labels[labelRun] != "" && together.Cmp(offered) > 0 {
			wanted := c.request[name]
			all = append(all, fmt.Sprintf("Its own run holds %s of %s: a parent that waits for this action keeps its share, and with the %s that this "+
				"action requests they do not fit on this machine together. %s", own.String(), name, wanted.String(), b.relief(name)))
		}
	}
	return all
}

// listed names the largest holders of a resource.
func listed(name corev1.ResourceName, offered resource.Quantity, held map[string]resource.Quantity) string {
	type holder struct {
		by   string
		what resource.Quantity
	}
	var order []holder
	for by, what := range held {
		order = append(order, holder{by, what})
	}
	slices.SortFunc(order, func(x, y holder) int { return cmp.Or(y.what.Cmp(x.what), cmp.Compare(x.by, y.by)) })
	var words []string
	for _, one := range order[:min(len(order), maxHolders)] {
		words = append(words, fmt.Sprintf("%s (%s)", one.by, one.what.String()))
	}
	if more := len(order) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("Of %s %s, these hold most: %s.", offered.String(), name, strings.Join(words, ", "))
}

// relief says how such a wait ends.
func (b *binder) relief(name corev1.ResourceName) string {
	if b.n.cfg.Relief > 0 && (name == corev1.ResourceCPU || name == corev1.ResourceMemory) {
		return "It starts in spite of that once the machine is idle and has the memory; request less of it for the parent to start at once."
	}
	return "Request less for one of them; otherwise it may wait forever."
}
