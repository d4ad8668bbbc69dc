package versions

import "strings"

// OfImage returns the release in the tag of an image's reference, as in HOST/nocloud-installer/SCHEMATIC:v1.12.4, with a digest
// after it or without; zero if it has no such tag.
func OfImage(reference string) Version {
	name, _, _ := strings.Cut(reference[strings.LastIndex(reference, "/")+1:], "@")
	_, tag, _ := strings.Cut(name, ":")
	version, err := Parse(tag)
	if err != nil {
		return Version{}
	}
	return version
}
