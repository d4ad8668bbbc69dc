package kubernetesupgrade

import (
	"fmt"
	"strings"

	"github.com/em-infra/em-infra/internal/versions"
)

// flavours are the suffixes of kubelet images with more or fewer tools in them (talos v1.12.4, pkg/cluster/kubernetes/kubelet.go).
var flavours = []string{"-fat", "-slim"}

// split returns the parts of an image: its name with the registry, its tag, and the flavour in the tag. A digest is dropped,
// since it names another image than the new tag.
func split(image string) (name, tag, flavour string) {
	image, _, _ = strings.Cut(image, "@")
	name = image
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') { // else it is a port
		name, tag = image[:colon], image[colon+1:]
	}
	for _, suffix := range flavours {
		if rest, found := strings.CutSuffix(tag, suffix); found {
			return name, rest, suffix
		}
	}
	return name, tag, ""
}

// versionOf returns the version in the tag of an image.
func versionOf(image string) (versions.Version, error) {
	_, tag, _ := split(image)
	version, err := versions.Parse(tag)
	if err != nil {
		return version, fmt.Errorf("the tag of %s is no version", image)
	}
	return version, nil
}

// retagged returns the same image in another version. The registry stays, so mirrors of the machine configuration do, too.
func retagged(image string, to versions.Version) string {
	name, _, flavour := split(image)
	return name + ":" + to.String() + flavour
}
