package main

import (
	"bytes"
	"encoding/json"
	"time"
)

// The part of CycloneDX 1.6 that is written.
type (
	document struct {
		BOMFormat   string    `json:"bomFormat"`
		SpecVersion string    `json:"specVersion"`
		Version     int       `json:"version"`
		Metadata    metadata  `json:"metadata"`
		Components  []element `json:"components"`
	}
	metadata struct {
		Timestamp string  `json:"timestamp"`
		Component element `json:"component"`
	}
	element struct {
		Ref      string     `json:"bom-ref,omitempty"`
		Type     string     `json:"type"`
		Name     string     `json:"name"`
		Version  string     `json:"version"`
		CPE      string     `json:"cpe,omitempty"`
		PURL     string     `json:"purl,omitempty"`
		Licenses []licensed `json:"licenses,omitempty"`
	}
	licensed struct {
		Expression string `json:"expression"`
	}
)

// bom is the list of what is in the program.
func bom(o options, parts []component) ([]byte, error) {
	list := document{
		BOMFormat: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata: metadata{
			Timestamp: o.made.Format(time.RFC3339),
			Component: element{
				Ref: "program", Type: "application", Name: o.name(), Version: o.version,
				PURL: "pkg:golang/" + ours + "@" + o.version, Licenses: []licensed{{"Apache-2.0"}},
			},
		},
	}
	for _, part := range parts {
		list.Components = append(list.Components, element{
			Ref: part.purl, Type: "library", Name: part.name, Version: part.version, CPE: part.cpe, PURL: part.purl,
			Licenses: []licensed{{part.license}},
		})
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // package URLs have &
	encoder.SetIndent("", "  ")
	err := encoder.Encode(list)
	return text.Bytes(), err
}
