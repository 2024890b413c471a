package devices

import (
	"regexp"
	"strings"
)

// model finds the model in the name that a tool gives a device: what tasks know of "NVIDIA A100-SXM4-80GB" is A100.
var model = regexp.MustCompile(`(?i)\b(RTX PRO \d+|GB?\d{2,3}|GH\d{3}|[ABHLTVPKM]\d{1,3}[GSX]?|MI\d{3}[AX]?)\b`)

// prefixes of the names of accelerators, in the SDK, the contract and the labels of clouds.
func prefixes(maker Maker) []string {
	if maker == AMD {
		return []string{"", "amd-", "amd-instinct-"}
	}
	return []string{"", "nvidia-", "nvidia-tesla-"}
}

// Names are the names of accelerators that the device answers to, in lower case: "h200" and "nvidia-h200" for a NVIDIA H200.
func (d Device) Names() []string {
	full := slug(d.Model)
	models := []string{strings.TrimPrefix(strings.TrimPrefix(full, string(d.Maker)+"-"), "tesla-")}
	if found := model.FindString(d.Model); found != "" && slug(found) != models[0] {
		models = append(models, slug(found))
		// Of this model alone the memory is part of the name.
		if slug(found) == "a100" && strings.Contains(full, "80gb") {
			models = append(models, "a100-80gb")
		}
	}
	var names []string
	for _, one := range models {
		for _, prefix := range prefixes(d.Maker) {
			names = append(names, prefix+one)
		}
	}
	return names
}

// Is reports whether the device is the accelerator of a name, in any case.
func (d Device) Is(name string) bool {
	for _, own := range d.Names() {
		if strings.EqualFold(own, name) || strings.EqualFold(own, slug(name)) {
			return true
		}
	}
	return false
}

// slug is a name in lower case, with hyphens for everything but letters, digits and dots. It is the value of a label.
func slug(name string) string {
	var out strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.':
			out.WriteRune(r)
		case out.Len() > 0 && !strings.HasSuffix(out.String(), "-"):
			out.WriteByte('-')
		}
	}
	return strings.TrimRight(out.String(), "-.")
}

// Label is the value of the node label of the device's model.
func (d Device) Label() string {
	if found := model.FindString(d.Model); found != "" {
		return string(d.Maker) + "-" + slug(found)
	}
	return slug(d.Model)
}
