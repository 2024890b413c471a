package stack

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Requests counts requests to the API server, by verb and resource, such as "POST pods" or "PATCH pods/status".
type Requests map[string]float64

var label = regexp.MustCompile(`(\w+)="([^"]*)"`)

// Requests reads the API server's own count.
func (c *cluster) Requests(ctx context.Context) (Requests, error) {
	body, err := c.get(ctx, "/metrics")
	if err != nil {
		return nil, fmt.Errorf("read metrics of the API server: %w", err)
	}
	return ParseRequests(body)
}

// ParseRequests reads the counter of requests from metrics in the text format of Prometheus. Codes of answers are
// summed up.
func ParseRequests(body []byte) (Requests, error) {
	counts := Requests{}
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		rest, found := strings.CutPrefix(lines.Text(), "apiserver_request_total{")
		if !found {
			continue
		}
		labels, value, _ := strings.Cut(rest, "} ")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("metrics of the API server: %q: %w", lines.Text(), err)
		}
		named := map[string]string{}
		for _, match := range label.FindAllStringSubmatch(labels, -1) {
			named[match[1]] = match[2]
		}
		key := named["verb"] + " " + named["resource"]
		if named["subresource"] != "" {
			key += "/" + named["subresource"]
		}
		counts[key] += n
	}
	return counts, lines.Err()
}

// get reads one of the API server's pages about itself. The path may have one parameter.
func (c *cluster) get(ctx context.Context, path string) ([]byte, error) {
	path, query, _ := strings.Cut(path, "?")
	request := c.Client.RESTClient().Get().AbsPath(path).SetHeader("Accept", "*/*")
	if name, value, found := strings.Cut(query, "="); found {
		request.Param(name, value)
	}
	return request.DoRaw(ctx)
}

// writes are the verbs that change something.
var writes = []string{"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}

// Since returns the writes after an earlier count.
func (r Requests) Since(before Requests) Requests { return r.after(before, true) }

// Reads returns the reads of pods, TaskActions and jobs after an earlier count, and the watches that were opened.
func (r Requests) Reads(before Requests) Requests { return r.after(before, false) }

func (r Requests) after(before Requests, writing bool) Requests {
	made := Requests{}
	for key, n := range r {
		verb, path, _ := strings.Cut(key, " ")
		if !writing && !slices.Contains(watched, path) {
			continue
		}
		if slices.Contains(writes, verb) == writing && n > before[key] {
			made[key] = n - before[key]
		}
	}
	return made
}

// watched are the resources whose reads count.
var watched = []string{"pods", "taskactions", "jobs"}

// Of sums the requests for a resource and its subresources.
func (r Requests) Of(resource string) float64 {
	var total float64
	for key, n := range r {
		_, path, _ := strings.Cut(key, " ")
		if name, _, _ := strings.Cut(path, "/"); name == resource {
			total += n
		}
	}
	return total
}

// Sum is the number of all requests.
func (r Requests) Sum() float64 {
	var total float64
	for _, n := range r {
		total += n
	}
	return total
}
