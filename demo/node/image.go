package node

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/demo/environments"
)

// chosen is the entry of Images for an image, with an empty pattern if there is none.
func (c Config) chosen(image string) Image {
	best := Image{Environment: c.Environment}
	for _, candidate := range c.Images {
		if len(candidate.Pattern) > len(best.Pattern) && matches(candidate.Pattern, image) {
			best = candidate
		}
	}
	return best
}

// Mapped reports whether an entry of Images names an environment for an image.
func (c Config) Mapped(image string) bool { return c.chosen(image).Pattern != "" }

// environmentFor returns the directory of the Python environment to use for an image, or "" if there is none. mapped is true
// if the image was mapped explicitly or no default environment exists.
func (c Config) environmentFor(image string) (dir string, mapped bool) {
	best := c.chosen(image)
	return best.Environment, best.Pattern != "" || c.Environment == "" || (image != "" && image == c.OwnImage)
}

// madeFor is the environment that was made for an image of a pod; nil if there is none, or if an entry of Images wins.
func (c Config) madeFor(pod *corev1.Pod, image string) (*environments.Environment, error) {
	if c.Made == nil || c.Mapped(image) {
		return nil, nil //nolint:nilnil // documented
	}
	return c.Made.FindImage(imageOf(pod, image))
}

// imageOf is an image as a pod of its project and domain means it.
func imageOf(pod *corev1.Pod, name string) environments.Image {
	return environments.Image{Project: pod.Labels[labelProject], Domain: pod.Labels[labelDomain], Name: name}
}

// reasonImageNotMapped is the reason of events and notices about images that the default environment stands in for.
const reasonImageNotMapped = "ImageNotMapped"

// reasonImageInconsistent is the reason of those about images whose packages do not fit together.
const reasonImageInconsistent = "ImageInconsistent"

// standIn says that the default environment replaces an image that no entry names.
func standIn(image, environment string) string {
	return fmt.Sprintf("no environment is mapped to image %s, so the default one, %s, stands in for it; what the image installs may be "+
		"missing. Map the image to an environment with --image NAME=DIR of the demo", image, environment)
}

// matches compares the whole text with a pattern in which * matches any text.
func matches(pattern, text string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	for {
		middle, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, middle)
		}
		at := strings.Index(text, middle)
		if at < 0 {
			return false
		}
		text, rest = text[at+len(middle):], after
	}
}
