package gateway_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkGatewayBesideDirect sends requests to a replica directly and through the gateway, one after the other in turns, so
// that the state of the machine is the same for both. Client, gateway and replica share the machine's cores.
func BenchmarkGatewayBesideDirect(b *testing.B) {
	for _, c := range []struct {
		name string
		size int
	}{{"small", 100}, {"64 KiB", 64 << 10}} {
		content := bytes.Repeat([]byte("x"), c.size)
		backend := replica(b, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) })
		f := start(b, newApps(route("one", backend)), options{})
		ways := []string{"http://" + backend + "/", f.url + "/apps/p/d/one/"}
		client := &http.Client{Transport: transport(b, false)}
		get := func(url string) time.Duration {
			began := time.Now()
			response, err := client.Get(url)
			require.NoError(b, err)
			_, err = io.Copy(io.Discard, response.Body)
			require.NoError(b, err)
			response.Body.Close()
			return time.Since(began)
		}
		b.Run("latency of one client/"+c.name, func(b *testing.B) {
			took := make([][]time.Duration, 2)
			for range b.N {
				for way, url := range ways {
					took[way] = append(took[way], get(url))
				}
			}
			for _, p := range []struct {
				name  string
				share int
			}{{"p50", 50}, {"p99", 99}} {
				at := [2]float64{}
				for way := range took {
					slices.Sort(took[way])
					at[way] = float64(took[way][(len(took[way])-1)*p.share/100].Microseconds())
				}
				b.ReportMetric(at[0], "direct-"+p.name+"-µs")
				b.ReportMetric(at[1]-at[0], "added-"+p.name+"-µs")
			}
		})
		b.Run("throughput of 16 clients/"+c.name, func(b *testing.B) {
			var spent [2]time.Duration
			const batch = 200
			for range b.N {
				for way, url := range ways {
					began := time.Now()
					var group sync.WaitGroup
					for range 16 {
						group.Go(func() {
							for range batch / 16 {
								get(url)
							}
						})
					}
					group.Wait()
					spent[way] += time.Since(began)
				}
			}
			b.ReportMetric(float64(b.N*(batch/16)*16)/spent[0].Seconds(), "direct-req/s")
			b.ReportMetric(float64(b.N*(batch/16)*16)/spent[1].Seconds(), "gateway-req/s")
			b.ReportMetric(100*spent[0].Seconds()/spent[1].Seconds(), "%-of-direct")
		})
	}
}
