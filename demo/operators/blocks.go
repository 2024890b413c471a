package operators

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

const (
	// annotationBlock is the first address of the block that an object has.
	annotationBlock = "operators.flyte.org/addresses"
	// blockSize is how many addresses an object has. The first is not used.
	blockSize = 256
	maxPods   = blockSize - 2
)

// blocks gives each object a block of addresses.
type blocks struct {
	reader    client.Reader
	writer    client.Writer
	operators []operator

	mu    sync.Mutex
	given map[string]int // GUARDED_BY(mu): by uid, since caches may not have them yet
}

// of is the first address of an object's block. It is given once.
func (b *blocks) of(ctx context.Context, object *unstructured.Unstructured) (netip.Addr, error) {
	if base, ok := blockOf(object); ok {
		return base, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	number, ok := b.given[string(object.GetUID())]
	if !ok {
		taken, err := b.taken(ctx)
		if err != nil {
			return netip.Addr{}, err
		}
		if number, ok = free(string(object.GetUID()), taken); !ok {
			return netip.Addr{}, errors.New("all addresses of this machine are taken by other clusters")
		}
	}
	base := addressAt(netip.Addr{}, number*blockSize)
	body := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, annotationBlock, base)
	if err := b.writer.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(body))); err != nil {
		return netip.Addr{}, err
	}
	b.given[string(object.GetUID())] = number
	return base, nil
}

// taken are the blocks of all objects. Called with the lock held.
func (b *blocks) taken(ctx context.Context) (map[int]bool, error) {
	taken, live := map[int]bool{}, map[string]bool{}
	for _, one := range b.operators {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(one.object)
		list.SetKind(one.object.Kind + "List")
		if err := b.reader.List(ctx, list); err != nil {
			return nil, err
		}
		for i := range list.Items {
			live[string(list.Items[i].GetUID())] = true
			if base, ok := blockOf(&list.Items[i]); ok {
				taken[numberOf(base)] = true
			}
		}
	}
	for uid, number := range b.given {
		if !live[uid] {
			delete(b.given, uid)
			continue
		}
		taken[number] = true
	}
	return taken, nil
}

// numberOfBlocks is how many blocks there are.
func numberOfBlocks() int { return 1 << (32 - shim.Subnet().Bits()) / blockSize }

// free chooses a block that is not taken. It begins anywhere, so that two demos of a machine rarely have the same.
func free(uid string, taken map[int]bool) (int, bool) {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(uid))
	first := int(hash.Sum32() % uint32(numberOfBlocks())) //nolint:gosec // positive
	for i := range numberOfBlocks() {
		if number := (first + i) % numberOfBlocks(); !taken[number] {
			return number, true
		}
	}
	return 0, false
}

func blockOf(object *unstructured.Unstructured) (netip.Addr, bool) {
	base, err := netip.ParseAddr(object.GetAnnotations()[annotationBlock])
	return base, err == nil && shim.Subnet().Contains(base)
}

func numberOf(base netip.Addr) int {
	first, own := shim.Subnet().Addr().As4(), base.As4()
	return int(binary.BigEndian.Uint32(own[:])-binary.BigEndian.Uint32(first[:])) / blockSize
}

// addressAt is an address relative to another one, or to the first.
func addressAt(base netip.Addr, offset int) netip.Addr {
	if !base.IsValid() {
		base = shim.Subnet().Addr()
	}
	raw := base.As4()
	binary.BigEndian.PutUint32(raw[:], binary.BigEndian.Uint32(raw[:])+uint32(offset)) //nolint:gosec // within the subnet
	return netip.AddrFrom4(raw)
}
