package nvidia

import "github.com/blang/semver/v4"

// releases are the driver releases of Talos 1.x by its minor version: nvidia-gpu/vars.yaml of siderolabs/extensions, the same
// in each patch release up to v1.13.9 and in v1.14.0-rc.1 (the newest tags of its mirror, of August 2026).
var releases = map[uint64]map[Branch]int{
	8:  {LTS: 535, Production: 550},
	9:  {LTS: 535, Production: 550},
	10: {LTS: 535, Production: 570},
	11: {LTS: 535, Production: 570},
	12: {LTS: 580, Production: 570},
	13: {LTS: 580, Production: 595},
	14: {LTS: 580, Production: 595},
}

// Release returns the release of NVIDIA's driver of a branch in a version of Talos, e.g. 580 in v1.12.4; 0 if it is not in the
// table. Production is not always the later one.
func (b Branch) Release(talos string) int {
	version, err := semver.ParseTolerant(talos)
	if err != nil || version.Major != 1 {
		return 0
	}
	return releases[version.Minor][b]
}
