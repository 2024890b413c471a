package main

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

// requests counts requests to the API server, by verb and resource, such as "POST pods" or "PATCH pods/status".
type requests map[string]float64

var label = regexp.MustCompile(`(\w+)="([^"]*)"`)

// requests reads the API server's own count.
func (c *cluster) requests(ctx context.Context) (requests, error) {
	body, err := c.get(ctx, "/metrics")
	if err != nil {
		return nil, fmt.Errorf("read metrics of the API server: %w", err)
	}
	return parseRequests(body)
}

func parseRequests(body []byte) (requests, error) {
	counts := requests{}
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

// get reads one of the API server's pages about itself.
func (c *cluster) get(ctx context.Context, path string) ([]byte, error) {
	path, query, _ := strings.Cut(path, "?")
	request := c.client.RESTClient().Get().AbsPath(path).SetHeader("Accept", "*/*")
	if name, value, found := strings.Cut(query, "="); found {
		request.Param(name, value)
	}
	return request.DoRaw(ctx)
}

// writes are the verbs that change something.
var writes = []string{"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}

// since returns the writes after an earlier count.
func (r requests) since(before requests) requests { return r.after(before, true) }

// reads returns the reads of pods, TaskActions and jobs after an earlier count, and the watches that were opened.
func (r requests) reads(before requests) requests { return r.after(before, false) }

func (r requests) after(before requests, writing bool) requests {
	made := requests{}
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

// of sums the requests for a resource and its subresources.
func (r requests) of(resource string) float64 {
	var total float64
	for key, n := range r {
		_, path, _ := strings.Cut(key, " ")
		if name, _, _ := strings.Cut(path, "/"); name == resource {
			total += n
		}
	}
	return total
}

func (r requests) sum() float64 {
	var total float64
	for _, n := range r {
		total += n
	}
	return total
}
